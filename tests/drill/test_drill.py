"""The drill as people run it: on the shipped ledger, beside real rows, interrupted, killed, and two at once."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from triagebot.cli.main import main
from triagebot.core.actions import Action
from triagebot.core.key import Ref
from triagebot.core.rows import Claim, Planned
from triagebot.core.verdict import Outcome, Usage, Verdict
from triagebot.drill.namespace import REPO
from triagebot.ledger.opening import open_ledger

ROOT = Path(__file__).parents[2]
_ENTRY = "from triagebot.cli.main import entry; entry()"


@pytest.fixture
def real(tmp_path: Path) -> Path:
    """A ledger in use: one issue answered and waiting to be sent, one claimed, one silenced."""
    path, day = tmp_path / "real" / "ledger.db", date(2026, 12, 1)
    account = ("api.github.com", "bot")
    with open_ledger(path) as ledger:
        night = ledger.open_night(repo_id=7, repo="octo/demo", day=day)
        refs = [Ref(repo_id=7, issue=issue, day=day, digest="0123456789abcdef") for issue in (1, 2)]
        first, second = (ledger.claim(ref, night, lease=900.0) for ref in refs)
        assert isinstance(first, Claim)
        assert isinstance(second, Claim)
        ledger.finish(first, Verdict(outcome=Outcome.LABELLED), [Planned(action=Action.COMMENT, votes=())], Usage())
        ledger.silence(7, 3, reason="deleted")
        ledger.reserve_slot(account, per_second=1.0, per_hour=400)
    return path


def rows(path: Path) -> list[str]:
    """Every row of every table."""
    with contextlib.closing(sqlite3.connect(path)) as connection:
        return list(connection.iterdump())


class Drills:
    """Drills in processes of their own, and a way to find whatever they started."""

    def __init__(self, folder: Path) -> None:
        self.word = uuid.uuid4().hex
        self.env = os.environ | {
            "TRIAGEBOT_LEDGER": str(folder / "ledger.db"),
            "DRILL": self.word,
            "TMPDIR": str(folder),
        }
        self.begun: list[subprocess.Popen[str]] = []

    def start(self, *argv: str) -> subprocess.Popen[str]:
        words = [sys.executable, "-c", _ENTRY, "drill", *argv]
        pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        self.begun.append(subprocess.Popen(words, cwd=ROOT, env=self.env, **pipes))
        return self.begun[-1]

    def at_work(self, *argv: str) -> subprocess.Popen[str]:
        """One that has started its rounds."""
        popen = self.start(*argv)
        assert popen.stderr is not None
        for line in popen.stderr:
            if line.startswith("rounds"):
                return popen
        raise AssertionError("no round was begun")

    def left(self) -> list[int]:
        """The numbers of all processes that still bear the drill's word."""
        mark = f"DRILL={self.word}".encode()
        return [int(path.parent.name) for path in Path("/proc").glob("[0-9]*/environ") if mark in _read(path)]


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def until(true: Callable[[], object], seconds: float = 20.0) -> bool:
    deadline = time.monotonic() + seconds
    while not true():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


@pytest.fixture
def drills(tmp_path: Path) -> Iterator[Drills]:
    (tmp_path / "here").mkdir()
    made = Drills(tmp_path / "here")
    yield made
    for popen in made.begun:
        popen.kill()
        popen.communicate()
    assert until(lambda: not made.left())


def test_the_shipped_ledger_holds(
    real: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """On a new ledger beside the real one: on the same file system, whose locks and whose disk matter."""
    monkeypatch.setenv("TRIAGEBOT_LEDGER", str(real))
    before = rows(real)
    assert main(["drill", "--times", "2", "--processes", "4"]) == 0
    said = capsys.readouterr()
    *lines, last = said.out.splitlines()
    assert last == "2/2 single-winner"
    assert [line for line in lines if "one key, one winner" in line and "2/2 rounds" in line]
    assert re.search(r"^rounds: 2 of 2$", said.err, re.MULTILINE)
    assert f"a ledger of its own in {real.parent}\n" in said.err
    assert rows(real) == before
    assert {path.name for path in real.parent.iterdir()} <= {"ledger.db", "ledger.db-wal", "ledger.db-shm"}


def test_a_given_ledger_is_as_it_was(real: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = rows(real)
    assert main(["drill", "--times", "1", "--processes", "2", "--ledger", str(real), "--format", "json"]) == 0
    said = capsys.readouterr()
    told = json.loads(said.out)
    assert (told["held"], told["summary"], told["breaches"]) == (True, "1/1 single-winner", [])
    assert {rule["rounds"] for rule in told["rules"]} == {1}
    assert said.err == ""
    assert rows(real) == before


def test_a_ledger_that_is_not_there_is_not_made(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["drill", "--ledger", str(tmp_path / "ledger.db")]) == 2
    assert "no ledger at" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_it_needs_nothing_but_the_program_itself() -> None:
    """Neither an extra nor the libraries that talk to GitHub and the model."""
    missing = ("starlette", "uvicorn", "graphql", "github", "openai", "httpx2", "tenacity")
    code = f"import sys; sys.modules.update(dict.fromkeys({missing})); {_ENTRY}"
    ran = subprocess.run(
        [sys.executable, "-c", code, "drill", "--times", "1", "--processes", "2"],
        cwd=ROOT,
        check=False,
        capture_output=True,
        text=True,
    )
    assert (ran.returncode, ran.stdout.splitlines()[-1]) == (0, "1/1 single-winner"), ran.stderr


# --- leaving


def test_an_interrupted_drill_leaves_nothing(drills: Drills, tmp_path: Path) -> None:
    popen = drills.at_work("--times", "1000", "--processes", "3")
    assert len(drills.left()) >= 3
    popen.send_signal(signal.SIGINT)
    _, err = popen.communicate()
    assert popen.returncode == 130
    assert "stopped; its processes have ended and its rows are gone" in err
    assert drills.left() == []
    assert list((tmp_path / "here").iterdir()) == []


def test_an_interrupted_drill_leaves_no_row_in_a_given_ledger(drills: Drills, real: Path) -> None:
    before = rows(real)
    popen = drills.at_work("--times", "1000", "--processes", "3", "--ledger", str(real))
    assert until(lambda: rows(real) != before)
    popen.terminate()
    popen.communicate()
    assert popen.returncode == 143
    assert rows(real) == before


def test_the_next_drill_clears_up_after_one_that_was_killed(drills: Drills, real: Path) -> None:
    """Not at once: a drill of the last day may be at work."""
    before = rows(real)
    popen = drills.at_work("--times", "1000", "--processes", "3", "--ledger", str(real))
    assert until(lambda: rows(real) != before)
    popen.kill()
    popen.communicate()
    assert until(lambda: not drills.left()), "processes outlive the drill that started them"
    left = rows(real)
    again = ["drill", "--times", "1", "--processes", "2", "--ledger", str(real)]
    assert main(again) == 0
    assert rows(real) == left
    with contextlib.closing(sqlite3.connect(real)) as connection, connection:
        connection.execute("UPDATE nights SET started_at = '2026-01-01T00:00:00.000Z' WHERE repo = ?", (REPO,))
    assert main(again) == 0
    assert rows(real) == before


@pytest.mark.slow
def test_two_drills_on_one_ledger_do_not_meet(drills: Drills, real: Path) -> None:
    before = rows(real)
    both = [drills.start("--times", "2", "--processes", "3", "--ledger", str(real)) for _ in range(2)]
    said = [popen.communicate() for popen in both]
    assert [popen.returncode for popen in both] == [0, 0], said
    assert rows(real) == before
