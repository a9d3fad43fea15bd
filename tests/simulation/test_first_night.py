"""A first night on a repository with a long backlog, under the limits that GitHub names, in simulated time."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from triagebot.nightly.report import Summary
from triagebot.nightly.settings import Orders
from triagebot.simulator import judge, runs
from triagebot.simulator.scheduler import Process
from triagebot.simulator.script import DAY, Weather
from triagebot.simulator.shelf import Files
from triagebot.simulator.world import SETTINGS, World

# Coverage slows a history several times, and other tests reach the same lines.
pytestmark = pytest.mark.no_cover

ISSUES = 600
OWN_MAKING = "limit of our own making"


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(1, Files(tmp_path), Weather(), frozenset(), settings=replace(SETTINGS, deadline=3600.0, workers=4))
    made.hub.enforce_limits = True
    for n in range(1, ISSUES + 1):
        made.repo.open_issue(title=f"{random.Random(n).choice(['bug', 'question'])} {n} 1")
    yield made
    made.end()


def a_night(world: World) -> Summary:
    """One night, run to its end, and a day later."""
    before = len(world.summaries)
    runs.a_night(world, Process("night"), world.repo, Orders())
    world.scheduler.run(limit=1_000_000)
    world.scheduler.now += DAY
    assert len(world.summaries) == before + 1
    return world.summaries[-1]


def commented(world: World) -> list[int]:
    return [issue.number for issue in world.repo.issues() if world.own(world.repo, issue.number)]


def labelled(world: World) -> list[int]:
    return [issue.number for issue in world.repo.issues() if issue.labels]


def test_a_first_night_on_many_issues_meets_no_limit_and_carries_the_rest_over_oldest_first(world: World) -> None:
    first = a_night(world)
    written = judge.writes(world.counts)
    assert 390 <= written <= 400, "what an hour holds, which is how long this night may last"
    assert first.waiting == 2 * ISSUES - written
    assert first.how == "incomplete"
    assert f"{first.waiting} writes wait in the outbox for the next night" in first.tally.notes
    for done in (labelled(world), commented(world)):
        assert done
        assert max(done) <= len(done) + 4, "the oldest first, give or take what the workers have in hand"
    _finish(world)
    assert world.counts["model answered"] == ISSUES, "each text is paid for once"
    assert world.counts["send.PostComment"] == world.counts["send.AddLabels"] == ISSUES
    assert world.counts[OWN_MAKING] == 0
    assert world.violations == []


def _finish(world: World) -> None:
    """Night after night, each of which writes what its hour holds."""
    waiting = world.summaries[-1].waiting
    while waiting:
        left = a_night(world).waiting
        assert waiting - left >= min(waiting, 390)
        waiting = left
    assert commented(world) == labelled(world) == [*range(1, ISSUES + 1)]
    assert len(world.summaries) <= 4


def test_without_a_pace_the_limits_are_met_and_yet_nothing_is_written_twice(world: World) -> None:
    """The enforced limits are real ones: whoever writes as fast as it can runs into them."""
    pace = replace(world.settings.pace, per_second=None, per_hour=None)
    world.settings = replace(world.settings, pace=pace, deadline=900.0)
    a_night(world)
    assert world.counts[OWN_MAKING] > 0
    assert all(len(world.own(world.repo, number)) == 1 for number in commented(world))
    assert world.violations == []
