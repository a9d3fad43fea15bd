"""Real issues, many nights: one comment each, one model call each, and after the first night not one write."""

from __future__ import annotations

import csv
import subprocess
from pathlib import Path

import pytest

from tests.world import World

DATA = Path(__file__).parents[2] / "../shared/data/nlbse24-train.csv"
ISSUES = 100

pytestmark = pytest.mark.skipif(not DATA.exists(), reason=f"{DATA} is not there")


def real_issues() -> list[tuple[str, str]]:
    csv.field_size_limit(10_000_000)
    with DATA.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return [(row["title"], row["body"]) for row in rows[:: len(rows) // ISSUES]][:ISSUES]


def test_a_hundred_real_issues_through_many_nights(world: World, record_property: object) -> None:
    for title, body in real_issues():
        world.repo.open_issue(title=title, body=body)
    # A model that finds a label for every issue, so that every issue gets its comment.
    world.stand.script = lambda _: '{"labels": [{"name": "bug", "confidence": 0.9, "reason": "words"}]}'
    world.night()
    first_night = len(world.hub.writes())
    assert first_night == 2 * ISSUES
    world.night()
    world.night()
    both: list[subprocess.Popen[str]] = [world.start(), world.start()]
    assert [(process.wait(120), process.communicate()[1])[0] for process in both] == [0, 0]
    world.lose_the_ledger()
    world.night()
    world.night("--day", "2021-01-01")
    assert world.own_per_issue() == [1] * ISSUES
    assert world.stand.count == ISSUES
    assert world.writes_since(first_night) == []


def test_a_first_night_run_twice_at_once_asks_and_writes_once(world: World) -> None:
    for title, body in real_issues():
        world.repo.open_issue(title=title, body=body)
    world.stand.script = lambda _: '{"labels": [{"name": "bug", "confidence": 0.9, "reason": "words"}]}'
    both = [world.start("--workers", "4"), world.start("--workers", "4")]
    for process in both:
        process.communicate(timeout=120)
    world.night()
    assert world.own_per_issue() == [1] * ISSUES
    assert world.stand.count == ISSUES
