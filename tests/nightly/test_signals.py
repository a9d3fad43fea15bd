"""Told to stop, a night is gone within 5 s, burns no try, and the next one finishes what it left."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import time
from collections.abc import Iterator

import pytest

from tests.world import World
from triagebot.sandbox import faults


@pytest.fixture(autouse=True)
def _heard() -> Iterator[None]:
    """What is ignored here the programs that are started ignore, too; and these tests may run under `nohup`."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


def ended(process: subprocess.Popen[str], number: int) -> str:
    """Send the signal; the process must be gone within 5 s with 128 plus its number, and a word for people."""
    started = time.monotonic()
    process.send_signal(number)
    _, err = process.communicate(timeout=10)
    assert time.monotonic() - started < 5
    assert process.returncode == 128 + number, err
    assert "interrupted" in err
    assert "Traceback" not in err
    return err


def tries(world: World) -> list[int]:
    with sqlite3.connect(world.ledger) as ledger:
        return [row[0] for row in ledger.execute("SELECT tries FROM runs ORDER BY issue")]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_stopped_while_the_model_hangs(world: World, number: int) -> None:
    for n in range(3):
        world.repo.open_issue(title=f"Crash {n}", body="Error: it fails")
    world.configure("model: {timeout: 60s}\ndelivery: off\nselect: {horizon: off}")
    world.stand.fault("hang", times=None)
    process = world.start()
    assert world.stand.wait_for(1)
    ended(process, number)
    assert set(tries(world)) == {0}
    world.stand.clear()
    world.stand.release()
    world.configure()
    world.night()
    assert world.own_per_issue() == [1, 1, 1]


def test_a_hang_up_takes_the_terminal_along_and_the_claims_are_given_back_all_the_same(world: World) -> None:
    """As when a connection breaks: whatever is said from then on cannot be written."""
    world.crash()
    world.stand.fault("hang", times=None)
    process = world.start()
    assert world.stand.wait_for(1)
    for stream in (process.stdout, process.stderr):
        assert stream is not None
        stream.close()
    process.send_signal(signal.SIGHUP)
    assert process.wait(10) == 128 + signal.SIGHUP
    assert tries(world) == [0]
    assert world.sql("SELECT status FROM runs") == [("failed",)]


def test_under_nohup_a_night_goes_on_when_the_terminal_goes(world: World) -> None:
    number = world.crash()
    world.stand.fault("hang")
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # what a child is started with, it keeps
    try:
        process = world.start()
    finally:
        signal.signal(signal.SIGHUP, before)
    assert world.stand.wait_for(1)
    process.send_signal(signal.SIGHUP)
    world.stand.release()
    process.communicate(timeout=30)
    assert process.returncode == 0
    assert len(world.own(number)) == 1


def test_stopped_while_a_post_is_under_way(world: World) -> None:
    """The row of a request that has started is never given back: it becomes unknown, and the look decides."""
    world.repo.open_issue(title="Crash", body="Error: it fails")
    hang = world.hub.faults.add(faults.stored_then_hangs(faults.POST_COMMENT))
    process = world.start()
    assert hang.reached.wait(10)
    ended(process, signal.SIGTERM)
    with sqlite3.connect(world.ledger) as ledger:
        assert ledger.execute("SELECT status FROM outbox WHERE action = 'comment'").fetchall() == [("unknown",)]
    world.night()
    assert world.own_per_issue() == [1]
    assert world.stand.count == 1


def test_killed_between_post_and_record_leaves_one_comment(world: World) -> None:
    world.repo.open_issue(title="Crash", body="Error: it fails")
    hang = world.hub.faults.add(faults.stored_then_hangs(faults.POST_COMMENT))
    process = world.start()
    assert hang.reached.wait(10)
    process.kill()
    process.communicate()
    with sqlite3.connect(world.ledger) as ledger:
        assert ledger.execute("SELECT status FROM outbox WHERE action = 'comment'").fetchall() == [("sending",)]
        ledger.execute("UPDATE outbox SET lease_until = 0")  # the two minutes of the lease have passed
    world.night()
    assert world.own_per_issue() == [1]
    assert world.stand.count == 1


def test_killed_while_asking_costs_one_more_call_and_a_try(world: World) -> None:
    world.repo.open_issue(title="Crash", body="Error: it fails")
    world.stand.fault("hang")
    process = world.start()
    assert world.stand.wait_for(1)
    process.kill()
    process.communicate()
    world.stand.release()
    held = world.run()
    assert held.code == 1
    assert "held by another worker" in held.out
    with sqlite3.connect(world.ledger) as ledger:
        ledger.execute("UPDATE runs SET lease_until = 0")
    world.night()
    assert world.own_per_issue() == [1]
    assert world.stand.count == 2
