"""A backup is the whole ledger in one new file of its owner's, or there is none; the ledger does not change."""

from __future__ import annotations

import os
import sqlite3
import stat
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from tests.ledger.pieces import BOTH, answer, night, text
from triagebot.cli.main import main
from triagebot.core.faults import LedgerUnusable, Misconfigured
from triagebot.ledger import opening
from triagebot.ledger.opening import open_ledger


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "ledger.db"


@pytest.fixture
def target(tmp_path: Path) -> Path:
    folder = tmp_path / "copies"
    folder.mkdir()
    return folder / "copy.db"


def outbox(path: Path) -> list[str]:
    with closing(sqlite3.connect(path)) as ledger:
        return [action for (action,) in ledger.execute("SELECT action FROM outbox ORDER BY id")]


def contents(path: Path) -> dict[str, bytes]:
    """SQLite's index of readers holds nothing."""
    return {file.name: file.read_bytes() for file in path.parent.iterdir() if not file.name.endswith("-shm")}


def test_a_backup_may_be_named_as_seen_from_here(path: Path, target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    open_ledger(path).close()
    monkeypatch.chdir(target.parent)
    opening.backup(path, Path("copy.db"))
    assert [*target.parent.iterdir()] == [target]


def test_a_backup_while_the_ledger_is_in_use_is_one_private_file(path: Path, target: Path) -> None:
    """What is only in its log is in the copy, which is a ledger to go on with."""
    mask = os.umask(0)
    try:
        with open_ledger(path) as ledger:
            answer(ledger, text(), *BOTH)
            assert path.with_name("ledger.db-wal").stat().st_size > 0
            before = contents(path)
            opening.backup(path, target)
            assert contents(path) == before
    finally:
        os.umask(mask)
    assert [file.name for file in target.parent.iterdir()] == ["copy.db"]
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert outbox(target) == ["labels", "comment"]
    with open_ledger(target, must_exist=True) as copy:
        night(copy)


def test_a_backup_after_a_crash_holds_what_was_committed(path: Path, target: Path) -> None:
    code = (
        "import os; from pathlib import Path; from tests.ledger.pieces import *; "
        "from triagebot.ledger.opening import open_ledger; "
        f"ledger = open_ledger({str(path)!r}); answer(ledger, text(), *BOTH); os._exit(9)"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).parents[2], check=False).returncode == 9
    opening.backup(path, target)
    assert outbox(target) == ["labels", "comment"]


@pytest.mark.parametrize("kind", ["file", "folder", "dangling link"])
def test_nothing_is_overwritten(path: Path, target: Path, kind: str) -> None:
    open_ledger(path).close()
    if kind == "file":
        target.write_text("of somebody else")
    elif kind == "folder":
        target.mkdir()
    else:
        target.symlink_to(target.with_name("nowhere"))
    with pytest.raises(Misconfigured, match="exists already"):
        opening.backup(path, target)
    assert [file.name for file in target.parent.iterdir()] == ["copy.db"]
    assert kind != "file" or target.read_text() == "of somebody else"


def test_a_target_that_comes_up_meanwhile_is_not_overwritten(
    path: Path, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_ledger(path).close()
    copy = opening.sqlite_copy.copy_file

    def slow(source: Path, to: Path) -> None:
        copy(source, to)
        target.write_text("of somebody else")

    monkeypatch.setattr(opening.sqlite_copy, "copy_file", slow)
    with pytest.raises(Misconfigured, match="exists already"):
        opening.backup(path, target)
    assert target.read_text() == "of somebody else"
    assert [file.name for file in target.parent.iterdir()] == ["copy.db"]


def test_without_a_ledger_none_is_made(path: Path, target: Path) -> None:
    with pytest.raises(LedgerUnusable, match="no ledger at"):
        opening.backup(path, target)
    assert not path.parent.exists()
    assert not target.exists()


@pytest.mark.parametrize("spoilt", ["noise", "another program's", "newer", "a page of it"])
def test_what_is_no_sound_ledger_is_not_taken_for_a_backup(path: Path, target: Path, spoilt: str) -> None:
    with open_ledger(path) as ledger:
        answer(ledger, text(), *BOTH)
    if spoilt == "noise":
        path.write_bytes(b"\x07" * 8192)
    elif spoilt == "a page of it":
        whole = path.read_bytes()
        path.write_bytes(whole[:8192] + b"\x07" * 4096 + whole[12288:])
    else:
        pragma = {
            "another program's": "application_id = 1",
            "newer": f"user_version = {99}",
        }
        with closing(sqlite3.connect(path)) as ledger:
            ledger.execute(f"PRAGMA {pragma[spoilt]}")
    with pytest.raises(LedgerUnusable, match=str(path)):
        opening.backup(path, target)
    assert [*target.parent.iterdir()] == []


def test_a_folder_that_is_not_there_is_named(path: Path, tmp_path: Path) -> None:
    open_ledger(path).close()
    with pytest.raises(Misconfigured, match="No such file"):
        opening.backup(path, tmp_path / "nowhere" / "copy.db")


def test_the_command(
    path: Path, target: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    open_ledger(path).close()
    monkeypatch.setenv("TRIAGEBOT_LEDGER", str(path))
    assert main(["ledger", "backup", str(target)]) == 0
    assert capsys.readouterr().out.startswith(f"copied {path} to {target} (")
    assert main(["ledger", "backup", str(target)]) == 2
    assert "overwrites nothing" in capsys.readouterr().err
