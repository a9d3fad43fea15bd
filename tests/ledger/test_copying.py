"""A ledger that moves to another database is the same ledger, and one that is pruned remembers what it needs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import psycopg
import pytest

from tests.ledger.conftest import OpenAgain
from tests.ledger.pieces import (
    BOTH,
    COMMENT,
    LABELS,
    NOTHING,
    POSTED,
    REPO,
    Clock,
    answer,
    claim,
    events,
    fail,
    night,
    parse_server,
    refused,
    run_of,
    stored,
    take,
    text,
)
from tests.world import World
from triagebot.core.faults import LedgerBusy, LedgerUnusable, Misconfigured
from triagebot.core.outcomes import Fate, LabelOutcome
from triagebot.core.rows import RowStatus, Unclaimed
from triagebot.ledger import address as addresses
from triagebot.ledger import copying, opening, postgres, statements
from triagebot.ledger.address import Server
from triagebot.ledger.ledger import Ledger
from triagebot.ledger.opening import open_ledger, throwaway_copy

ROOT = Path(__file__).parents[2]
DAYS = 86400.0
ACCOUNT = ("api.github.com", "triagebot")
KEPT = LabelOutcome(
    issue=1, label="bug", digest=text().digest, set_at=datetime(2026, 12, 1, tzinfo=UTC), fate=Fate.KEPT
)


def use(ledger: Ledger) -> None:
    """Something in every table and every state, with odd words in it."""
    tonight = night(ledger)
    answer(ledger, text(issue=1), *BOTH)
    for row in take(ledger, tonight).rows:
        ledger.sent(row, POSTED if row.action == "comment" else None)
    answer(ledger, text("a \0 in it, a ü and a % :name", issue=2), COMMENT)
    ledger.unclear(take(ledger, tonight).rows[0], settle=60.0, reason="502 \0")
    fail(ledger, text(issue=3))
    claim(ledger, text(issue=4))
    ledger.silence(REPO, 5, reason="deleted")
    ledger.lift_silence(REPO, 5, settled=frozenset({"E_1"}))
    ledger.reserve_slot(ACCOUNT, per_second=1.0, per_hour=400)
    ledger.close_gate(ACCOUNT, seconds=600.5)
    ledger.note_outcomes(REPO, [KEPT])
    ledger.close_night(tonight, how="done", counts={"labelled": 1})


@pytest.fixture
def elsewhere(address: str, schema: str, tmp_path: Path) -> str:
    """The other database than the test's."""
    return f"{schema}_to" if address.startswith("sqlite") else str(tmp_path / "to.db")


def everything(address: str) -> copying.Copied:
    with open_ledger(address, must_exist=True) as ledger:
        return copying.contents(ledger.database)


def test_a_ledger_moves_to_the_other_database_and_back(
    address: str, elsewhere: str, open_again: OpenAgain, tmp_path: Path
) -> None:
    ledger = open_again(now=None)
    use(ledger)
    copied = opening.copy(address, elsewhere)
    assert copied == everything(address) == everything(elsewhere)
    assert all(copied.rows.values())
    assert opening.copy(elsewhere, tmp_path / "back.db") == copied
    with open_ledger(elsewhere) as moved:
        assert moved.recall(REPO, 1, text().digest) == ledger.recall(REPO, 1, text().digest)
        assert moved.gate(ACCOUNT) > 500
        assert refused(moved, text(issue=4)) is Unclaimed.HELD
        newest = max(n.id for n in ledger.status().nights)
        assert night(moved).id > newest, "a number was given a second time"
        answer(moved, text(issue=6), *BOTH)
        assert stored(moved, text(issue=6)).id > stored(ledger, text(issue=1)).id


def test_an_empty_ledger_moves_as_well(address: str, elsewhere: str) -> None:
    open_ledger(address).close()
    assert not any(opening.copy(address, elsewhere).rows.values())
    with open_ledger(elsewhere, must_exist=True) as moved:
        assert night(moved).first


def test_a_target_that_knows_anything_is_left_alone(address: str, elsewhere: str, open_again: OpenAgain) -> None:
    use(open_again(now=None))
    with open_ledger(elsewhere) as other:
        night(other)
    before = everything(elsewhere)
    with pytest.raises(Misconfigured, match="knows something already, and a copy mixes with nothing; name a new one"):
        opening.copy(address, elsewhere)
    assert everything(elsewhere) == before
    with pytest.raises(Misconfigured, match="is both the source and the target of the copy; name two"):
        opening.copy(address, address)


def spoil(monkeypatch: pytest.MonkeyPatch, statement: str, right: str, wrong: str) -> None:
    shipped = statements.queries

    def spoilt(macros: Mapping[str, str]) -> dict[str, str]:
        told = shipped(macros)
        assert right in told[statement]
        return told | {statement: told[statement].replace(right, wrong)}

    monkeypatch.setattr(statements, "queries", spoilt)


@pytest.mark.parametrize(
    ("right", "wrong"), [("VALUES (:repo_id", "VALUES (:repo_id + 1"), (":silent, :reason", ":silent, :reason || '!'")]
)
def test_a_copy_that_reads_otherwise_is_no_ledger_until_it_was_mended(
    address: str, elsewhere: str, open_again: OpenAgain, monkeypatch: pytest.MonkeyPatch, right: str, wrong: str
) -> None:
    use(open_again(now=None))
    spoil(monkeypatch, "put_tombstones", right, wrong)
    with pytest.raises(LedgerUnusable, match=r"reads otherwise than it was written \(1 tombstones of 1\); run"):
        opening.copy(address, elsewhere)
    monkeypatch.undo()
    with pytest.raises(LedgerUnusable, match=UNDER_WAY):
        open_ledger(elsewhere)
    assert opening.copy(address, elsewhere) == everything(elsewhere) == everything(address)


def test_a_source_that_does_not_show_every_row_is_no_source(
    address: str, elsewhere: str, open_again: OpenAgain, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(open_again(now=None))
    spoil(monkeypatch, "page_outbox", "id > :id", "id > :id AND id <> 2")
    with pytest.raises(LedgerUnusable, match=r"holds 3 rows of outbox, and 2 could be read in order; check it"):
        opening.copy(address, elsewhere)


# --- pages


def much(ledger: Ledger, issues: range) -> None:
    tonight = night(ledger)
    for issue in issues:
        answer(ledger, text(issue=issue), *BOTH, tonight=tonight)
        ledger.silence(REPO, issue, reason="deleted")


def test_no_more_than_a_page_is_read_or_written_at_a_time(
    address: str, elsewhere: str, open_again: OpenAgain, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that a million rows need no more memory than a thousand."""
    much(open_again(now=None), range(1, 12))
    monkeypatch.setattr(copying, "PAGE", 4)
    sizes: dict[str, list[int]] = {}
    shipped = {name: getattr(statements.Transaction, name) for name in ("all", "each")}

    def read(tx: statements.Transaction, name: str, **values: object) -> Sequence[statements.Row]:
        found: Sequence[statements.Row] = shipped["all"](tx, name, **values)
        sizes.setdefault(name, []).append(len(found))
        return found

    def written(tx: statements.Transaction, name: str, rows: Sequence[statements.Row]) -> None:
        sizes.setdefault(name, []).append(len(rows))
        shipped["each"](tx, name, rows)

    monkeypatch.setattr(statements.Transaction, "all", read)
    monkeypatch.setattr(statements.Transaction, "each", written)
    opening.copy(address, elsewhere)
    assert sizes["put_outbox"] == [4, 4, 4, 4, 4, 2]
    assert max(size for each in sizes.values() for size in each) == 4


def test_both_databases_and_python_agree_on_which_row_comes_next(
    address: str, elsewhere: str, open_again: OpenAgain, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server sorts texts by its language's rules, unless it is told otherwise."""
    ledger = open_again(now=None)
    for name in ("a", "B", "_", "ä", "Z", "-b", "\N{PILE OF POO}", "\uff21", "", "aa", "a b"):
        ledger.reserve_slot((name or "x", name), per_second=1.0, per_hour=400)
        ledger.reserve_slot(("host", name), per_second=1.0, per_hour=400)
    monkeypatch.setattr(copying, "PAGE", 3)
    assert opening.copy(address, elsewhere).rows["pace"] == 22


def test_every_text_in_a_key_is_compared_byte_by_byte() -> None:
    """No other order may be installed where this runs, so the words are looked at as well."""
    told = statements.queries(postgres._MACROS)
    for table, key in copying._TABLES.items():
        for column in (name for name, first in key.items() if isinstance(first, str)):
            assert told[f"page_{table}"].count(f'{column} COLLATE "C"') == 2, (table, column)


def test_how_far_it_is_is_told_in_rows(address: str, elsewhere: str, open_again: OpenAgain) -> None:
    use(open_again(now=None))
    told: list[tuple[str, int | None, int]] = []

    class Watching:
        def stage(self, name: str, total: int | None = None) -> None:
            told.append((name, total, 0))

        def advance(self, steps: int = 1) -> None:
            name, total, done = told.pop()
            told.append((name, total, done + steps))

    rows = sum(opening.copy(address, elsewhere, watcher=Watching()).rows.values())
    assert told == [("copying", rows, rows), ("reading it back", rows, rows)]


# --- killed

UNDER_WAY = "a copy into this ledger was interrupted, or is still under way; run `triagebot ledger copy FROM TO` again"

DYING = """
import os, sys
from triagebot.ledger import copying, opening, statements

source, target, when, where, nth = sys.argv[1:]
copying.PAGE, left = 4, int(nth)


def dying(shipped):
    def run(tx, name, **values):
        global left
        left -= name == where
        dies = name == where and not left
        if dies and when == "before":
            os.kill(os.getpid(), 9)
        done = shipped(tx, name, **values)
        if dies and when == "after":
            os.kill(os.getpid(), 9)
        return done

    return run


statements.Transaction.all = dying(statements.Transaction.all)
statements.Transaction.each = dying(statements.Transaction.each)
opening.copy(source, target)
"""


def killed(source: str, target: str, when: str, statement: str, nth: int = 1) -> None:
    """A copy in a process of its own, which dies at the nth time that it comes to a statement."""
    words = [sys.executable, "-c", DYING, source, target, when, statement, str(nth)]
    died = subprocess.run(words, cwd=ROOT, check=False, env=os.environ, capture_output=True, text=True)
    assert died.returncode == -signal.SIGKILL, died.stderr


def interrupted(source: str, target: str) -> None:
    """A copy that ends half-way, in this process."""

    class Impatient:
        def stage(self, name: str, total: int | None = None) -> None:
            if name == "reading it back":
                raise KeyboardInterrupt

        def advance(self, steps: int = 1) -> None: ...

    with pytest.raises(KeyboardInterrupt):
        opening.copy(source, target, watcher=Impatient())


@pytest.mark.parametrize(
    ("when", "statement", "nth"),
    [
        ("after", "note_copying", 1),  # before the stamp is there
        ("before", "count_runs", 1),  # nothing is copied yet
        ("after", "put_runs", 1),  # in mid-page, not committed
        ("before", "put_runs", 3),  # after a page
        ("after", "put_outbox", 4),
        ("before", "put_events", 2),
        ("after", "put_tombstones", 3),
        ("before", "page_runs", 8),  # all is there and none of it read back
        ("before", "number_on", 1),  # found equal, and not said so
        ("after", "end_copying", 1),  # said so, not committed
    ],
)
def test_a_copy_that_was_killed_is_no_ledger_and_goes_on(
    address: str, elsewhere: str, open_again: OpenAgain, when: str, statement: str, nth: int
) -> None:
    ledger = open_again(now=None)
    use(ledger)
    much(ledger, range(10, 20))
    killed(address, elsewhere, when, statement, nth)
    if statement == "note_copying":
        assert not any(everything(elsewhere).rows.values())
    else:
        with pytest.raises(LedgerUnusable, match=UNDER_WAY):
            open_ledger(elsewhere)
    assert opening.copy(address, elsewhere) == everything(elsewhere) == everything(address)
    with open_ledger(elsewhere) as moved:
        assert night(moved).id > max(n.id for n in ledger.status().nights)


def test_what_was_copied_is_not_copied_again(
    address: str, elsewhere: str, open_again: OpenAgain, monkeypatch: pytest.MonkeyPatch
) -> None:
    much(open_again(now=None), range(1, 12))
    killed(address, elsewhere, "before", "put_events", 1)
    written: list[str] = []
    shipped = statements.Transaction.each

    def each(tx: statements.Transaction, name: str, rows: Sequence[statements.Row]) -> None:
        written.append(name)
        shipped(tx, name, rows)

    monkeypatch.setattr(statements.Transaction, "each", each)
    opening.copy(address, elsewhere)
    assert written == ["put_events", "put_tombstones"]


def test_a_copy_that_goes_on_ends_equal_to_what_its_source_is_by_then(
    address: str, elsewhere: str, open_again: OpenAgain
) -> None:
    """A later night changed rows, took some out, and gave the one place in flight to another text."""
    ledger = open_again(now=None)
    much(ledger, range(1, 12))
    answer(ledger, text("first"), COMMENT)
    answer(ledger, text("second"), COMMENT)  # takes the place of the first, which waits no more
    killed(address, elsewhere, "before", "put_tombstones")
    tonight = night(ledger)
    for _ in range(4):
        for row in take(ledger, tonight).rows:
            ledger.sent(row, POSTED if row.action == "comment" else None)
    answer(ledger, text("second", day=1), verdict=NOTHING, again=True)
    assert ledger.mend(text("first"), COMMENT)
    ledger.prune(older_than=0.0)
    opening.copy(address, elsewhere)
    assert everything(elsewhere) == everything(address)


def test_a_copy_of_another_ledger_does_not_go_on_with_this_one(
    address: str, elsewhere: str, open_again: OpenAgain, tmp_path: Path
) -> None:
    use(open_again(now=None))
    other = str(tmp_path / "other.db")
    open_ledger(other).close()
    interrupted(address, elsewhere)
    with pytest.raises(Misconfigured, match=r"holds a part of a copy of .*; run `triagebot ledger copy` with that one"):
        opening.copy(other, elsewhere)
    with pytest.raises(LedgerUnusable, match=UNDER_WAY):
        opening.copy(elsewhere, tmp_path / "third.db")
    opening.copy(address, elsewhere)


def test_a_copy_by_another_version_does_not_go_on(
    address: str, elsewhere: str, open_again: OpenAgain, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(open_again(now=None))
    interrupted(address, elsewhere)
    known = statements.version()
    monkeypatch.setattr(statements, "version", lambda: known + 1)
    with pytest.raises(LedgerUnusable, match=f"by another version of triagebot .schema {known}, this one knows"):
        opening.copy(address, elsewhere)


def test_a_process_that_had_the_target_open_stops(address: str, elsewhere: str, open_again: OpenAgain) -> None:
    use(open_again(now=None))
    with open_ledger(elsewhere) as early:
        killed(address, elsewhere, "before", "put_runs")
        for act in (lambda: night(early), lambda: early.recall(REPO, 1, ""), early.status):
            with pytest.raises(LedgerUnusable, match=UNDER_WAY):
                act()


def test_what_somebody_is_about_to_write_is_waited_for(schema: str, tmp_path: Path) -> None:
    """On a server a transaction that saw an empty ledger may end after the copy has begun."""
    source = str(tmp_path / "from.db")
    open_ledger(source).close()
    waits = "SELECT 1 FROM pg_locks WHERE relation = to_regclass(%s) AND NOT granted"
    with (
        open_ledger(schema) as other,
        ThreadPoolExecutor(1) as pool,
        psycopg.connect(parse_server(schema).url) as admin,
    ):
        with other.database.transaction() as tx:
            copying_there = pool.submit(opening.copy, source, schema)
            while not copying_there.done():
                if admin.execute(waits, [f"{parse_server(schema).schema}.schema_version"]).fetchall():
                    break
            tx.all("silence", repo_id=REPO, issue=1, reason="deleted")
        with pytest.raises(Misconfigured, match="knows something already"):
            copying_there.result()
        assert other.recall(REPO, 1, "").silence.silent


def test_of_two_copies_into_one_target_the_later_one_wins_and_the_other_is_told(
    address: str, elsewhere: str, open_again: OpenAgain, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(open_again(now=None))
    shipped = copying._each

    def overtaken(target: statements.Database, statement: str, rows: Iterator[statements.Row]) -> None:
        if statement == "put_events":
            monkeypatch.setattr(copying, "_each", shipped)
            opening.copy(address, elsewhere)
        shipped(target, statement, rows)

    monkeypatch.setattr(copying, "_each", overtaken)
    with pytest.raises(LedgerUnusable, match="another `triagebot ledger copy` has taken over the copy into it; leave"):
        opening.copy(address, elsewhere)
    assert everything(elsewhere) == everything(address)


def test_copies_that_start_at_once_leave_a_whole_ledger(address: str, elsewhere: str, open_again: OpenAgain) -> None:
    use(open_again(now=None))
    start = threading.Barrier(4)

    def copied(_: int) -> bool:
        start.wait()
        try:
            opening.copy(address, elsewhere)
        except (Misconfigured, LedgerBusy):
            return False
        return True

    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(copied, range(4))) == 1
    assert everything(elsewhere) == everything(address)


def test_a_night_that_runs_on_the_source_does_no_harm_and_is_not_copied(
    address: str, elsewhere: str, open_again: OpenAgain, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = open_again(now=None)
    use(ledger)
    before, shipped = everything(address), copying._each
    seen: list[str] = []

    def meanwhile(target: statements.Database, statement: str, rows: Iterator[statements.Row]) -> None:
        shipped(target, statement, rows)
        much(ledger, range(len(seen) * 3 + 20, len(seen) * 3 + 22))
        seen.append(statement)

    monkeypatch.setattr(copying, "_each", meanwhile)
    assert opening.copy(address, elsewhere) == before == everything(elsewhere)
    assert seen
    assert everything(address) != before


@pytest.mark.parametrize(
    "words",
    [
        "run",
        "run --dry-run",
        "deliver",
        "status",
        "show 1",
        "retry",
        "undo --night 1",
        "ledger prune",
        "ledger backup new.db",
        "ledger copy TARGET new.db",
        "drill --times 1 --processes 2 --ledger TARGET",
        "doctor",
    ],
)
def test_every_command_refuses_a_ledger_that_is_half_copied(
    address: str, elsewhere: str, open_again: OpenAgain, world: World, tmp_path: Path, words: str
) -> None:
    use(open_again(now=None))
    interrupted(address, elsewhere)
    if "backup" in words and isinstance(addresses.parse(elsewhere), Server):
        pytest.skip("a server's ledger is backed up by the server")
    here = tmp_path / "here"
    here.mkdir()
    world.monkeypatch.chdir(here)
    command, *more = words.replace("TARGET", elsewhere).split()
    ran = world.run(*more, command=command, TRIAGEBOT_LEDGER=elsewhere)
    assert ran.code == 2
    assert UNDER_WAY in (ran.out if command == "doctor" else ran.err)
    assert not ran.out or command == "doctor"
    assert ran.err.count("triagebot: ") == (command != "doctor")
    assert world.hub.writes() == []
    assert [*here.iterdir()] == []


def test_a_dry_run_works_on_a_copy_and_changes_nothing(address: str, open_again: OpenAgain) -> None:
    use(open_again(now=None))
    before = everything(address)
    with throwaway_copy(address) as copy:
        answer(copy, text(issue=7), *BOTH)
        assert copy.recall(REPO, 1, text().digest).verdict
    assert everything(address) == before


def test_a_dry_run_without_a_ledger_creates_none(address: str) -> None:
    with throwaway_copy(address) as copy:
        assert night(copy).first
    with pytest.raises(LedgerUnusable, match="yet"):
        open_ledger(address, must_exist=True)


# --- pruning


def pruned(ledger: Ledger, clock: Clock, days: float) -> dict[str, int]:
    clock.pass_(days * DAYS)
    return {**ledger.prune(older_than=180 * DAYS)}


def test_what_is_younger_stays(ledger: Ledger, clock: Clock) -> None:
    use(ledger)
    assert pruned(ledger, clock, 179) == {"events": 0, "nights": 0, "outcomes": 0, "runs": 0, "writes": 0}


def test_the_journal_and_old_failures_go_and_what_dedupe_needs_stays(ledger: Ledger, clock: Clock) -> None:
    use(ledger)
    assert pruned(ledger, clock, 181) == {"events": 25, "nights": 3, "outcomes": 1, "runs": 1, "writes": 0}
    assert events(ledger) == []
    memory = ledger.recall(REPO, 1, text().digest)
    assert memory.verdict
    assert [row.remote_id for row in memory.rows] == [None, POSTED.id]
    assert refused(ledger, text(issue=1, day=200)) is Unclaimed.ANSWERED
    assert ledger.recall(REPO, 5, "").silence.settled == {"E_1"}
    assert ledger.recall(REPO, 2, text("a \0 in it, a ü and a % :name").digest).rows[0].status is RowStatus.UNKNOWN
    assert not night(ledger).first
    assert ledger.status().last_good is not None
    assert ledger.repositories() == ((REPO, "octo/demo"),)


def test_a_ledger_whose_nights_were_pruned_does_not_count_as_lost(ledger: Ledger, clock: Clock) -> None:
    ledger.close_night(night(ledger), how="incomplete", counts={})
    for _ in range(3):
        night(ledger)  # killed, each of them
    assert pruned(ledger, clock, 200)["nights"] == 2
    assert not night(ledger).first


def test_of_one_texts_answers_the_newest_stays(ledger: Ledger, clock: Clock) -> None:
    for day in (0, 1):
        answer(ledger, text(day=day), again=True, verdict=NOTHING)
        clock.pass_(DAYS)
    assert pruned(ledger, clock, 200)["runs"] == 1
    assert run_of(ledger, text(day=1))["status"] == "done"


def test_writes_for_texts_that_are_gone_go_but_no_comment_is_forgotten(ledger: Ledger, clock: Clock) -> None:
    for words in ("one", "two", "three"):
        answer(ledger, text(words), LABELS, COMMENT)
        for row in take(ledger, night(ledger)).rows:
            ledger.sent(row, POSTED if row.action == "comment" and words == "one" else None)
    assert pruned(ledger, clock, 200)["writes"] == 3
    rows = ledger.recall(REPO, 1, "").rows
    assert [(row.action, row.remote_id) for row in rows] == [
        ("comment", POSTED.id),
        ("labels", None),
        ("comment", None),
    ]


def test_dead_texts_stay_dead(ledger: Ledger, clock: Clock) -> None:
    for day in range(3):
        fail(ledger, text(day=day))
    pruned(ledger, clock, 200)
    assert refused(ledger, text(day=210)) is Unclaimed.DEAD
