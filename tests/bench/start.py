"""How soon the program says something: its version, its help, and where the work stands in a large ledger."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

from tests.bench import filling
from tests.bench.frame import Line, Measure, Setting, at_most, benchmark, interleaved, timed

TABLES = 4
"""Of which `filling` makes as many rows each."""
HEAVY = ("openai", "github", "sklearn", "numpy")
_TYPER = """
import typer
app = typer.Typer({options})
@app.command()
def one() -> None: ...
@app.command()
def two() -> None: ...
app(["--help"])
"""
_LOADED = """
import sys, runpy
sys.argv = ["triagebot", "{word}"]
try:
    runpy.run_module("triagebot", run_name="__main__")
finally:
    print(*[name for name in {heavy} if name in sys.modules], file=sys.stderr)
"""


@benchmark("start", "how soon the program says something")
def start(setting: Setting) -> Iterator[Line]:
    taken = interleaved(
        setting,
        {
            "version": _timed("-m", "triagebot", "--version"),
            "help": _timed("-m", "triagebot", "--help"),
            "python -c pass": _timed("-c", "pass"),
            "an empty Typer program": _timed("-c", _TYPER.format(options="")),
            "the same without Rich": _timed("-c", _TYPER.format(options="rich_markup_mode=None")),
        },
    )
    yield Line(
        "--version",
        "s",
        ours=taken["version"],
        against={"python -c pass": taken["python -c pass"]},
        target=at_most(3),
        limit_by="imports of the standard library (enum, re, sqlite3)",
    )
    yield Line(
        "--help",
        "s",
        ours=taken["help"],
        against={name: taken[name] for name in ("an empty Typer program", "the same without Rich")},
        target=at_most(1.5),
        limit_by="the import of Typer, and the signatures of every command, which it reads",
    )
    for word in ("--version", "--help"):
        found = _imported(word)
        yield Line(
            f"heavy libraries that {word} imports",
            "libraries",
            ours=[float(len(found))],
            target=at_most(0, of="value"),
            note=f"of {', '.join(HEAVY)}: {', '.join(found) or 'none'}",
        )
    million = setting.size(1_000_000, small=4_000)
    yield _status(setting, f"a ledger of {million:,} rows", million // TABLES)
    yield _status(setting, f"a ledger of {million:,} runs, with all that belongs to them", million)


def _status(setting: Setting, what: str, rows: int) -> Line:
    large = filling.sqlite(setting.folder / f"{rows}.db", rows)
    empty = filling.sqlite(setting.folder / f"beside-{rows}.db", 1)
    taken = interleaved(
        setting,
        {
            "status": _timed("-m", "triagebot", "status", TRIAGEBOT_LEDGER=large),
            "--help": _timed("-m", "triagebot", "--help"),
            "status of a small one": _timed("-m", "triagebot", "status", TRIAGEBOT_LEDGER=empty),
            "status --format json": _timed("-m", "triagebot", "status", "--format", "json", TRIAGEBOT_LEDGER=large),
        },
    )
    return Line(
        f"status, {what}",
        "s",
        ours=taken.pop("status"),
        against=taken,
        target=at_most(0.5, of="difference"),
        limit_by="pydantic, which Typer imports once a command runs, and sums over all runs and all outcomes",
        note=f"{rows:,} each of runs, writes, outcomes and lines of the journal",
    )


def _timed(*words: str, **environ: str) -> Measure:
    return timed(lambda: _run(*words, **environ))


def _run(*words: str, **environ: str) -> subprocess.CompletedProcess[str]:
    env = os.environ | environ
    return subprocess.run([sys.executable, *words], env=env, check=True, capture_output=True, text=True)


def _imported(word: str) -> list[str]:
    """What of the heavy libraries `triagebot WORD` has imported."""
    return _run("-c", _LOADED.format(word=word, heavy=HEAVY)).stderr.split()
