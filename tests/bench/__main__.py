"""`python -m tests.bench [NAME ...] [--json FILE] [--runs N] [--rows N] [--small]`: measure, compare, say what is met.

Exit codes: 0 all targets met, 1 one is missed or a benchmark failed, 2 usage.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import json
import os
import pkgutil
import platform
import sqlite3
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests import bench
from tests.bench import frame

_ALL = "import triagebot.cli.nights, triagebot.github.tracker, triagebot.model.client, triagebot.ledger.postgres, rich"


def load() -> dict[str, frame.Benchmark]:
    """Every benchmark of this package."""
    for module in pkgutil.iter_modules(bench.__path__):
        if module.name not in ("__main__", "frame") and not module.name.startswith("test_"):
            importlib.import_module(f"tests.bench.{module.name}")
    return frame.BENCHMARKS


def arguments(argv: Sequence[str], names: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=bench.__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"Of {', '.join(names)}. Default: all.")
    parser.add_argument("--json", type=Path, metavar="FILE", help="Write every value there, too.")
    parser.add_argument(
        "--runs", type=int, default=5, metavar="N", help="How often each thing is measured. Default: 5."
    )
    parser.add_argument("--rows", type=int, metavar="N", help="The size of what has one. Default: each its own.")
    parser.add_argument("--small", action="store_true", help="One run at a size that proves only that it runs.")
    asked = parser.parse_args(argv)
    if unknown := sorted(set(asked.names) - set(names)):
        parser.error(f"there is no benchmark {', '.join(unknown)}; there are {', '.join(names)}")
    if asked.runs < 1 or (asked.rows is not None and asked.rows < 1):
        parser.error("--runs and --rows count from 1")
    return asked


def measure(chosen: frame.Benchmark, asked: argparse.Namespace) -> Iterator[frame.Line]:
    """Its lines, each told as soon as it is there: some take long, and what comes next may fail."""
    with tempfile.TemporaryDirectory(prefix="triagebot-bench-", ignore_cleanup_errors=True) as folder:
        runs = 1 if asked.small else asked.runs
        setting = frame.Setting(runs=runs, small=asked.small, rows=asked.rows, folder=Path(folder))
        for line in chosen.lines(setting):
            say(frame.table(chosen.name, [line]))
            yield line


@contextlib.contextmanager
def compiled(asked: argparse.Namespace) -> Iterator[None]:
    """Let every process that is started find compiled modules, as an installed program does.

    Whatever PYTHONDONTWRITEBYTECODE says: to compile it anew takes the program longer than all else in its start.
    """
    given = dict(os.environ)
    with tempfile.TemporaryDirectory(prefix="triagebot-bench-", ignore_cleanup_errors=True) as folder:
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        os.environ["PYTHONPYCACHEPREFIX"] = folder
        if not asked.small:
            subprocess.run([sys.executable, "-c", _ALL], check=True, capture_output=True)
        try:
            yield
        finally:
            os.environ.clear()
            os.environ.update(given)


def machine() -> dict[str, object]:
    return {
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        "system": platform.platform(),
        "cores": os.cpu_count(),
        "load": os.getloadavg()[0],
    }


def main(argv: Sequence[str]) -> int:
    known = load()
    asked = arguments(argv, sorted(known))
    before, records, failed, missed = machine(), [], 0, 0
    with compiled(asked):
        for name in asked.names or sorted(known):
            try:
                for line in measure(known[name], asked):
                    records.append(frame.record(name, line))
                    missed += not line.met()
            except Exception:  # noqa: BLE001 - the next one may work
                failed += 1
                traceback.print_exc()
                say(f"{name}: failed, as told above")
    whole = {"before": before, "after": machine(), "small": asked.small, "lines": records}
    if asked.json:
        asked.json.write_text(json.dumps(whole, indent=2) + "\n", encoding="utf-8")
    say(f"{len(records)} lines, {missed} targets missed, {failed} failed; " + _told(before))
    return 1 if missed or failed else 0


def say(text: str) -> None:
    print(text, flush=True)  # noqa: T201 - this is a command


def _told(before: dict[str, object]) -> str:
    return f"{before['cores']} cores, load {before['load']:.1f} before and {os.getloadavg()[0]:.1f} after"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
