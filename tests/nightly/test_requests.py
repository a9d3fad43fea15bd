"""PyGithub's and openai's own retries are off: requests are counted where they arrive."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.world import World
from triagebot.sandbox import faults

DATA = Path(__file__).parents[2].parent / "shared" / "data" / "nlbse24-train.csv"


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
