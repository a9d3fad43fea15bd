"""Makes the README's picture: plays the demo and draws what it shows. Run it as `python .github/picture.py`."""

from __future__ import annotations

import argparse
import io
import os
import re
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import TerminalTheme

from triagebot.cli import demos

PLACE = Path(__file__).with_name("demo.svg")
_BACK, _FORE, _RED, _GREEN = (24, 26, 31), (222, 224, 228), (255, 107, 107), (95, 211, 141)
THEME = TerminalTheme(_BACK, _FORE, [_BACK, _RED, _GREEN, *[_FORE] * 5])


def main() -> int:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--width", type=int, default=80, help="columns of the terminal")
    asked.add_argument("--to", type=Path, default=PLACE)
    given = asked.parse_args()
    console = Console(
        file=io.StringIO(), record=True, force_terminal=True, width=given.width, markup=False, highlight=False
    )
    console.print("$ triagebot demo", style="bold")
    code = demos.run(os.environ, console)
    given.to.write_text(plain(console.export_svg(title="triagebot demo", theme=THEME)), encoding="utf-8")
    return code


def plain(svg: str) -> str:
    """Without the fonts that rich would fetch from elsewhere: every browser has a monospaced one."""
    return re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL).replace("Fira Code", "ui-monospace")


if __name__ == "__main__":
    raise SystemExit(main())
