"""The file may get lost: whatever happens to it, the index is there again, private, and says what happened."""

from __future__ import annotations

import shutil
import sqlite3
import stat
import threading
from contextlib import closing
from pathlib import Path

import pytest

from tests.history.pieces import past
from triagebot.core.faults import HistoryUnusable
from triagebot.history.index import HistoryIndex
from triagebot.history.opening import open_history, throwaway

REPO = 7


@pytest.fixture
def filled(path: Path) -> Path:
    with open_history(path) as index:
        index.remember(REPO, [past(n, f"The parser crashes {n}x") for n in range(200)])
    return path


def test_reading_creates_nothing(index: HistoryIndex, path: Path) -> None:
    assert (index.past(REPO), index.similar(REPO, "x", "y"), index.cursor(REPO)) == ([], [], None)
    assert not path.parent.exists()


def test_only_its_owner_can_read_it(index: HistoryIndex, path: Path) -> None:
    index.remember(REPO, [past(1)])
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    sides = [file for file in path.parent.iterdir() if file != path]
    assert all(stat.S_IMODE(file.stat().st_mode) == 0o600 for file in sides)


def test_a_file_that_others_may_read_is_made_private(filled: Path) -> None:
    filled.chmod(0o644)
    with open_history(filled) as index:
        assert len(index.past(REPO)) == 200
    assert stat.S_IMODE(filled.stat().st_mode) == 0o600


def test_it_outlasts_the_process(filled: Path) -> None:
    with open_history(filled) as index:
        assert len(index.past(REPO)) == 200


@pytest.mark.parametrize("version", [0, 99])
def test_a_file_of_another_version_is_built_anew_and_said_so(
    filled: Path, version: int, caplog: pytest.LogCaptureFixture
) -> None:
    with closing(sqlite3.connect(filled)) as file:
        file.execute(f"PRAGMA user_version = {version}")
    with open_history(filled) as index:
        assert index.past(REPO) == []
        index.remember(REPO, [past(1)])
        assert len(index.past(REPO)) == 1
    assert "another version of triagebot" in caplog.text
    assert "built anew" in caplog.text


def _no_database(path: Path) -> None:
    path.write_bytes(b"This was a file once. " * 1000)


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def _scribbled(path: Path) -> None:
    content = bytearray(path.read_bytes())
    for start in range(4096, len(content), 4096):
        content[start : start + 100] = b"\xff" * 100
    path.write_bytes(content)


@pytest.mark.parametrize("damage", [_no_database, _cut, _scribbled])
def test_a_damaged_file_is_built_anew_and_said_so(filled: Path, damage, caplog: pytest.LogCaptureFixture) -> None:
    damage(filled)
    with open_history(filled) as index:
        assert index.past(REPO) == []
        index.remember(REPO, [past(1, "Parser")])
        assert len(index.similar(REPO, "parser x", "")) == 1
    assert "was damaged" in caplog.text


def test_damage_that_shows_in_mid_use_is_one_sentence_and_the_next_use_is_whole(filled: Path) -> None:
    with open_history(filled) as index:
        assert len(index.past(REPO, 1)) == 1
        with closing(sqlite3.connect(filled, isolation_level=None)) as other:
            other.execute("DELETE FROM words_data WHERE id > 10")  # the words' own bookkeeping, behind FTS5's back
            other.execute("UPDATE words_data SET block = x'ffffffffff' WHERE id = 10")
        with pytest.raises(HistoryUnusable, match="was damaged and is thrown away; the next night builds it anew"):
            index.similar(REPO, "parser crashes", "")
        assert index.past(REPO) == []
        index.remember(REPO, [past(1)])
        assert len(index.past(REPO)) == 1


def test_another_programs_database_is_left_alone(path: Path) -> None:
    path.parent.mkdir()
    with closing(sqlite3.connect(path)) as file:
        file.execute("CREATE TABLE recipes (name TEXT)")
    before = path.read_bytes()
    with open_history(path) as index, pytest.raises(HistoryUnusable, match="another program's database; move it"):
        index.remember(REPO, [past(1)])
    assert path.read_bytes() == before


def test_a_place_that_cannot_hold_it_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for place in (tmp_path / "file" / "history.db", tmp_path):
        with open_history(place) as index, pytest.raises(HistoryUnusable, match=r"cannot be opened|is read-only"):
            index.remember(REPO, [past(1)])


def test_a_full_disk_is_one_sentence_and_what_is_there_stays(filled: Path) -> None:
    with open_history(filled) as index:
        index.past(REPO, 1)
        connection = index._database._connection
        assert connection is not None
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count = {pages}")
        with pytest.raises(HistoryUnusable, match="the disk is full; free some space"):
            index.remember(REPO, [past(1000 + n, body="word " * 3000) for n in range(100)])
        assert len(index.past(REPO)) == 200


def test_a_file_that_stays_locked_is_one_sentence(filled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("triagebot.history.database._BUSY_SECONDS", 0.1)
    with open_history(filled) as index, closing(sqlite3.connect(filled, isolation_level=None)) as other:
        assert len(index.past(REPO, 1)) == 1
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(HistoryUnusable, match="stayed locked"):
            index.remember(REPO, [past(1)])
        assert len(index.past(REPO, 1)) == 1
        other.execute("ROLLBACK")
        index.remember(REPO, [past(1)])


@pytest.mark.parametrize("_round", range(8))
def test_several_that_make_it_at_once_make_one(path: Path, _round: int) -> None:
    gate = threading.Barrier(4)
    failed: list[HistoryUnusable] = []

    def night(number: int) -> None:
        try:
            with open_history(path) as index:
                gate.wait()
                index.remember(REPO, [past(number)])
        except HistoryUnusable as error:
            failed.append(error)

    threads = [threading.Thread(target=night, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    with open_history(path) as index:
        assert len(index.past(REPO)) == 4


def test_after_closing_it_is_closed(index: HistoryIndex) -> None:
    index.remember(REPO, [past(1)])
    index.close()
    with pytest.raises(HistoryUnusable, match="closed"):
        index.past(REPO)


@pytest.mark.parametrize("damaged", [False, True])
def test_of_a_copy_the_original_does_not_change_by_a_byte(filled: Path, damaged: bool) -> None:
    if damaged:
        _no_database(filled)
    before = filled.read_bytes()
    with throwaway(copy_of=filled) as copy:
        assert len(copy.past(REPO)) == (0 if damaged else 200)
        copy.remember(REPO, [past(1000)])
        assert len(copy.past(REPO)) == (1 if damaged else 201)
    assert filled.read_bytes() == before


def test_a_log_that_a_crash_left_is_in_the_copy_and_stays_where_it_is(filled: Path, tmp_path: Path) -> None:
    with open_history(filled) as index:
        index.remember(REPO, [past(1000)])
        left = Path(shutil.copytree(filled.parent, tmp_path / "crashed")) / filled.name
    before = left.read_bytes()
    with throwaway(copy_of=left) as copy:
        assert len(copy.past(REPO)) == 201
    assert left.read_bytes() == before


def test_a_copy_of_nothing_is_empty(path: Path) -> None:
    with throwaway(copy_of=path) as copy:
        assert copy.past(REPO) == []
    assert not path.parent.exists()
