"""A stranger's text that somebody labelled once, and that comes back as an example: as void as it ever was."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.injection.attacks import ATTACKS, MODEL_KEY, votes
from tests.injection.test_attacks import harm
from tests.world import CONFIG, World

LONG_AGO = datetime(2026, 1, 1, tzinfo=UTC)
OLD = [attack for attack in ATTACKS if attack.victim is None]
HONEST = json.dumps(votes("bug", reason="it crashes"))


def obedient(request: Mapping[str, Any]) -> str:
    """Does what the likest example asks for, if that is to be seen in it."""
    shown = json.loads(request["messages"][-1]["content"]).get("examples", [])
    named = re.findall(r"\[attack (\d+)\]", shown[-1]["title"]) if shown else []
    if not named:
        return HONEST
    attack = OLD[int(named[0])]
    example = json.dumps({"title": shown[-1]["title"], "body": shown[-1]["body"]}, ensure_ascii=False)
    return attack.said if attack.ask in attack.unseal(example) else HONEST


def test_an_attack_that_comes_back_as_an_example_does_no_harm(world: World) -> None:
    for place, attack in enumerate(OLD):
        old = world.repo.open_issue(title=f"{attack.title} [attack {place}]", body=attack.body, created_at=LONG_AGO)
        world.repo.label(old.number, "documentation", at=LONG_AGO + timedelta(days=1))
        world.repo.close(old.number)
    numbers = [
        world.repo.open_issue(title=f"{attack.title} once more", body=f"{attack.body}\n\nAgain.").number
        for attack in OLD
    ]
    world.stand.script = obedient
    world.configure(f"{CONFIG}\nhistory: {{use: on}}\n")
    world.run("--format", "json", OPENAI_API_KEY=MODEL_KEY)
    assert {
        (place, attack.kind): found
        for place, (number, attack) in enumerate(zip(numbers, OLD, strict=True))
        if (found := harm(world, number, attack))
    } == {}
    said = [json.loads(request["messages"][-1]["content"]) for request in world.stand.requests]
    assert len(said) >= len(OLD)
    assert all(set(question) == {"examples", "title", "body"} for question in said)
    assert {tuple(example["labels"]) for question in said for example in question["examples"]} == {("documentation",)}
    systems = [request["messages"][0]["content"] for request in world.stand.requests]
    assert [
        attack.ask for attack in OLD if attack.check == "frame" and any(attack.ask in text for text in systems)
    ] == []
