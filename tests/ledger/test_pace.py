"""Writes are spaced, an hour holds no more than allowed, and a limit closes the gate for all."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.ledger.conftest import OpenAgain
from tests.ledger.pieces import Clock
from triagebot.ledger.ledger import Ledger
from triagebot.ledger.opening import throwaway

US = ("api.github.com", "triagebot")
HOUR, DAY = 3600.0, 86400.0


def slots(ledger: Ledger, clock: Clock, number: int, *, per_second: float | None, per_hour: int | None) -> list[float]:
    """The times of `number` writes by a writer that waits for each slot and writes as soon as it may."""
    times = []
    for _ in range(number):
        clock.pass_(ledger.reserve_slot(US, per_second=per_second, per_hour=per_hour))
        times.append(clock())
    return times


def most_in_an_hour(times: list[float]) -> int:
    return max(sum(start <= time < start + HOUR - 0.001 for time in times) for start in times)


def test_writes_are_a_second_apart(ledger: Ledger, clock: Clock) -> None:
    times = slots(ledger, clock, 20, per_second=1, per_hour=None)
    assert [b - a for a, b in itertools.pairwise(times)] == pytest.approx([1.0] * 19)


def test_a_writer_that_comes_later_does_not_wait(ledger: Ledger, clock: Clock) -> None:
    slots(ledger, clock, 3, per_second=1, per_hour=400)
    clock.pass_(1)
    assert ledger.reserve_slot(US, per_second=1, per_hour=400) == 0.0


def test_no_hour_holds_more_than_allowed(ledger: Ledger, clock: Clock) -> None:
    """Half of it may come in a burst, and work goes on all the time."""
    times = slots(ledger, clock, 1000, per_second=1, per_hour=400)
    assert most_in_an_hour(times) <= 400
    assert times[199] - times[0] == pytest.approx(199)
    assert times[-1] - times[0] < 5 * HOUR


@settings(max_examples=15, deadline=None)
@given(
    per_hour=st.integers(1, 30),
    per_second=st.sampled_from([None, 0.01, 1, 5]),
    pauses=st.lists(st.floats(0, 2 * HOUR), min_size=60, max_size=60),
)
def test_no_hour_holds_more_than_allowed_whatever_the_pauses(
    per_hour: int, per_second: float | None, pauses: list[float]
) -> None:
    clock, times = Clock(), []
    with throwaway(now=clock) as ledger:
        for pause in pauses:
            times += slots(ledger, clock, 1, per_second=per_second, per_hour=per_hour)
            clock.pass_(pause if pause > HOUR else pause / 100)
    assert most_in_an_hour(times) <= per_hour
    assert all(b - a >= 1 / (per_second or 1e9) - 0.001 for a, b in itertools.pairwise(times))


def test_workers_share_the_pace(ledger: Ledger, other: Ledger) -> None:
    assert ledger.reserve_slot(US, per_second=1, per_hour=400) == 0.0
    assert other.reserve_slot(US, per_second=1, per_hour=400) == pytest.approx(1)
    assert ledger.reserve_slot(US, per_second=1, per_hour=400) == pytest.approx(2)
    assert other.reserve_slot(("ghe.example", "triagebot"), per_second=1, per_hour=400) == 0.0
    assert other.reserve_slot(("api.github.com", "another"), per_second=1, per_hour=400) == 0.0


def test_a_server_without_limits_has_no_pace(ledger: Ledger) -> None:
    assert [ledger.reserve_slot(US, per_second=None, per_hour=None) for _ in range(5)] == [0.0] * 5


def test_a_slot_that_a_jumped_clock_left_far_ahead_is_reset(ledger: Ledger, clock: Clock) -> None:
    """Without a wait, and without a new burst: we cannot tell what the hour has seen."""
    slots(ledger, clock, 300, per_second=1, per_hour=400)
    clock.pass_(-7 * DAY)
    times = slots(ledger, clock, 400, per_second=1, per_hour=400)
    assert times[1] - times[0] == pytest.approx(18)
    assert most_in_an_hour(times) <= 201


def test_slots_that_crashed_writers_wasted_are_no_reset(ledger: Ledger) -> None:
    waits = [ledger.reserve_slot(US, per_second=1, per_hour=None) for _ in range(16)]
    assert waits == pytest.approx(list(range(16)))


# --- the gate


def test_the_gate_is_open_at_first(ledger: Ledger) -> None:
    assert ledger.gate(US) == 0.0


def test_a_limit_closes_the_gate_for_all_until_it_passes(ledger: Ledger, other: Ledger, clock: Clock) -> None:
    assert ledger.close_gate(US, seconds=90) == pytest.approx(90)
    clock.pass_(30)
    assert other.gate(US) == pytest.approx(60)
    assert other.gate(("ghe.example", "triagebot")) == 0.0
    clock.pass_(60)
    assert other.gate(US) == 0.0


def test_the_gate_only_moves_later(ledger: Ledger, other: Ledger) -> None:
    ledger.close_gate(US, seconds=3000)
    assert other.close_gate(US, seconds=10) == pytest.approx(3000)
    assert other.close_gate(US, seconds=None) == pytest.approx(3000)
    other.open_gate(US)
    assert ledger.gate(US) == pytest.approx(3000)


def test_a_limit_that_does_not_say_how_long_doubles(ledger: Ledger, clock: Clock) -> None:
    waits = []
    for _ in range(13):
        waits.append(ledger.close_gate(US, seconds=None))
        clock.pass_(waits[-1])
    assert waits == pytest.approx([min(60 * 2**n, DAY) for n in range(13)])


def test_an_answered_write_starts_the_doubling_anew(ledger: Ledger, clock: Clock) -> None:
    for _ in range(3):
        clock.pass_(ledger.close_gate(US, seconds=None))
    clock.pass_(-10)
    ledger.open_gate(US)
    assert ledger.gate(US) == pytest.approx(10)  # an answer to a write that went out before the limit opens nothing
    clock.pass_(10)
    assert ledger.close_gate(US, seconds=None) == pytest.approx(60)


def test_one_limit_that_two_workers_meet_counts_once(ledger: Ledger, other: Ledger, clock: Clock) -> None:
    ledger.close_gate(US, seconds=None)
    clock.pass_(1)
    assert other.close_gate(US, seconds=None) == pytest.approx(60)
    clock.pass_(60)
    assert ledger.close_gate(US, seconds=None) == pytest.approx(120)


@pytest.mark.parametrize("seconds", [10 * DAY, 1e300, float("inf")])
def test_no_gate_stays_closed_for_more_than_a_day(ledger: Ledger, seconds: float) -> None:
    assert ledger.close_gate(US, seconds=seconds) == pytest.approx(DAY)


def test_a_limit_that_is_over_already_closes_nothing(ledger: Ledger) -> None:
    assert ledger.close_gate(US, seconds=-5) == 0.0
    assert ledger.gate(US) == 0.0


def test_a_gate_that_a_jumped_clock_left_far_ahead_opens_within_a_day(ledger: Ledger, clock: Clock) -> None:
    ledger.close_gate(US, seconds=HOUR)
    clock.pass_(-7 * DAY)
    assert ledger.gate(US) == pytest.approx(DAY)
    clock.pass_(DAY - 1)
    assert ledger.gate(US) == pytest.approx(1)
    clock.pass_(-7 * DAY)
    assert ledger.close_gate(US, seconds=60) == pytest.approx(DAY)


def test_the_pace_runs_by_the_databases_own_clock(open_again: OpenAgain) -> None:
    first, second = (open_again(now=None) for _ in range(2))
    first.close_gate(US, seconds=100)
    assert 90 < second.gate(US) <= 100
    first.reserve_slot(US, per_second=0.1, per_hour=None)
    assert 5 < second.reserve_slot(US, per_second=0.1, per_hour=None) <= 10
