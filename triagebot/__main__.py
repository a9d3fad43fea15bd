"""The start of `triagebot` and of `python -m triagebot`.

`--version` is answered before the command line is imported: it takes ten times as long as the answer.
"""

from __future__ import annotations

import sys


def entry() -> None:
    if sys.argv[1:] == ["--version"]:
        sys.exit(_version())
    from triagebot.cli import main

    main.entry()


def _version() -> int:
    import os

    from triagebot.cli import boundary, versions

    return boundary.run(lambda: print(versions.line()), argv=sys.argv[1:], environ=os.environ)  # noqa: T201


if __name__ == "__main__":
    entry()
