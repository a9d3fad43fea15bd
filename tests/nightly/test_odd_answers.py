"""Whole nights with a model that answers as models and their servers do: no crash, no call for nothing."""

from __future__ import annotations

import dataclasses
import json
import random

import pytest

from tests.world import CONFIG, World
from triagebot.core import policy
from triagebot.core.issue import Label
from triagebot.core.verdict import Vote
from triagebot.sandbox import faults
from triagebot.sandbox.model_rule import labels_of

BUG = {"name": "bug", "confidence": 0.9, "reason": "it crashes"}
WHOLE = json.dumps({"labels": [BUG]})

READABLE = {
    "bare": WHOLE,
    "fence": f"```json\n{WHOLE}\n```",
    "open fence": f"```json\n{WHOLE}",
    "list": '["bug"]',
    "prose before": f"Looking at this...\n{WHOLE}",
    "prose after": f"{WHOLE}\n\nI hope that this helps!",
    "reasoning": f'<think>maybe {{"labels":["question"]}}</think>{WHOLE}',
    "reasoning without a start": f'maybe {{"labels":["question"]}}</think>\n{WHOLE}',
    "two drafts": f'{{"labels": ["question"]}} no, rather {WHOLE}',
    "more than asked": json.dumps(
        {"labels": [BUG], "duplicate_of": 1, "issue": 7, "comment": "@all", "state": "closed"}
    ),
    "percent": json.dumps({"labels": [BUG | {"confidence": 90}]}),
    "an unknown beside": json.dumps({"labels": [BUG, BUG | {"name": "urgent-p0"}, BUG | {"name": "good-first-issue"}]}),
    "split words beside": json.dumps({"labels": ["good", "first", "issue", "bug"]}),
    "spelt otherwise": json.dumps({"labels": [":bug: Bug"]}),
    "half a pair": '{"labels": [{"name": "bug", "confidence": 1, "reason": "a\\ud83db"}]}',
}


@pytest.mark.parametrize("said", READABLE.values(), ids=READABLE)
def test_one_answer_is_read_in_one_call_however_it_is_wrapped(world: World, said: str) -> None:
    number = world.crash()
    world.stand.script = lambda _: said
    before = len(world.repo.labels())
    world.night()
    assert world.repo.issue(number).labels == ["bug"]
    assert len(world.own(number)) == 1
    assert world.stand.count == 1
    assert len(world.repo.labels()) == before, "no label is made"


FINAL = ("choices-empty", "choices-null", "choices-missing", "message-null", "refusal", "content-filter", "filtered",
         "flagged", "context-length", "context-words", "413", "list", "word")  # fmt: skip
SECOND = ("content-null", "reasoning-only", "length", "garbage")


@pytest.mark.parametrize("fault", FINAL)
def test_what_will_not_be_answered_costs_one_call_and_no_word(world: World, fault: str) -> None:
    number = world.crash()
    other = world.crash(title="Error two")
    world.stand.fault(fault)
    world.night()
    world.night("--day", "2021-01-01")
    labelled = [world.repo.issue(n).labels for n in (number, other)]
    assert sorted(labelled) == [[], ["bug"]], "the other issue is answered"
    assert world.stand.count == 2
    assert sorted(world.own_per_issue()) == [0, 1]


@pytest.mark.parametrize("fault", SECOND)
def test_a_useless_answer_costs_one_changed_second_call_and_three_tries_at_most(world: World, fault: str) -> None:
    number = world.crash()
    world.stand.fault(fault, times=None)
    for day in range(1, 6):
        world.run("--day", f"2021-01-0{day}")
    assert world.stand.count == 6, "three tries of two calls, and then it is given up"
    first, second = world.stand.requests[:2]
    assert first["messages"][-1] == second["messages"][-1]
    assert first["messages"][0] != second["messages"][0]
    assert world.own(number) == []


@pytest.mark.parametrize("fault", SECOND)
def test_a_useless_answer_that_the_second_mends_is_no_failure(world: World, fault: str) -> None:
    number = world.crash()
    world.stand.fault(fault)
    world.night()
    assert (world.stand.count, len(world.own(number))) == (2, 1)


@pytest.mark.parametrize(
    "names",
    [
        ["good-first-issue"],
        ["urgent-p0"],
        ["good", "first", "issue"],
        ["bug,question"],
        ["", "x" * 300],
        ["bug\nquestion"],
    ],
)
def test_names_that_are_no_labels_end_as_nothing_fits_and_are_not_asked_about_again(
    world: World, names: list[str]
) -> None:
    world.crash()
    before = {label.name for label in world.repo.labels()}
    world.stand.script = lambda _: json.dumps({"labels": names})
    world.night()
    world.night()
    world.night("--day", "2021-01-01")
    assert world.stand.count == 1
    assert world.hub.writes() == []
    assert {label.name for label in world.repo.labels()} == before


def test_a_label_that_is_deleted_while_its_answer_waits_is_left_out_and_not_made_again(world: World) -> None:
    number = world.crash()
    before = {label.name for label in world.repo.labels()}
    world.stand.script = lambda _: json.dumps({"labels": [BUG, BUG | {"name": "question"}]})
    world.hub.faults.add(faults.answers(faults.ANY_WRITE, 503), times=None)
    world.run("--day", "2021-01-01")
    world.hub.faults.clear()
    world.repo.remove_label("question")
    world.night("--day", "2021-01-02")
    world.night("--day", "2021-01-03")
    assert world.repo.issue(number).labels == ["bug"]
    assert {label.name for label in world.repo.labels()} == before - {"question"}
    [own] = world.own(number)
    assert "question" not in own.body
    assert world.stand.count == 1


def test_a_repository_without_labels_ends_before_the_first_call(world: World) -> None:
    world.crash()
    for label in world.repo.labels():
        world.repo.remove_label(label.name)
    assert world.run().code == 2
    assert world.stand.count == 0


@pytest.mark.parametrize(
    ("formats", "tokens", "wording"),
    [
        ({"json_schema", "text"}, {"max_tokens"}, "string"),
        ({"json_object", "text"}, {"max_tokens"}, "words"),
        ({"json_object", "text"}, {"max_completion_tokens"}, "object"),
        ({"text"}, {"max_completion_tokens"}, "500"),
        ({"text"}, {"max_tokens"}, "string"),
    ],
)
def test_what_a_server_does_not_take_is_learnt_once_a_night(
    world: World, formats: set[str], tokens: set[str], wording: str
) -> None:
    for n in range(5):
        world.crash(title=f"Error {n}")
    world.stand.formats, world.stand.tokens, world.stand.wording = frozenset(formats), frozenset(tokens), wording
    world.night()
    assert world.own_per_issue() == [1] * 5
    assert world.stand.count <= 5 + 3


def test_the_order_of_the_labels_changes_no_choice_and_each_is_shown_with_its_meaning(world: World) -> None:
    world.crash()
    world.night()
    system = world.stand.requests[0]["messages"][0]["content"]
    for label in world.repo.labels():
        assert json.dumps({"name": label.name, "description": label.description}, ensure_ascii=False) in system
    labels = [Label(name=name) for name in ("bug", "docs", "✨ feature", "area/ui", "good first issue")]
    votes = [Vote(name="Feature", confidence=0.9), Vote(name="bug", confidence=0.9), Vote(name="docs", confidence=0.7)]
    rules = policy.LabelPolicy(max=2)
    chosen = policy.choose(rules, labels, votes)
    for seed in range(20):
        random.Random(seed).shuffle(labels)
        assert policy.choose(rules, labels, votes) == chosen


def test_the_order_in_which_the_labels_are_listed_changes_no_question_and_no_answer(world: World) -> None:
    """Held also for a model that always takes the first label it is shown."""
    number = world.crash()
    world.stand.script = lambda request: json.dumps({"labels": labels_of(request)[:1]})
    world.night()
    chosen = world.repo.issue(number).labels
    world.hub.faults.add(
        faults.Fault(
            name="another order",
            on=faults.GET_LABELS,
            stored=True,
            answer=lambda truth: dataclasses.replace(truth, body=json.dumps(truth.json[::-1]).encode()),
        ),
        times=None,
    )
    world.night("--again", "--issue", str(number))
    first, second = world.stand.requests
    assert first == second
    assert world.repo.issue(number).labels == chosen
    assert len(chosen) == 1


# --- the way to the model


@pytest.mark.parametrize("fault", ["hang", "trickle"])
def test_a_server_that_never_ends_an_answer_cannot_hold_the_night(world: World, fault: str) -> None:
    world.crash()
    world.configure(f"{CONFIG.replace('timeout: 5s, deadline: 10s', 'timeout: 1s, deadline: 2s, attempts: 2')}")
    world.stand.fault(fault, times=None)
    ran = world.run("--deadline", "5s")
    assert ran.code in (0, 1)
    assert world.stand.count <= 2
    world.stand.clear()
    world.stand.release()


def test_patience_has_an_end_also_where_nothing_is_configured() -> None:
    from triagebot.model.endpoint import Endpoint

    endpoint = Endpoint(name="m")
    assert endpoint.timeout <= endpoint.deadline <= 300
    assert endpoint.attempts <= 5


def test_a_label_that_is_deleted_in_mid_night_is_left_out_and_not_made_again(world: World) -> None:
    """Also after the night has read the label list: GitHub makes a label of any name that is added."""
    number, other = world.crash(), world.crash(title="Error two")
    before = {label.name for label in world.repo.labels()}

    def answer(_: object) -> str:
        if world.stand.count == 1:
            world.repo.remove_label("question")
        return json.dumps({"labels": [BUG, BUG | {"name": "question"}]})

    world.stand.script = answer
    for day in ("2021-01-01", "2021-01-01", "2021-01-02"):
        world.night("--day", day)
    assert [world.repo.issue(n).labels for n in (number, other)] == [["bug"], ["bug"]]
    assert {label.name for label in world.repo.labels()} == before - {"question"}
    assert (world.stand.count, world.own_per_issue()) == (2, [1, 1])
    assert "question" not in "".join(c.body for n in (number, other) for c in world.own(n))
