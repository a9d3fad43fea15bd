"""Requests are counted where they arrive: a night sends no more than it has to, and no library repeats any."""

from __future__ import annotations

from datetime import date

import pytest

from tests.world import World
from triagebot.core import key
from triagebot.core.marker import Marker
from triagebot.sandbox import faults
from triagebot.sandbox.hub import BOT

OLD, NEW, PAGES = 101, 5, 2


@pytest.fixture
def answered(world: World) -> World:
    """More issues than one page holds, each with the comment of a night that the ledger knows nothing of."""
    for number in range(OLD):
        issue = world.repo.open_issue(title=f"Crash {number}", body="Error: it fails")
        marker = Marker(date(2026, 1, 1), key.digest(issue.title, issue.body))
        world.repo.label(issue.number, "bug", by=BOT)
        world.repo.comment(issue.number, f"{marker}\nIt is a bug.", by=BOT)
    return world


def test_a_lost_ledger_costs_the_pages_and_four_requests_no_write_and_no_model_call(answered: World) -> None:
    answered.night()
    assert len(answered.hub.requests) <= PAGES + 4
    assert (answered.hub.writes(), answered.stand.count) == ([], 0)


def test_an_unchanged_night_costs_the_pages_and_four_requests_and_no_model_call(answered: World) -> None:
    for _ in range(NEW):
        answered.crash()
    answered.night()
    before, asked = len(answered.hub.requests), answered.stand.count
    answered.night("--day", "2021-05-06")
    assert len(answered.hub.requests) - before <= PAGES + 4
    assert answered.stand.count == asked


def test_a_new_issue_costs_one_look_and_its_two_writes_and_the_night_six_requests_more(answered: World) -> None:
    for _ in range(NEW):
        answered.crash()
    answered.night()
    assert len(answered.hub.writes()) == 2 * NEW
    assert len(answered.hub.requests) <= PAGES + 3 * NEW + 6


def test_a_comment_stored_and_answered_502_is_one_request(world: World) -> None:
    world.repo.open_issue(title="Crash", body="Error: it fails")
    world.hub.faults.add(faults.stored_then(faults.POST_COMMENT, 502), times=None)
    world.run()
    assert [w for w in world.writes_since(0) if w.endswith("/comments")] == ["POST /repos/octo/demo/issues/1/comments"]


@pytest.mark.parametrize("attempts", [1, 2])
def test_a_model_that_always_answers_500_gets_exactly_the_configured_attempts(world: World, attempts: int) -> None:
    world.repo.open_issue(title="Crash", body="Error: it fails")
    world.configure(f"model: {{attempts: {attempts}, timeout: 2s, deadline: 60s}}")
    world.stand.fault("500", times=None)
    ran = world.run()
    assert ran.code == 1
    assert world.stand.count == attempts


def test_a_models_rate_limit_costs_no_try_however_often_it_is_met(world: World) -> None:
    world.repo.open_issue(title="Crash", body="Error: it fails")
    world.configure("model: {attempts: 1}\nselect: {horizon: off}\ndelivery: {settle: 0s}")
    world.stand.fault("429", times=None)
    for day in range(1, 6):
        assert world.run("--day", f"2025-12-0{day}").code == 1
    world.stand.clear()
    world.night("--day", "2025-12-06")
    assert world.own_per_issue() == [1]


def test_an_issue_that_fails_on_three_days_is_given_up_until_retry(world: World) -> None:
    world.repo.open_issue(title="Crash", body="Error: it fails")
    world.stand.fault("garbage", times=None)
    for day in range(1, 5):
        assert world.run("--day", f"2025-12-0{day}").code == (1 if day < 4 else 0)
    assert world.stand.count == 6, "one question and one changed second try on each of three days"
    world.stand.clear()
    assert world.run(command="retry").code == 0
    world.night("--day", "2025-12-05")
    assert world.own_per_issue() == [1]
