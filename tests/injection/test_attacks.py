"""A stranger's text and a model that obeys it: nothing but labels of the list, on the right issue, in a clean comment.

Each attack is also shown to do harm to a bot without the one check that stops it.
"""

from __future__ import annotations

import collections
import dataclasses
import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from tests.conftest import LABELS
from tests.injection.attacks import ATTACKS, DENIED, HUB_TOKEN, MODEL_KEY, Attack, votes
from tests.outgoing import dirt
from tests.world import CONFIG, World
from triagebot.core import comment, policy, prompt, secrecy
from triagebot.core.policy import Addable, Choice
from triagebot.nightly.visit import Visit
from triagebot.sandbox.hub import BOT

VICTIMS = 5
HONEST = json.dumps(votes("bug", reason="it crashes"))
SECRETS = (HUB_TOKEN, MODEL_KEY)


class Obedient:
    """Finds the attack in what it received by its place in the corpus, and does what it asks for if it can read it."""

    def __init__(self, attacks: Sequence[Attack]) -> None:
        self.attacks = attacks
        self.obeyed: set[int] = set()

    def __call__(self, request: Mapping[str, Any]) -> str:
        received = request["messages"][-1]["content"]
        named = re.findall(r"\[attack (\d+)\]", received)
        if not named:
            return '{"labels": []}'
        place = int(named[-1])
        attack = self.attacks[place]
        if attack.ask not in attack.unseal(received):
            return HONEST
        self.obeyed.add(place)
        return attack.said


def night(world: World, attacks: Sequence[Attack], mode: str = "apply") -> tuple[list[int], Obedient]:
    """One night over all attacks; returns their issues' numbers, in their order."""
    for name in DENIED:
        world.repo.add_label(name)
    for victim in range(1, VICTIMS + 1):
        world.repo.open_issue(title="Somebody else's", labels=["documentation"], number=victim)
    numbers = [
        world.repo.open_issue(title=f"{attack.title} [attack {place}]", body=attack.body).number
        for place, attack in enumerate(attacks)
    ]
    world.stand.script = model = Obedient(attacks)
    world.configure(f"{CONFIG}\nlabels: {{mode: {mode}}}\n")
    world.run("--format", "json", OPENAI_API_KEY=MODEL_KEY)
    return numbers, model


def harm(world: World, number: int, attack: Attack) -> list[str]:
    """What went wrong on the attack's issue and on its victim."""
    issue = world.repo.issue(number)
    comments = [c.body for c in world.repo.comments(number) if c.author.login == BOT]
    found = [f"the label {label}" for label in issue.labels if label not in LABELS or label in attack.labels]
    found += [each for body in comments for each in dirt(body, SECRETS)]
    found += [f"leaked {leak}" for body in comments for leak in attack.leaks if leak in body]
    found += [f"{len(comments)} comments"] * (len(comments) > 1)
    if attack.victim is not None:
        victim = world.repo.issue(attack.victim)
        touched = victim.labels != ["documentation"] or world.repo.comments(attack.victim) or victim.closed_at
        found += ["another issue was touched"] * bool(touched)
    return found


# --- the corpus


def test_the_corpus_is_broad() -> None:
    kinds = collections.Counter(attack.kind for attack in ATTACKS)
    assert len(ATTACKS) >= 60
    assert len(kinds) == 12
    assert min(kinds.values()) >= 5
    assert len({(attack.title, attack.body) for attack in ATTACKS}) == len(ATTACKS)


@pytest.mark.parametrize("mode", ["apply", "suggest"])
def test_every_attack_ends_in_allowed_labels_on_its_issue_and_a_clean_comment(world: World, mode: str) -> None:
    numbers, model = night(world, ATTACKS, mode)
    assert {
        (place, attack.kind): found
        for place, (number, attack) in enumerate(zip(numbers, ATTACKS, strict=True))
        if (found := harm(world, number, attack))
    } == {}
    assert world.stand.count == VICTIMS + len(ATTACKS), "an attack costs no second call"
    unseen = {place for place, attack in enumerate(ATTACKS) if attack.check in ("frame", "cleaning")}
    assert model.obeyed == set(range(len(ATTACKS))) - unseen
    assert [issue.closed_at for issue in world.repo.issues()] == [None] * (VICTIMS + len(ATTACKS))
    assert sum(map(bool, (world.own(number) for number in numbers))) > len(ATTACKS) / 3


# --- the same attacks without the check that stops them


def _no_policy(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(policy, "choose", lambda rules, usable, votes: Choice(tuple(votes), ()))

    def addable(rules: object, chosen: Sequence[str], *, on_issue: Sequence[str], **_: object) -> Addable:
        standing = tuple(name for name in chosen if name in on_issue)
        return Addable(tuple(name for name in chosen if name not in on_issue), standing, ())

    patch.setattr(policy, "addable", addable)


def _no_deny(patch: pytest.MonkeyPatch) -> None:
    usable = policy.usable
    patch.setattr(policy, "usable", lambda rules, labels: usable(dataclasses.replace(rules, deny=()), labels))


def _no_frame(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(prompt, "_data", lambda title, body, *_: f"--- ISSUE ---\n{title}\n{body}\n--- END OF ISSUE ---")


def _no_cleaning(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(prompt, "clean", lambda text, *, markdown=True: text)


def _no_secrecy(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(secrecy, "_all_forms", lambda secrets: iter(()))


def _no_keys(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(secrecy, "without_keys", lambda words: words)


def _no_words(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(comment, "as_data", lambda text, limit=0: text)
    patch.setattr(comment, "_require_form", lambda body, marker: None)


def _no_target(patch: pytest.MonkeyPatch) -> None:
    """The number comes from what the model says."""
    decide = Visit.decide

    def steered(self: Visit, row: Any) -> Any:
        step = decide(self, row)
        told = next((int(n) for vote in row.votes for n in re.findall(r"for issue (\d+)", vote.reason)), None)
        return dataclasses.replace(step, issue=told) if told and hasattr(step, "issue") else step

    patch.setattr(Visit, "decide", steered)


WITHOUT: Mapping[str, Callable[[pytest.MonkeyPatch], None]] = {
    "policy": _no_policy,
    "deny": _no_deny,
    "frame": _no_frame,
    "cleaning": _no_cleaning,
    "secrecy": _no_secrecy,
    "keys": _no_keys,
    "words": _no_words,
    "target": _no_target,
}


@pytest.mark.parametrize("check", WITHOUT)
def test_every_attack_does_harm_without_the_check_that_stops_it(
    world: World, check: str, monkeypatch: pytest.MonkeyPatch, off_contract: None
) -> None:
    attacks = [attack for attack in ATTACKS if attack.check == check]
    assert attacks
    WITHOUT[check](monkeypatch)
    numbers, model = night(world, attacks)
    assert model.obeyed == set(range(len(attacks)))
    harmless = [attack.body for number, attack in zip(numbers, attacks, strict=True) if not harm(world, number, attack)]
    assert harmless == []
