"""Durable commits: a claim, a finish, a claim of what is to be sent and its receipt, beside a bare loop and two peers.

Each issue of ours costs four commits: that is what a night does to the ledger for an issue with one write. The floor
does as many commits of one row on the same file system, in the same mode (write-ahead log, `synchronous=FULL`). A
workflow of DBOS and a task of huey are one unit of work each, as an issue is of ours.
"""

from __future__ import annotations

import contextlib
import itertools
import logging
import sqlite3
import uuid
from collections.abc import Callable, Iterator
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
        floor = rated(stack.enter_context(_bare(setting.folder, COMMITS * issues)), COMMITS * issues)
        taken = interleaved(setting, {"ours": ours, "bare sqlite3": floor, **peers})
    commits = taken.pop("ours")
    yield Line(
        "claim, finish, claim to send, sent",
        "commits/s",
        ours=commits,
        against={"bare sqlite3": taken.pop("bare sqlite3")},
        target=at_least(0.6),
        limit_by="the processor: nine statements a commit with their Python, and four times as many pages of log",
    )
    absent = f"not installed, so not measured: {', '.join(missing)}; pip install 'triagebot[bench]'" if missing else ""
    yield Line(
        "whole units of work",
        "units/s",
        ours=[rate / COMMITS for rate in commits],
        against={f"{name} {metadata.version(name.lower())}": rates for name, rates in taken.items()},
        note=absent or "an issue of ours, a keyed workflow of one step, a task that is put in a queue and run",
    )


@contextlib.contextmanager
def _ours(folder: Path, issues: int) -> Iterator[Callable[[], None]]:
    with open_ledger(folder / "ours.db") as opened:
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
def _bare(folder: Path, commits: int) -> Iterator[Callable[[], None]]:
    with contextlib.closing(sqlite3.connect(folder / "bare.db", isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("CREATE TABLE done (id INTEGER PRIMARY KEY, what TEXT)")

        def work() -> None:
            for _ in range(commits):
                connection.execute("BEGIN IMMEDIATE")
                connection.execute("INSERT INTO done (what) VALUES ('a commit')")
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
