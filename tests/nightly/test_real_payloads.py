"""Many real issues as a dry run: none ends it, and every comment that would be posted is clean as GitHub renders it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.outgoing import dirt
from tests.world import World
from triagebot.sandbox.model_rule import issue_of

DATA = Path(__file__).parents[2] / "../shared/data/nlbse24-train.csv"
ISSUES = 1_500


@pytest.mark.slow
@pytest.mark.skipif(not DATA.exists(), reason=f"{DATA} is not there")
@pytest.mark.parametrize("parrot", [False, True], ids=["by the rule", "a model that repeats what it reads"])
def test_no_real_issue_crashes_the_night_or_makes_a_dirty_payload(world: World, parrot: bool) -> None:
    if parrot:
        world.stand.script = repeat
    ran = world.night("--from", str(DATA), "--limit", str(ISSUES), "--dry-run")
    assert ran.json["counts"]["seen"] == ISSUES
    assert world.stand.count >= ISSUES
    labels = [payload["body"]["labels"] for payload in ran.json["payloads"] if payload["action"] == "labels"]
    assert {name for names in labels for name in names} <= {"bug", "feature", "question"}
    comments = [payload["body"]["body"] for payload in ran.json["payloads"] if payload["action"] == "comment"]
    assert len(comments) >= ISSUES * 0.9
    assert [found for body in comments if (found := dirt(body, ["sandbox-token"]))] == []


def repeat(request: dict[str, object]) -> str:
    """Answer with the issue's own words as the reason: what a poor model does, and the dirtiest text there is."""

    title, body = issue_of(request)
    words = body[len(body) // 2 :][:600] or title
    votes = [
        {"name": "bug", "confidence": 0.9, "reason": title},
        {"name": "feature", "confidence": 0.8, "reason": words},
    ]
    return json.dumps({"labels": votes}, ensure_ascii=False)
