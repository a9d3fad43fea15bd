"""A ledger that moves to another database is the same ledger, and one that is pruned remembers what it needs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

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
    refused,
    run_of,
    stored,
    take,
    text,
)
from triagebot.core.faults import LedgerUnusable, Misconfigured
from triagebot.core.rows import RowStatus, Unclaimed
from triagebot.ledger import copying, opening, statements
from triagebot.ledger.ledger import Ledger
from triagebot.ledger.opening import open_ledger, throwaway_copy

ROOT = Path(__file__).parents[2]
DAYS = 86400.0
ACCOUNT = ("api.github.com", "triagebot")


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
    ledger.close_night(tonight, how="done", counts={"labelled": 1})


@pytest.fixture
def elsewhere(address: str, schema: str, tmp_path: Path) -> str:
    """The other database than the test's."""
    return f"{schema}_to" if address.startswith("sqlite") else str(tmp_path / "to.db")


def everything(address: str) -> tuple[dict[str, int], str]:
    with open_ledger(address, must_exist=True) as ledger:
        found = copying._sum(ledger.database.view(copying._everything))
    return {**found.rows}, found.digest


def test_a_ledger_moves_to_the_other_database_and_back(
    address: str, elsewhere: str, open_again: OpenAgain, tmp_path: Path
) -> None:
    ledger = open_again(now=None)
    use(ledger)
    copied = opening.copy(address, elsewhere)
    assert (copied.rows, copied.digest) == everything(address) == everything(elsewhere)
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


def test_a_target_that_knows_anything_is_left_alone(address: str, elsewhere: str, open_again: OpenAgain) -> None:
    use(open_again(now=None))
    with open_ledger(elsewhere) as other:
        night(other)
    before = everything(elsewhere)
    with pytest.raises(Misconfigured, match="knows something already, and a copy mixes with nothing; name a new one"):
        opening.copy(address, elsewhere)
    assert everything(elsewhere) == before
    with pytest.raises(Misconfigured, match="knows something already"):
        opening.copy(address, address)


def test_a_copy_that_reads_otherwise_is_not_kept(
    address: str, elsewhere: str, open_again: OpenAgain, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(open_again(now=None))
    shipped = statements.queries

    def spoilt(macros: Mapping[str, str]) -> dict[str, str]:
        told = shipped(macros)
        return told | {"put_tombstones": told["put_tombstones"].replace("VALUES (:repo_id", "VALUES (:repo_id + 1")}

    monkeypatch.setattr(statements, "queries", spoilt)
    with pytest.raises(LedgerUnusable, match="reads otherwise than it was written"):
        opening.copy(address, elsewhere)
    monkeypatch.undo()
    assert not any(everything(elsewhere)[0].values())


def test_a_copy_that_was_killed_left_nothing_and_can_be_made_again(
    address: str, elsewhere: str, open_again: OpenAgain
) -> None:
    use(open_again(now=None))
    code = (
        "import os, sys; from triagebot.ledger import copying, opening; "
        "copying._sum = lambda known: os.kill(os.getpid(), 9); opening.copy(sys.argv[1], sys.argv[2])"
    )
    died = subprocess.run([sys.executable, "-c", code, address, elsewhere], cwd=ROOT, check=False, env=os.environ)
    assert died.returncode == -signal.SIGKILL
    assert not any(everything(elsewhere)[0].values())
    opening.copy(address, elsewhere)
    assert everything(elsewhere) == everything(address)


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
    assert pruned(ledger, clock, 179) == {"events": 0, "nights": 0, "runs": 0, "writes": 0}


def test_the_journal_and_old_failures_go_and_what_dedupe_needs_stays(ledger: Ledger, clock: Clock) -> None:
    use(ledger)
    assert pruned(ledger, clock, 181) == {"events": 25, "nights": 3, "runs": 1, "writes": 0}
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
