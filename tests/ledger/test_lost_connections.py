"""PostgreSQL behind a network: whatever is cut, hangs or is refused, a thing is done once, or is said not to be."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing

import psycopg
import pytest

from tests.ledger import proxy, servers
from tests.ledger.pieces import (
    BOTH,
    LABELLED,
    LEASE,
    POSTED,
    REPO,
    SEND,
    SETTLE,
    SPENT,
    answer,
    claim,
    events,
    night,
    parse_server,
    run_of,
    take,
    text,
)
from tests.ledger.proxy import Proxy
from triagebot.core.faults import LeaseLost, LedgerBusy, LedgerUnusable
from triagebot.core.rows import Claim, Unclaimed
from triagebot.ledger import outbox, postgres, postgres_fate
from triagebot.ledger.ledger import Ledger
from triagebot.ledger.postgres_pool import Limits
from triagebot.ledger.statements import Row, Transaction

pytestmark = pytest.mark.skipif(bool(servers.ELSEWHERE), reason="these tests need the embedded server's socket")

Open = Callable[..., Ledger]
COMMIT = b"COMMIT\0"
"""The message, and not the name of an isolation level."""


@pytest.fixture
def way(server: str) -> Iterator[Proxy]:
    with proxy.before(server) as made:
        yield made


@pytest.fixture
def far(way: Proxy) -> Iterator[Open]:
    """Opens a ledger to which the only way is through `way`."""
    schema = f"test_{uuid.uuid4().hex[:16]}"
    with ExitStack() as stack:

        def opened(*, timeout: float = 10.0, connections: int = 4, **limits: float) -> Ledger:
            server = parse_server(way.address(schema))
            how = {"timeout": timeout, "connections": connections, "limits": Limits(**limits)}
            return stack.enter_context(Ledger(postgres.open_schema(server, **how), settle=SETTLE))

        yield opened


def says(word: bytes) -> proxy.Fits:
    return lambda _, message: word in message


def nth(number: int) -> proxy.Fits:
    return lambda count, _: count == number


# --- cut


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_verdict_is_recorded_once_whichever_message_is_the_last(far: Open, way: Proxy, when: str) -> None:
    """Every message of the transaction in turn: before the server has it, and when it is done but not answered."""
    ledger = far()
    tonight = night(ledger)
    for issue in range(1, 40):
        held = claim(ledger, text(issue=issue), tonight)
        way.at(**{when: nth(issue)})
        ledger.finish(held, LABELLED, BOTH, SPENT)
        assert events(ledger, issue) == ["claimed", "planned", "planned", "finished"]
        assert run_of(ledger, text(issue=issue))["requests"] == 1
        assert len(ledger.recall(REPO, issue, text(issue=issue).digest).rows) == 2
        if not way.cuts:
            break
    assert 8 < issue < 39, "the transaction has other messages than this test knows"


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_claim_whose_commit_is_not_answered_is_neither_lost_nor_given_twice(far: Open, way: Proxy, when: str) -> None:
    ledger, other = far(), far()
    tonight, another = night(ledger), night(other)
    way.at(**{when: says(COMMIT)})
    given = ledger.claim(text(), tonight, lease=LEASE)
    assert way.cuts == 1
    assert isinstance(given, Claim)
    assert given.attempt == 1
    assert other.claim(text(), another, lease=LEASE) is Unclaimed.HELD
    assert events(ledger) == ["claimed"]
    ledger.finish(given, LABELLED, BOTH, SPENT)


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_row_is_taken_and_recorded_once(far: Open, way: Proxy, when: str) -> None:
    ledger = far()
    answer(ledger, text(), *BOTH)
    tonight = night(ledger)
    way.at(**{when: says(COMMIT)})
    rows = take(ledger, tonight).rows
    assert (way.cuts, [row.attempt for row in rows]) == (1, [1, 1])
    for row in rows:
        way.at(**{when: says(COMMIT)})
        ledger.sent(row, POSTED)
        assert way.cuts == 1
    assert events(ledger)[-4:] == ["sending", "sending", "sent", "sent"]


def test_where_the_server_is_another_one_by_then_nothing_is_believed_and_nothing_is_done_twice(
    far: Open, way: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The number of a transaction may be another's after a crash or a failover: it is done again, and fenced."""
    ledger = far()
    tonight, held = night(ledger), claim(ledger, text(issue=2))
    monkeypatch.setattr(postgres_fate, "NUMBER", "SELECT pg_current_xact_id()::text AS number, 'before' AS server")
    way.at(after=says(COMMIT))
    assert ledger.claim(text(), tonight, lease=LEASE) is Unclaimed.HELD  # until the lease ends: one late answer
    way.at(after=says(COMMIT))
    with pytest.raises(LeaseLost):
        ledger.finish(held, LABELLED, BOTH, SPENT)
    assert events(ledger) == ["claimed"]
    assert events(ledger, 2) == ["claimed", "planned", "planned", "finished"]
    assert run_of(ledger, text(issue=2))["requests"] == 1


def test_a_commit_that_cannot_be_looked_up_is_never_said_to_be_done(far: Open, way: Proxy) -> None:
    far()
    ledger = far(timeout=1.0, silence=1.0, connect=2)
    tonight = night(ledger)

    def gone(_: int, message: bytes) -> bool:
        way.silent = COMMIT in message
        return way.silent

    way.at(after=gone)
    with pytest.raises(LedgerUnusable, match="cannot be reached"):
        ledger.claim(text(), tonight, lease=LEASE)


def test_connections_that_died_while_nobody_used_them_are_replaced_without_a_word(far: Open, way: Proxy) -> None:
    ledger = far()
    tonight = night(ledger)
    way.close()
    claim(ledger, text(), tonight)
    way.close()
    assert ledger.recall(REPO, 1, text().digest).tried


# --- silence


def test_a_server_that_hangs_is_given_up(far: Open, way: Proxy) -> None:
    far()
    ledger = far(timeout=1.0, silence=1.0, connect=2)
    tonight = night(ledger)
    way.silent = True
    assert ledger.claim(text(), tonight, lease=LEASE) is Unclaimed.BUSY
    with pytest.raises((LedgerBusy, LedgerUnusable)) as told:
        ledger.next_due(REPO, tonight)
    assert str(told.value).startswith("ledger postgresql://127.0.0.1:")
    way.silent = False
    way.close()
    claim(ledger, text(), tonight)


def test_whoever_hangs_within_a_transaction_loses_it_and_its_locks(far: Open) -> None:
    other, ledger = far(), far(timeout=1.0, idle=0.2)
    tonight = night(other)

    def hang(tx: Transaction) -> None:
        tx.hold(REPO, 1)
        claim(other, text(issue=1), tonight)  # waits until the server has ended the other one
        tx.hold(REPO, 1)

    with pytest.raises(LedgerBusy, match="connection was lost"), ledger._database.transaction() as tx:
        hang(tx)


def test_a_statement_that_takes_too_long_is_given_up(far: Open) -> None:
    far()
    ledger = far(timeout=0.1, statement=0.1)
    with pytest.raises(LedgerBusy, match=r"stayed locked for 0\.1 s"):
        ledger._database.view(lambda tx: tx._execute("SELECT pg_sleep(60)", {}))


# --- refused


def failing(times: int, state: str) -> tuple[list[int], Callable[[Transaction], int]]:
    """Work that the server undoes so many times, and how often it was begun."""
    begun: list[int] = []

    def work(tx: Transaction) -> int:
        begun.append(1)
        tx.all("silence", repo_id=REPO, issue=len(begun), reason="deleted")
        if len(begun) <= times:
            tx._execute(f"DO $$ BEGIN RAISE EXCEPTION 'undone' USING ERRCODE = '{state}'; END $$", {})
        return len(begun)

    return begun, work


@pytest.mark.parametrize("state", ["40001", "40P01", "57P01", "53200"])
def test_what_the_server_undid_is_done_again_as_a_whole(far: Open, state: str) -> None:
    ledger = far()
    _, work = failing(2, state)
    assert ledger._database.write(work) == 3
    assert [ledger.recall(REPO, issue, "").silence.silent for issue in (1, 2, 3)] == [False, False, True]


def test_what_the_server_undoes_for_ever_is_a_failed_claim(far: Open) -> None:
    far()
    ledger = far(timeout=0.2)
    begun, work = failing(1000, "40001")
    with pytest.raises(LedgerBusy, match=r"the server undid the work \(40001\); run again later"):
        ledger._database.write(work)
    assert len(begun) > 1


def test_two_transactions_that_wait_for_each_other_both_end(far: Open) -> None:
    ledger, met = far(), threading.Barrier(2)
    for issue in (1, 2):
        ledger.silence(REPO, issue, reason="first")

    def crossing(first: int, second: int) -> int:
        begun: list[int] = []

        def work(tx: Transaction) -> None:
            begun.append(1)
            tx.all("silence", repo_id=REPO, issue=first, reason="crossed")
            if len(begun) == 1:
                met.wait(10)
            tx.all("silence", repo_id=REPO, issue=second, reason="crossed")

        ledger._database.write(work)
        return len(begun)

    with ThreadPoolExecutor(2) as pool:
        assert max(pool.map(crossing, (1, 2), (2, 1))) > 1


def test_threads_share_as_many_connections_as_there_may_be(far: Open, server: str) -> None:
    ledger = far(connections=2)
    tonight = night(ledger)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda issue: claim(ledger, text(issue=issue), tonight), range(1, 41)))
    assert len(ledger._database._pool._idle) == 2


def test_a_thread_waits_for_a_connection_no_longer_than_for_a_lock(far: Open) -> None:
    tonight = night(far())
    ledger = far(connections=1, timeout=0.1)
    with ledger._database.transaction(), ThreadPoolExecutor(1) as pool:
        assert pool.submit(ledger.claim, text(), tonight, lease=LEASE).result() is Unclaimed.BUSY


def test_a_courier_takes_all_rows_of_an_issue_or_none(far: Open) -> None:
    """Eight at once: no comment is taken while its labels are with somebody else."""
    ledger = far(connections=8)
    tonight = night(ledger)
    for issue in range(1, 41):
        answer(ledger, text(issue=issue), *BOTH, tonight=tonight)
    start = threading.Barrier(8)

    def deliver(_: int) -> list[tuple[int, int]]:
        start.wait()
        taken = []
        while ledger.next_due(REPO, tonight) == 0.0:
            parcel = ledger.claim_parcel(REPO, tonight, lease=SEND)
            taken += [(parcel.issue, len(parcel.rows))] if parcel else []
        return taken

    with ThreadPoolExecutor(8) as pool:
        taken = [each for of_one in pool.map(deliver, range(8)) for each in of_one]
    assert sorted(taken) == [(issue, 2) for issue in range(1, 41)]


def test_what_was_due_is_asked_anew_once_the_issue_is_held(far: Open) -> None:
    """Between the two, another courier has taken both rows and put the comment back: its labels are on their way."""
    ledger, other = far(), far()
    answer(ledger, text(), *BOTH)
    tonight = night(ledger)

    def meanwhile() -> None:
        labels, comment = take(other, tonight).rows
        assert labels.action == "labels"
        other.postpone(comment, seconds=0.0, reason="limit")

    with ledger._database.transaction() as tx:
        shipped = tx.one

        def one(name: str, **values: object) -> Row:
            if name == "try_to_hold_issue":
                meanwhile()
            return shipped(name, **values)

        tx.one = one  # type: ignore[method-assign]
        assert outbox.claim_parcel(tx, REPO, tonight, owner="one", lease=SEND, settle=SETTLE) is None


# --- the server's other ways of saying no


def test_too_many_connections_are_waited_for_and_then_said(server: str, schema: str) -> None:
    role = f"crowd_{uuid.uuid4().hex[:8]}"
    name = parse_server(schema).schema
    with psycopg.connect(server, autocommit=True) as admin:
        admin.execute(f"CREATE ROLE {role} LOGIN CONNECTION LIMIT 1")
        admin.execute(f"CREATE SCHEMA {name} AUTHORIZATION {role}")
    mine = parse_server(schema.replace("//postgres:@", f"//{role}@"))
    full = pytest.raises(LedgerBusy, match="has no connection left; lower `workers`")
    with closing(postgres.open_schema(mine)) as opened, opened._pool.lent(), full:
        postgres.open_schema(mine, timeout=0.1)
