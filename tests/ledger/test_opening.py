"""Every way in which a ledger file can be missing, foreign or broken ends in one sentence with the way out."""

from __future__ import annotations

import os
import sqlite3
import stat
import subprocess
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.disks import tiny_disk, unprivileged
from tests.ledger.pieces import BOTH, REPO, SPENT, Clock, answer, claim, night, take, text
from triagebot.core.faults import LedgerBusy, LedgerUnusable, Misconfigured
from triagebot.core.rows import RowStatus
from triagebot.ledger import sqlite, sqlite_files, statements
from triagebot.ledger.opening import locate, open_ledger, throwaway, throwaway_copy

__all__ = ["tiny_disk", "unprivileged"]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ledger.db"


@pytest.fixture
def used(path: Path) -> Path:
    """A ledger at rest that knows an answered issue."""
    with open_ledger(path) as ledger:
        answer(ledger, text(), *BOTH)
    return path


@pytest.fixture
def crashed(path: Path) -> Path:
    """A ledger whose process was killed: the last transactions are in the -wal file only."""
    code = (
        "import os; from pathlib import Path; from tests.ledger.pieces import *; "
        "from triagebot.ledger.opening import open_ledger; "
        f"ledger = open_ledger({str(path)!r}); answer(ledger, text(), *BOTH); os._exit(9)"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).parents[2], check=False).returncode == 9
    assert path.with_name("ledger.db-wal").stat().st_size > 0
    return path


def digests(path: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in path.parent.iterdir() if not file.name.endswith("-shm")}


def one_sentence(fault: BaseException, path: Path) -> str:
    said = str(fault)
    assert said.startswith(f"ledger {path}: ")
    assert "\n" not in said
    assert ";" in said
    return said


# --- the address


@pytest.mark.parametrize(
    ("address", "place"),
    [
        ("a/b.db", "a/b.db"),
        ("sqlite:///a/b.db", "a/b.db"),
        ("sqlite:////srv/b.db", "/srv/b.db"),
        ("/srv/b.db", "/srv/b.db"),
        ("~/b.db", "~/b.db"),
        (Path("b.db"), "b.db"),
        ("what?mode=ro#x %41.db", "what?mode=ro#x %41.db"),
    ],
)
def test_an_address_names_a_file(address: str | Path, place: str) -> None:
    assert locate(address) == Path.cwd() / Path(place).expanduser()


def test_another_database_is_refused_without_repeating_its_password() -> None:
    with pytest.raises(Misconfigured, match="the address must be a path, sqlite:///PATH") as told:
        open_ledger("mysql://bot:hunter2@db/x")
    assert "hunter2" not in str(told.value)


@pytest.mark.parametrize("address", ["", "sqlite:///", "sqlite://", "sqlite://host/a.db"])
def test_an_address_without_a_file_is_refused(address: str) -> None:
    with pytest.raises(Misconfigured, match="path"):
        open_ledger(address)


def test_an_address_that_leads_in_a_circle_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to(tmp_path / "a")
    with pytest.raises(Misconfigured):
        open_ledger(tmp_path / "a" / "ledger.db")


def test_odd_names_are_names(tmp_path: Path) -> None:
    path = tmp_path / "what?mode=memory#100% ü" / ":memory:"
    with open_ledger(path) as ledger:
        night(ledger)
    assert path.stat().st_size > 0


# --- a new one


def test_a_new_ledger_and_its_folder_are_private(tmp_path: Path) -> None:
    path = tmp_path / "local" / "state" / "ledger.db"
    mask = os.umask(0)
    try:
        with open_ledger(path) as ledger:
            night(ledger)
            modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()}
    finally:
        os.umask(mask)
    assert modes == dict.fromkeys(("ledger.db", "ledger.db-wal", "ledger.db-shm"), 0o600)
    assert [stat.S_IMODE(folder.stat().st_mode) for folder in (path.parent, path.parent.parent)] == [0o700, 0o700]


def test_what_a_copy_has_opened_to_others_is_made_private_again(used: Path) -> None:
    used.chmod(0o644)
    open_ledger(used).close()
    assert stat.S_IMODE(used.stat().st_mode) == 0o600


def test_the_files_settings_are_the_safe_ones(path: Path) -> None:
    with open_ledger(path, timeout=30) as ledger:
        connection = ledger._database._connection()
        assert [
            connection.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("journal_mode", "synchronous", "busy_timeout", "foreign_keys")
        ] == ["wal", 2, 30000, 1]
        assert connection.isolation_level is None


def test_a_ledger_that_must_exist_is_not_created(path: Path) -> None:
    with pytest.raises(LedgerUnusable, match=f"no ledger at {path} yet: run `triagebot run` first"):
        open_ledger(path, must_exist=True)
    assert not path.exists()
    open_ledger(path).close()
    open_ledger(path, must_exist=True).close()


def test_opening_again_changes_nothing(used: Path) -> None:
    before = digests(used)
    open_ledger(used).close()
    assert digests(used) == before


# --- a broken one


def test_a_folder_is_no_ledger(tmp_path: Path) -> None:
    with pytest.raises(LedgerUnusable) as told:
        open_ledger(tmp_path)
    assert "is not a file" in one_sentence(told.value, tmp_path)


def test_a_text_file_is_no_ledger(path: Path) -> None:
    path.write_text("dear diary, " * 1000)
    with pytest.raises(LedgerUnusable) as told:
        open_ledger(path)
    assert "no SQLite database (SQLITE_NOTADB); move it aside" in one_sentence(told.value, path)
    assert path.read_text().startswith("dear diary")


def test_another_programs_database_is_left_alone(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE diary (entry)")
    connection.commit()
    connection.close()
    before = digests(path)
    with pytest.raises(LedgerUnusable) as told:
        open_ledger(path)
    assert "is another program's database; name another file" in one_sentence(told.value, path)
    assert digests(path) == before


def spoil(path: Path, offset: int, size: int) -> None:
    with path.open("r+b") as file:
        file.seek(offset)
        file.write(b"\xa5" * size)


@pytest.mark.parametrize(("offset", "size"), [(0, 16), (24, 76), (100, 200), (4096, 4096), (8192, 20000)])
def test_a_damaged_ledger_is_to_be_moved_aside(used: Path, offset: int, size: int) -> None:
    spoil(used, offset, size)
    with pytest.raises(LedgerUnusable) as told:
        open_ledger(used)
    said = one_sentence(told.value, used)
    assert "damaged" in said or "another program's" in said or "newer" in said
    if "damaged" in said:
        assert "move it aside together with its -wal and -shm files; the next run goes on from the markers" in said


@pytest.mark.parametrize("left", [10, 1000, 4096, 9000])
def test_a_ledger_that_was_cut_off_is_damaged(used: Path, left: int) -> None:
    os.truncate(used, left)
    with pytest.raises(LedgerUnusable) as told:
        open_ledger(used)
    assert "damaged" in one_sentence(told.value, used)


@pytest.mark.parametrize(("offset", "size"), [(0, 16), (24, 76), (100, 200), (8192, 200_000)])
def test_damage_that_nobody_searched_for_is_told_where_it_is_met(used: Path, offset: int, size: int) -> None:
    spoil(used, offset, size)
    with pytest.raises(LedgerUnusable), open_ledger(used, searched=False) as ledger:
        ledger.status()


def test_damage_elsewhere_does_not_keep_from_telling_a_little(used: Path) -> None:
    """A large ledger takes seconds to be searched, which only a night waits for."""
    connection = sqlite3.connect(used)
    [(root,)] = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'events_by_issue'")
    connection.close()
    spoil(used, (root - 1) * 4096, 4096)
    with open_ledger(used, searched=False) as ledger:
        assert ledger.status().days
    with pytest.raises(LedgerUnusable, match="damaged"):
        open_ledger(used)


def test_an_empty_file_is_a_new_ledger(path: Path) -> None:
    path.touch()
    with open_ledger(path) as ledger:
        assert night(ledger).first


def test_a_garbage_log_is_damage_and_not_an_empty_log(crashed: Path) -> None:
    """SQLite would drop the committed transactions in it without a word."""
    spoil(crashed.with_name("ledger.db-wal"), 0, 64)
    with pytest.raises(LedgerUnusable) as told:
        open_ledger(crashed)
    assert "its -wal file is damaged; move it aside" in one_sentence(told.value, crashed)


def test_a_log_that_a_power_cut_left_empty_is_no_damage(used: Path) -> None:
    used.with_name("ledger.db-wal").write_bytes(bytes(8192))
    with open_ledger(used) as ledger:
        assert ledger.recall(REPO, 1, text().digest).verdict


def test_the_log_of_a_killed_process_is_read(crashed: Path) -> None:
    with open_ledger(crashed) as ledger:
        assert ledger.recall(REPO, 1, text().digest).verdict


# --- a place where it cannot be


def test_a_read_only_file_says_so(unprivileged: Path) -> None:
    path = unprivileged / "ledger.db"
    open_ledger(path).close()
    path.chmod(0o400)
    with pytest.raises(LedgerUnusable) as told:
        open_ledger(path)
    assert "is read-only; make it, its -wal and -shm files and its folder writable" in one_sentence(told.value, path)


def test_a_read_only_folder_says_so(unprivileged: Path) -> None:
    path = unprivileged / "ledger.db"
    open_ledger(path).close()
    unprivileged.chmod(0o500)
    with pytest.raises(LedgerUnusable) as told:
        open_ledger(path)
    assert "its folder is read-only" in one_sentence(told.value, path)
    with pytest.raises(LedgerUnusable) as told:
        open_ledger(unprivileged / "new.db")
    assert "cannot be opened (Permission denied)" in one_sentence(told.value, unprivileged / "new.db")


def test_a_ledger_that_may_not_be_read_cannot_be_copied(unprivileged: Path) -> None:
    hidden = unprivileged / "hidden"
    hidden.mkdir()
    hidden.chmod(0)
    with pytest.raises(LedgerUnusable) as told:
        throwaway_copy(hidden / "ledger.db")
    assert "cannot be copied for a dry run (Permission denied)" in one_sentence(told.value, hidden / "ledger.db")
    hidden.chmod(0o700)


@pytest.mark.parametrize("kind", ["nfs4", "cifs", "9p", "fuse.sshfs"])
def test_a_network_file_system_is_refused(tmp_path: Path, kind: str) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text(
        "/dev/sda / ext4 rw 0 0\n"
        f"server:/x {tmp_path} {kind} rw 0 0\n"
        f"server:/x {tmp_path}/a\\040b {kind} rw 0 0\n"
        f"/dev/sdb {tmp_path}/a\\040b ext4 rw 0 0\n"
    )
    with pytest.raises(LedgerUnusable) as told:
        sqlite_files.prepare(tmp_path / "ledger.db", mounts=mounts)
    assert f"lies on a network file system ({kind})" in one_sentence(told.value, tmp_path / "ledger.db")
    assert "put it on a local disk" in str(told.value)
    sqlite_files.refuse_network(tmp_path / "a b" / "ledger.db", mounts)
    sqlite_files.refuse_network(Path("/elsewhere/ledger.db"), mounts)


def test_a_system_that_does_not_tell_its_mounts_is_trusted(tmp_path: Path) -> None:
    sqlite_files.refuse_network(tmp_path / "ledger.db", tmp_path / "nothing")


def test_a_full_disk_says_so_and_changes_nothing(path: Path) -> None:
    with open_ledger(path) as ledger:
        held = claim(ledger, text())
        connection = ledger._database._connection()
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count = {pages}")
        with pytest.raises(LedgerUnusable) as told:
            ledger.fail(held, "x" * 100_000, SPENT)
        assert "disk full (SQLITE_FULL); free some space and run again" in one_sentence(told.value, path)
        connection.execute("PRAGMA max_page_count = 100000")
        assert not connection.in_transaction
        assert [entry.what for entry in ledger.history(REPO, 1)] == ["running", "claimed"]


def test_a_disk_that_fills_up_never_half_writes(tiny_disk: Path) -> None:
    path, done = tiny_disk / "ledger.db", 0

    def work() -> None:
        nonlocal done
        tonight = night(ledger)
        for done in range(1000):
            answer(ledger, text(issue=done + 1), *BOTH, tonight=tonight)

    with open_ledger(path) as ledger:
        with pytest.raises(LedgerUnusable) as told:
            work()
        assert "full" in one_sentence(told.value, path)
    with open_ledger(path) as ledger:
        assert done > 10
        for issue in range(1, done + 1):
            assert [r.status for r in ledger.recall(REPO, issue, "").rows] == [RowStatus.PENDING] * 2


def test_a_disk_that_is_full_holds_no_new_ledger(tiny_disk: Path) -> None:
    with (tiny_disk / "filler").open("wb", buffering=0) as filler:
        filler.write(bytes(2**22))
    with pytest.raises(LedgerUnusable) as told:
        open_ledger(tiny_disk / "ledger.db")
    assert "full" in one_sentence(told.value, tiny_disk / "ledger.db")


def test_a_file_system_without_shared_memory_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The log cannot be switched on, and SQLite says so only by what it answers."""
    monkeypatch.setattr(sqlite.SQLite, "_connect", lambda self: sqlite3.connect(":memory:", isolation_level=None))
    with pytest.raises(LedgerUnusable) as told:
        open_ledger(path)
    assert "cannot hold SQLite's write-ahead log" in one_sentence(told.value, path)


# --- versions


STEPS = statements.migrations(sqlite._MACROS)
LATER = (*STEPS, "ALTER TABLE nights ADD COLUMN mood TEXT; -- so; it goes\nCREATE INDEX later ON nights (mood);")


def test_an_older_ledger_is_migrated_and_keeps_what_it_knows(used: Path) -> None:
    sqlite.open_file(used, migrations=LATER).close()
    migrated = sqlite3.connect(used)
    assert migrated.execute("PRAGMA user_version").fetchone() == (len(LATER),)
    assert migrated.execute("SELECT mood FROM nights").fetchone() == (None,)
    assert migrated.execute("SELECT count(*) FROM outbox").fetchone() == (2,)
    migrated.close()
    sqlite.open_file(used, migrations=LATER).close()


def test_a_migration_is_done_whole_or_not_at_all(used: Path) -> None:
    broken = (*STEPS, "ALTER TABLE nights ADD COLUMN mood TEXT;\nCREATE TABLE runs (x);")
    with pytest.raises(sqlite3.OperationalError, match="already exists"):
        sqlite.open_file(used, migrations=broken)
    with open_ledger(used) as ledger:
        assert ledger.recall(REPO, 1, text().digest).verdict
    sqlite.open_file(used, migrations=LATER).close()


@pytest.mark.parametrize("new", [True, False])
def test_several_openings_at_once_create_or_migrate_once(path: Path, new: bool) -> None:
    for round_ in range(5):
        ledger, barrier = path.with_name(f"{round_}.db"), threading.Barrier(6)
        if not new:
            open_ledger(ledger).close()

        def opened(_: int, ledger: Path = ledger, barrier: threading.Barrier = barrier) -> None:
            barrier.wait()
            sqlite.open_file(ledger, migrations=LATER).close()

        with ThreadPoolExecutor(6) as pool:
            assert list(pool.map(opened, range(6))) == [None] * 6


def test_a_newer_ledger_is_refused(used: Path) -> None:
    sqlite.open_file(used, migrations=LATER).close()
    before = digests(used)
    for opened in (open_ledger, throwaway_copy):
        with pytest.raises(LedgerUnusable) as told:
            opened(used)
        said = one_sentence(told.value, used)
        assert f"was written by a newer triagebot (schema {len(LATER)}, this one knows {len(STEPS)}); upgrade" in said
    assert digests(used) == before | {"ledger.db-wal": b""}


def test_a_ledger_that_is_migrated_under_a_running_process_stops_it(used: Path) -> None:
    with open_ledger(used) as ledger:
        tonight = night(ledger)
        sqlite.open_file(used, migrations=LATER).close()
        for act in (lambda: night(ledger), lambda: ledger.recall(REPO, 1, ""), lambda: take(ledger, tonight)):
            with pytest.raises(LedgerUnusable) as told:
                act()
            assert "migrated by another version of triagebot meanwhile; start again" in one_sentence(told.value, used)


def test_a_ledger_that_stays_locked_cannot_be_opened(path: Path) -> None:
    with open_ledger(path) as ledger, ledger._database.transaction():
        with pytest.raises(LedgerBusy) as told:
            sqlite.open_file(path, migrations=LATER, timeout=0.1)
        one_sentence(told.value, path)


def test_a_lock_that_passes_while_a_new_file_is_opened_is_waited_for(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite does not wait when it makes a file a write-ahead one: two openings at once would fail."""
    path.touch()
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    monkeypatch.setattr(sqlite.time, "sleep", lambda seconds: holder.rollback())
    open_ledger(path).close()
    assert not holder.in_transaction
    holder.close()


# --- throw-away copies


def test_a_dry_run_works_on_a_copy_and_changes_no_byte(used: Path) -> None:
    before = digests(used)
    with throwaway_copy(used) as copy:
        folder = copy._database._path.parent
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        take(copy, night(copy))
        answer(copy, text(issue=2))
    assert not folder.exists()
    after = digests(used)
    assert after.pop("ledger.db-wal", b"") == b""
    assert after == before
    with open_ledger(used) as ledger:
        assert ledger.recall(REPO, 1, text().digest).rows[0].status is RowStatus.PENDING


def test_a_copy_sees_what_a_crash_left_in_the_log_and_leaves_it_there(crashed: Path) -> None:
    before = digests(crashed)
    with throwaway_copy(crashed) as copy:
        assert copy.recall(REPO, 1, text().digest).verdict
    assert digests(crashed) == before


def test_a_copy_can_be_taken_while_another_process_works(used: Path) -> None:
    with open_ledger(used) as ledger, ledger._database.transaction(), throwaway_copy(used) as copy:
        assert copy.recall(REPO, 1, text().digest).verdict


def test_a_dry_run_without_a_ledger_creates_none(tmp_path: Path) -> None:
    path = tmp_path / "state" / "ledger.db"
    with throwaway_copy(path) as copy, throwaway(now=Clock()) as empty:
        assert night(copy).first
        assert night(empty).first
    assert not path.parent.exists()


def test_a_copy_of_a_damaged_ledger_names_the_original(used: Path) -> None:
    spoil(used, 4096, 8192)
    with pytest.raises(LedgerUnusable) as told:
        throwaway_copy(used)
    assert "damaged" in one_sentence(told.value, used)


def test_a_copy_that_fails_leaves_nothing_behind(used: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "scratch"))
    (tmp_path / "scratch").mkdir()
    spoil(used, 0, 16)
    with pytest.raises(LedgerUnusable):
        throwaway_copy(used)
    assert list((tmp_path / "scratch").iterdir()) == []
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "no scratch"))
    with pytest.raises(LedgerUnusable, match="free some space in the folder for temporary files"):
        throwaway_copy(used)
