"""PyGithub's and openai's own retries are off: requests are counted where they arrive."""

from __future__ import annotations

import pytest

from tests.world import World
from triagebot.sandbox import faults


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
        assert world.run("--day", f"2026-12-0{day}").code == 1
    world.stand.clear()
    world.night("--day", "2026-12-06")
    assert world.own_per_issue() == [1]


def test_an_issue_that_fails_on_three_days_is_given_up_until_retry(world: World) -> None:
    world.repo.open_issue(title="Crash", body="Error: it fails")
    world.stand.fault("garbage", times=None)
    for day in range(1, 5):
        assert world.run("--day", f"2026-12-0{day}").code == (1 if day < 4 else 0)
    assert world.stand.count == 6, "one question and one changed second try on each of three days"
    world.stand.clear()
    assert world.run(command="retry").code == 0
    world.night("--day", "2026-12-05")
    assert world.own_per_issue() == [1]
