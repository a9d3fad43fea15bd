"""A ledger at rest is copied without a lock, a log or an index beside it; one that is not is copied the usual way."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from tests.ledger.pieces import BOTH, REPO, answer, text
from triagebot.ledger import sqlite_copy
from triagebot.ledger.opening import open_ledger, throwaway_copy


@pytest.fixture
def used(tmp_path: Path) -> Path:
    """A ledger that knows an answered issue, and that nobody has written to for an hour."""
    path = tmp_path / "ledger.db"
    with open_ledger(path) as ledger:
        answer(ledger, text(), *BOTH)
    os.utime(path, (time.time() - 3600,) * 2)
    return path


@pytest.fixture
def ways(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """How each copy was made, in their order."""
    taken: list[str] = []
    copy = sqlite_copy._copy

    def watched(address: str, target: Path) -> None:
        taken.append(address.partition("?")[2])
        copy(address, target)

    monkeypatch.setattr(sqlite_copy, "_copy", watched)
    return taken


def knows(path: Path, issue: int) -> bool:
    with throwaway_copy(path) as copy:
        return copy.recall(REPO, issue, text(issue=issue).digest).verdict is not None


def test_a_ledger_at_rest_is_read_and_nothing_comes_up_beside_it(used: Path, ways: list[str]) -> None:
    assert knows(used, 1)
    assert [*used.parent.iterdir()] == [used]
    assert ways == ["mode=ro&immutable=1"]


@pytest.mark.parametrize("quiet", [0.0, -60.0])
def test_one_that_may_just_have_been_written_to_is_not_at_rest(used: Path, ways: list[str], quiet: float) -> None:
    """A write within the same tick would not show in the file's time; nor after the clock was set back."""
    os.utime(used, (time.time() - quiet,) * 2)
    assert knows(used, 1)
    assert ways == ["mode=ro"]


def test_one_with_a_log_is_not_at_rest(used: Path, ways: list[str]) -> None:
    with open_ledger(used) as ledger:
        answer(ledger, text(issue=2), *BOTH)
        os.utime(used, (time.time() - 3600,) * 2)
        assert knows(used, 2)
    assert ways == ["mode=ro"]


def test_a_night_that_begins_while_it_is_copied_is_seen_whole(used: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copy, before = sqlite_copy._copy, used.read_bytes()

    def slow(address: str, target: Path) -> None:
        if "immutable" in address:
            with open_ledger(used) as ledger:
                answer(ledger, text(issue=2), *BOTH)
            target.write_bytes(before)
        else:
            copy(address, target)

    monkeypatch.setattr(sqlite_copy, "_copy", slow)
    assert knows(used, 2)


def test_what_a_torn_copy_ends_in_is_no_word_of_damage(used: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The pages of a file that changes under the reader contradict each other."""
    copy = sqlite_copy._copy

    def torn(address: str, target: Path) -> None:
        if "immutable" in address:
            target.write_bytes(b"SQLite format 3\x00" + b"\x07" * 4000)
            os.utime(used)
        else:
            copy(address, target)

    monkeypatch.setattr(sqlite_copy, "_copy", torn)
    assert knows(used, 1)
