"""Rate limits, the pace and the deadline: they stop writing and not triage, and what they leave is delivered later."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable

import pytest

from tests.world import CONFIG, World
from triagebot.core.faults import Misconfigured
from triagebot.ledger import opening
from triagebot.nightly.pacer import Pacer, WritingEnds
from triagebot.nightly.settings import Pace
from triagebot.nightly.stop import Stop, SystemClock
from triagebot.sandbox import faults

HOUR_AWAY = int(time.time()) + 3600


def reopen_the_gate(world: World) -> None:
    world.sql("UPDATE pace SET closed_until = 0")
    world.sql("UPDATE outbox SET not_before = 0")


@pytest.mark.parametrize(
    "limit",
    [
        faults.secondary_limit(faults.POST_COMMENT, retry_after="3600"),
        faults.secondary_limit(faults.POST_COMMENT, retry_after="soon"),
        faults.secondary_limit(faults.ADD_LABELS, status=429),
        faults.secondary_limit(faults.POST_COMMENT, retry_after="3600", stored=True),
        faults.primary_limit(faults.ADD_LABELS, reset=HOUR_AWAY),
        faults.graphql_limit(faults.LOOK, reset=HOUR_AWAY),
    ],
    ids=["comment", "no number", "labels", "stored all the same", "primary", "look"],
)
def test_a_limit_that_outlasts_the_night_is_one_probe_and_the_rest_waits_for_the_next(
    world: World, limit: faults.Fault
) -> None:
    number = world.crash()
    armed = world.hub.faults.add(limit, times=None)
    ran = world.run("--deadline", "20s", "--format", "json")
    assert ran.code == 1, "a limit left work"
    assert armed.hits == 1
    assert any(note.startswith("deferred: GitHub's rate limit until") for note in ran.json["notes"])
    assert ran.json["waiting"] >= 1
    assert world.run("--deadline", "20s").code == 1
    assert armed.hits == 1, "the gate holds for later nights, too"
    world.hub.faults.clear()
    reopen_the_gate(world)
    assert world.run(command="deliver").code == 0
    assert len(world.own(number)) == 1
    assert world.stand.count == 1


def test_a_limit_that_ends_in_the_night_is_waited_for(world: World) -> None:
    number = world.crash()
    world.hub.faults.add(faults.secondary_limit(faults.POST_COMMENT, retry_after="2"))
    ran = world.night()
    assert len(world.own(number)) == 1
    assert any(note.startswith("rate limit: writing waits 2 s") for note in ran.json["notes"])


def test_a_gate_that_closes_between_look_and_write_holds_the_write_back(world: World) -> None:
    number = world.crash()
    world.once(lambda call: call.operation == "Look", lambda: world.sql("UPDATE pace SET closed_until = 1e10"))
    ran = world.run("--deadline", "20s")
    assert ran.code == 1
    assert world.hub.writes() == []
    reopen_the_gate(world)
    world.night()
    assert len(world.own(number)) == 1


def test_a_limit_on_a_read_at_the_start_ends_the_night_with_its_reason(world: World) -> None:
    world.crash()
    world.hub.faults.add(faults.graphql_limit(faults.SWEEP, reset=HOUR_AWAY), times=None)
    ran = world.run()
    assert ran.code == 1
    assert "rate limit" in ran.err
    [(how,)] = world.sql("SELECT how FROM nights")
    assert how.startswith("stopped: ")


def test_a_gate_that_is_closed_from_the_start_stops_no_triage(world: World) -> None:
    world.crash("Crash 1")
    world.hub.faults.add(faults.secondary_limit(faults.ANY_WRITE, retry_after="3600"), times=None)
    assert world.run("--deadline", "20s").code == 1
    world.crash("Crash 2")
    world.crash("Crash 3")
    process = world.start("--deadline", "2h")
    assert world.stand.wait_for(3)
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=10)
    assert process.returncode == 143, err
    assert len(world.hub.writes()) == 1


def test_a_verdict_whose_writes_must_wait_lets_the_next_issue_be_asked(world: World) -> None:
    """A write of an older text has an end that nobody knows: the new one stands behind it, and the night goes on."""
    world.configure(CONFIG + "labels: {mode: suggest}\n")
    number = world.crash()
    world.hub.faults.add(faults.dropped(faults.POST_COMMENT))
    assert world.run().code == 1
    world.sql("UPDATE outbox SET not_before = not_before + 3600 WHERE status = 'unknown'")
    world.repo.edit_issue(number, body="Error: another text")
    world.crash("Crash 2", created_at=world.hub.now())
    night = world.start("--workers", "1")
    out, err = night.communicate(timeout=20)
    assert night.returncode == 1, err
    assert world.stand.count == 3
    assert "waiting in" not in out
    assert "writes wait in the outbox" in out


def test_a_refused_permission_stops_the_night_before_the_next_question(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However slowly the word goes round."""
    for n in range(3):
        world.crash(f"Crash {n}")
    by_fault = Stop.by_fault

    def late(self: Stop, fault: Misconfigured) -> None:
        world.stand.wait_for(2, 0.3)
        by_fault(self, fault)

    monkeypatch.setattr(Stop, "by_fault", late)
    world.hub.faults.add(faults.not_permitted(faults.ANY_WRITE), times=None)
    assert world.run().code == 2
    assert world.stand.count == 1


def test_rows_that_come_while_the_courier_looks_the_other_way_are_delivered(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last verdict may be written right after the courier saw an empty outbox, and the end of triage right then."""
    import threading

    from triagebot.ledger.ledger import Ledger

    world.configure(CONFIG + "comment: off\n")  # posts would be looked back at, and the outbox with them
    world.crash("Crash 1")
    world.stand.fault("hang", skip=1)
    number, next_due, late = world.crash("Crash 2"), Ledger.next_due, []

    def slowly(self: Ledger, repo_id: int, night: object) -> float | None:
        due = next_due(self, repo_id, night)
        if due is None and world.repo.issue(1).labels and not late:
            late.append(world.stand.wait_for(2))
            workers = [t for t in threading.enumerate() if t.name.startswith("worker")]
            world.stand.release()
            for worker in workers:
                worker.join(5)
            threading.Event().wait(0.3)  # the night hears of it
        return due

    monkeypatch.setattr(Ledger, "next_due", slowly)
    world.night("--workers", "1")
    assert late == [True]
    assert world.repo.issue(number).labels == ["bug"]


def test_after_the_deadline_nothing_is_asked_or_written_and_the_reason_is_the_deadline(world: World) -> None:
    numbers = [world.crash(f"Crash {n}") for n in range(3)]
    world.stand.latency = 0.6
    ran = world.run("--deadline", "1s", "--workers", "1", "--format", "json")
    assert ran.code == 1
    assert world.stand.count < 3
    notes = " ".join(ran.json["notes"])
    assert "deadline" in notes
    assert "per_hour" not in notes
    assert ran.json["left"]["issues"] >= 1
    world.stand.latency = 0.0
    world.night()
    assert [len(world.own(n)) for n in numbers] == [1, 1, 1]


def test_a_deadline_of_no_time_at_all_is_honoured(world: World) -> None:
    world.crash()
    assert world.run("--deadline", "0s").code == 1
    assert world.stand.count == 0


def test_no_row_is_held_while_an_hours_writes_are_used_up(world: World) -> None:
    world.configure(CONFIG.replace("per_hour: off", "per_hour: 1"))
    number = world.crash()
    process = world.start()
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline and world.repo.issue(number).labels == []:
        time.sleep(0.02)
    statuses = []
    while time.monotonic() < deadline and "pending" not in statuses:
        statuses = [status for (status,) in world.sql("SELECT status FROM outbox WHERE action = 'comment'")]
        time.sleep(0.02)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=10)
    assert statuses == ["pending"], "the comment waits two hours for its slot, and nobody holds it"
    assert world.own(number) == []


def test_what_the_hour_does_not_allow_is_deferred_and_said(world: World) -> None:
    world.configure(CONFIG.replace("per_hour: off", "per_hour: 1"))
    world.crash()
    ran = world.run("--deadline", "10s", "--format", "json")
    assert ran.code == 1
    assert len(world.hub.writes()) == 1
    assert any("delivery.per_hour) is used up until" in note for note in ran.json["notes"])


# --- the pacer by itself, on a ledger whose clock is ours


class Clock(SystemClock):
    """A clock that nobody has to wait for."""

    time = 1_000_000.0

    def monotonic(self) -> float:
        return Clock.time

    def sleep(self, seconds: float) -> None:
        Clock.time += seconds


def pacer(pace: Pace, deadline: float = 3600.0, rests: Callable[[bool], None] = lambda _: None) -> Pacer:
    Clock.time = 1_000_000.0
    ledger = opening.throwaway(now=lambda: Clock.time)
    stop = Stop()
    return Pacer(ledger, ("host", "bot"), pace, Clock(stop), stop, Clock.time + deadline, rests)


@pytest.mark.parametrize("pace", [Pace(), Pace(per_second=None)], ids=["1 a second", "400 an hour alone"])
def test_a_slot_outlives_a_slow_look_also_when_the_hour_is_used_up(pace: Pace) -> None:
    """Else each look would outlive its slot, and no write would ever go out again."""
    used = pacer(pace)
    for _ in range(200):
        used.take()
        used.spend()
    used.take()
    before = Clock.time
    Clock.time += 9.0
    assert used.is_near(10.0)
    used.take()
    assert Clock.time == before + 9.0, "no second slot was reserved"
    used.ledger.close()


def test_only_a_long_wait_is_told_to_those_who_wait_for_a_first_write() -> None:
    """Triage goes on while an hour is used up or another night's limit has closed the gate; for a second it waits."""
    told: list[bool] = []
    used = pacer(Pace(per_hour=4), rests=told.append)
    for _ in range(2):
        used.take()
        used.spend()
    assert told == [False] * 4, "the spacing of two writes"
    used.take()
    used.spend()
    assert told[4:] == [True, False], "the hour is used up"
    used.ledger.close_gate(used.account, seconds=60.0)
    told.clear()
    used.take()
    assert told[:2] == [True, False]
    used.ledger.close()


def test_a_slot_kept_too_long_is_not_used_any_more() -> None:
    used = pacer(Pace())
    used.take()
    Clock.time += 60.0
    used.take()
    used.spend()
    used.take()
    assert Clock.time == 1_000_061.0
    used.ledger.close()


def test_two_writes_are_a_second_apart_however_long_the_look_before_the_first_took() -> None:
    used = pacer(Pace())
    used.take()
    Clock.time += 5.0
    used.spend()
    used.take()
    assert Clock.time == 1_000_006.0
    used.ledger.close()


@pytest.mark.parametrize(("look", "ahead"), [(0.4, 0.4), (9.0, 2.0)], ids=["a slow look", "a look that hung"])
def test_a_look_begins_as_long_before_its_slot_as_the_last_one_took_but_two_seconds_at_most(
    look: float, ahead: float
) -> None:
    """Else every issue's write would be late by the time that its look takes."""
    used = pacer(Pace(per_second=0.25))
    used.take()
    used.looked(look)
    used.spend()
    used.approach()
    assert Clock.time == pytest.approx(1_000_004.0 - ahead)
    used.take()
    assert Clock.time == pytest.approx(1_000_004.0)
    used.ledger.close()


def test_a_stop_in_the_middle_of_a_wait_ends_writing() -> None:
    used = pacer(Pace())
    used.take()
    used.spend()
    used.stop.by_signal(15)
    with pytest.raises(WritingEnds, match="stopped"):
        used.take()
    used.ledger.close()
