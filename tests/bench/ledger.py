"""Durable commits: a claim, a finish, a claim of what is to be sent and its receipt, beside a bare loop and two peers.

Each issue of ours costs four commits: that is what a night does to the ledger for an issue with one write. The floor
does as many commits of one row on the same file system, in the same mode (write-ahead log, `synchronous=FULL`); a
second one writes as many pages in each commit as ours, for a transition changes a row, its indexes and the journal.
What ours takes more than a floor is work of the processor and the same on every disk, so the faster a disk makes a
commit durable, the lower the ratio. A workflow of DBOS and a task of huey are one unit of work each, as an issue is of
ours.
"""

from __future__ import annotations

import contextlib
import itertools
import logging
import sqlite3
import statistics
import uuid
from collections.abc import Callable, Iterator, Sequence
from datetime import date
from importlib import metadata
from pathlib import Path

from tests.bench.frame import Line, Measure, Setting, at_least, benchmark, interleaved, rated
from triagebot.core.actions import Action
from triagebot.core.key import Ref
from triagebot.core.rows import Claim, Planned, Recorded
from triagebot.core.verdict import Outcome, Usage, Verdict, Vote
from triagebot.ledger.opening import open_ledger

COMMITS = 4
_FLOOR = "bare sqlite3"
_SHARE = 0.6
_FRAME = 4096 + 24  # a page and its head in the log (sqlite.org/fileformat2.html#walformat)
_DAY = date(2026, 12, 1)
_BUG = Vote(name="bug", confidence=0.9, reason="It stops with an error message.")
_VERDICT = Verdict(outcome=Outcome.LABELLED, labels=(_BUG,), model="gpt-5-mini", prompt="0123456789abcdef")
_COMMENT = Planned(action=Action.COMMENT, votes=(_BUG,))
_SPENT = Usage(requests=1, tokens_in=900, tokens_out=60)


@benchmark("ledger", "durable commits a second")
def ledger(setting: Setting) -> Iterator[Line]:
    issues = setting.size(500, small=5)
    with contextlib.ExitStack() as stack:
        peers: dict[str, Measure] = {}
        missing = []
        for name, peer in {"DBOS": _dbos, "huey": _huey}.items():
            try:
                peers[name] = rated(stack.enter_context(peer(setting.folder, issues // 5 or 1)), issues // 5 or 1)
            except ImportError:
                missing.append(name)
        ours = rated(stack.enter_context(_ours(setting.folder, issues)), COMMITS * issues)
        pages = _pages(setting.folder)
        floors = {
            name: rated(stack.enter_context(_bare(setting.folder, COMMITS * issues, tables)), COMMITS * issues)
            for name, tables in {_FLOOR: 1, f"bare sqlite3, {pages} pages": pages}.items()
        }
        taken = interleaved(setting, {"ours": ours, **floors, **peers})
    commits, bare = taken.pop("ours"), taken[_FLOOR]
    yield Line(
        "claim, finish, claim to send, sent",
        "commits/s",
        ours=commits,
        against={name: taken.pop(name) for name in floors},
        target=at_least(_SHARE),
        limit_by=f"the processor: nine statements a commit with their Python, and {pages} pages of log",
        note=_where_met(commits, bare),
    )
    absent = f"not installed, so not measured: {', '.join(missing)}; pip install 'triagebot[bench]'" if missing else ""
    yield Line(
        "whole units of work",
        "units/s",
        ours=[rate / COMMITS for rate in commits],
        against={f"{name} {metadata.version(name.lower())}": rates for name, rates in taken.items()},
        note=absent or "an issue of ours, a keyed workflow of one step, a task that is put in a queue and run",
    )


def _where_met(ours: Sequence[float], bare: Sequence[float]) -> str:
    """The disk on which the target is met: one whose bare commit takes so long that our work beside it weighs less."""
    more = statistics.median(1 / mine - 1 / floor for mine, floor in zip(ours, bare, strict=True))
    durable = 1000 * more * _SHARE / (1 - _SHARE)
    return (
        f"a bare commit takes {1000 / statistics.median(bare):.3f} ms here, ours {1000 * more:.3f} ms more; "
        f"the target is met on a disk where a bare one takes {durable:.2f} ms or longer"
    )


def _pages(folder: Path) -> int:
    """How many pages a commit of ours writes to the log, on average over issues that still fit into one log."""
    file, issues = folder / "pages.db", 25
    log = file.with_name(f"{file.name}-wal")
    with _ours(folder, issues, file.name) as work:
        before = log.stat().st_size
        work()
        return round((log.stat().st_size - before) / _FRAME / (COMMITS * issues))


@contextlib.contextmanager
def _ours(folder: Path, issues: int, file: str = "ours.db") -> Iterator[Callable[[], None]]:
    with open_ledger(folder / file) as opened:
        night = opened.open_night(repo_id=7, repo="octo/demo", day=_DAY)
        numbers = itertools.count(1)

        def work() -> None:
            for number in itertools.islice(numbers, issues):
                ref = Ref(repo_id=7, issue=number, day=_DAY, digest=f"{number:016x}")
                claim = opened.claim(ref, night, lease=900.0)
                assert isinstance(claim, Claim)
                opened.finish(claim, _VERDICT, [_COMMENT], _SPENT)
                parcel = opened.claim_parcel(7, night, lease=120.0)
                assert parcel is not None
                opened.sent(parcel.rows[0], Recorded(id=number, node=f"IC_{number}"))

        yield work


@contextlib.contextmanager
def _bare(folder: Path, commits: int, tables: int) -> Iterator[Callable[[], None]]:
    """Each commit writes a row, and so a page, to each of its tables."""
    with contextlib.closing(sqlite3.connect(folder / f"bare{tables}.db", isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        inserts = [f"INSERT INTO done_{n} (what) VALUES ('a commit')" for n in range(tables)]
        for n in range(tables):
            connection.execute(f"CREATE TABLE done_{n} (id INTEGER PRIMARY KEY, what TEXT)")

        def work() -> None:
            for _ in range(commits):
                connection.execute("BEGIN IMMEDIATE")
                for insert in inserts:
                    connection.execute(insert)
                connection.execute("COMMIT")

        yield work


@contextlib.contextmanager
def _huey(folder: Path, tasks: int) -> Iterator[Callable[[], None]]:
    from huey import SqliteHuey

    queue = SqliteHuey("bench", filename=str(folder / "huey.db"), fsync=True)

    @queue.task()
    def one(number: int) -> int:
        return number

    def work() -> None:
        for number in range(tasks):
            one(number)
            queue.execute(queue.dequeue())

    yield work
    queue.storage.close()


@contextlib.contextmanager
def _dbos(folder: Path, workflows: int) -> Iterator[Callable[[], None]]:
    from dbos import DBOS, SetWorkflowID

    logging.getLogger("dbos").setLevel(logging.ERROR)
    DBOS(config={"name": "bench", "system_database_url": f"sqlite:///{folder / 'dbos.db'}", "log_level": "ERROR"})

    @DBOS.step()
    def step(number: int) -> int:
        return number

    @DBOS.workflow()
    def one(number: int) -> int:
        return step(number)

    DBOS.launch()
    try:

        def work() -> None:
            for number in range(workflows):
                with SetWorkflowID(f"{uuid.uuid4()}"):
                    one(number)

        yield work
    finally:
        DBOS.destroy()
