"""Threads of one process write one after the other, and none waits longer than it was told to."""

from __future__ import annotations

import threading
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from triagebot.core.faults import LedgerBusy
from triagebot.ledger.sqlite import open_file
from triagebot.ledger.turns import Turns

LEDGER = Path("ledger.db")


def test_a_turn_that_does_not_come_is_a_locked_ledger() -> None:
    turns = Turns()
    with ThreadPoolExecutor(1) as other, turns.taken(LEDGER, 1.0):
        refused = other.submit(lambda: turns.taken(LEDGER, 0.01).__enter__()).exception()
    assert isinstance(refused, LedgerBusy)
    assert "ledger.db: stayed locked for 0.01 s" in str(refused)


def test_the_next_one_is_woken_when_a_turn_ends_however_it_ends() -> None:
    turns, waits = Turns(), threading.Event()

    def first(other: ThreadPoolExecutor) -> None:
        with turns.taken(LEDGER, 1.0):
            woken.append(other.submit(second))
            assert waits.wait(10)
            raise ZeroDivisionError

    def second() -> None:
        waits.set()
        with turns.taken(LEDGER, 60.0):
            pass

    woken: list[Future[None]] = []
    with ThreadPoolExecutor(1) as other:
        with pytest.raises(ZeroDivisionError):
            first(other)
        woken[0].result(10)


def test_a_thread_asks_nothing_of_the_database_before_its_turn(tmp_path: Path) -> None:
    """Or it would poll, and whoever polls least often would wait longest."""
    database = open_file(tmp_path / "ledger.db", timeout=0.05)
    said: list[str] = []

    def second() -> None:
        database.view(lambda _: database._connection().set_trace_callback(said.append))
        database.write(lambda _: None)

    with ThreadPoolExecutor(1) as other, database.transaction():
        refused = other.submit(second).exception()
    assert isinstance(refused, LedgerBusy)
    assert not [words for words in said if words.startswith("BEGIN IMMEDIATE")]
    database.close()
