"""A budget ends triage cleanly: exit 0, and what is left is said, with the oldest."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest

from tests.world import CONFIG, World
from triagebot.core.faults import ModelUnreachable
from triagebot.core.issue import Label, Snapshot
from triagebot.core.verdict import Reply, Usage
from triagebot.nightly.asking import Asker, Unanswered
from triagebot.nightly.purse import Purse
from triagebot.nightly.settings import Budget, Settings, Texts

CONFIGURED = CONFIG.replace("{issues: off, calls: off, per_author: off}", "{}")


def with_budget(world: World, budget: str, more: str = "") -> None:
    world.configure(CONFIGURED.replace("budget: {}", f"budget: {{{budget}}}") + more)


def asked(world: World) -> list[str]:
    return [json.loads(body["messages"][-1]["content"])["title"] for body in world.stand.requests]


@pytest.fixture
def six(world: World) -> list[int]:
    return [world.crash(f"Crash {n}", author=f"author-{n % 2}") for n in range(6)]


@pytest.mark.parametrize(
    ("budget", "more", "calls"),
    [
        ("issues: 2, calls: off, per_author: off", "", 2),
        ("issues: off, calls: 4, per_author: off", "", 4),
        ("issues: off, calls: off, per_author: 1", "", 2),
        ("issues: off, calls: off, per_author: off, tokens: 100", "", 1),
        ("issues: off, calls: off, per_author: off, usd: 0.01", "", 1),
    ],
    ids=["issues", "calls", "per_author", "tokens", "usd"],
)
def test_each_budget_ends_the_night_well_and_the_next_goes_on(
    world: World, six: list[int], budget: str, more: str, calls: int
) -> None:
    with_budget(world, budget, more)
    if "usd" in budget:
        priced = CONFIG.replace("deadline: 10s}", "deadline: 10s, price: {input: 100, output: 100}}")
        world.configure(priced.replace("{issues: off, calls: off, per_author: off}", f"{{{budget}}}"))
    ran = world.night("--workers", "1")
    assert world.stand.count == calls
    assert ran.json["left"] == {"issues": 6 - calls, "oldest": six[calls]}
    left = [entry["reason"] for entry in ran.json["issues"] if entry["ended"] == "left over"]
    assert all(reason.startswith("budget.") for reason in left)
    while sum(world.own_per_issue()) < 6:
        world.night("--workers", "1")
    assert world.own_per_issue() == [1] * 6
    assert world.stand.count == 6


def test_the_price_is_counted(world: World) -> None:
    world.configure(CONFIG.replace("deadline: 10s}", "deadline: 10s, price: {input: 100, output: 200}}"))
    world.crash()
    ran = world.night()
    counts = ran.json["counts"]
    assert ran.json["usd"] == round((counts["tokens_in"] * 100 + counts["tokens_out"] * 200) / 1e6, 6)
    assert " USD" in world.run("--again").out


def test_a_limit_on_the_command_line_stands_in_for_issues_and_calls(world: World, six: list[int]) -> None:
    with_budget(world, "issues: 1, calls: 1")
    ran = world.run("--limit", "4")
    assert ran.code == 0
    assert world.stand.count == 4
    assert f"left over: 2 issues, the oldest is issue {six[4]}" in ran.out


def test_an_answer_that_must_be_asked_for_again_is_counted_and_never_goes_beyond_the_budget(
    world: World, six: list[int]
) -> None:
    with_budget(world, "issues: off, calls: 3, per_author: off")
    world.stand.fault("garbage", times=2)
    world.run("--workers", "1")
    assert world.stand.count == 3


def test_where_no_second_call_is_left_a_useless_answer_is_that_issues_failure(world: World) -> None:
    number = world.crash()
    world.stand.fault("garbage")
    ran = world.run("--limit", "1", "--format", "json")
    assert ran.code == 1
    [entry] = ran.json["issues"]
    assert (entry["issue"], entry["ended"]) == (number, "failed")
    world.night()
    assert len(world.own(number)) == 1


@pytest.mark.parametrize("workers", ["1", "8"])
def test_however_many_workers_each_issue_is_asked_about_once(world: World, six: list[int], workers: str) -> None:
    world.night("--workers", workers)
    assert sorted(asked(world)) == [f"Crash {n}" for n in range(6)]
    assert world.own_per_issue() == [1] * 6


def test_untried_issues_go_before_tried_ones_and_then_the_oldest(world: World) -> None:
    now = world.hub.now()
    for n, days in enumerate((1, 3, 2)):
        world.crash(f"Crash {n}", created_at=now - timedelta(days=days))
    world.stand.fault("garbage")
    world.run("--limit", "1", "--workers", "1")
    world.night("--workers", "1")
    assert asked(world) == ["Crash 1", "Crash 2", "Crash 0", "Crash 1"]


def test_after_a_lost_ledger_the_newest_go_first(world: World) -> None:
    now = world.hub.now()
    for n in range(4):
        world.crash(f"Crash {n}", created_at=now - timedelta(days=4 - n))
    world.night("--issue", "2")
    world.lose_the_ledger()
    world.night("--workers", "1")
    assert asked(world) == ["Crash 1", "Crash 3", "Crash 2", "Crash 0"]


# --- the purse by itself


class Scripted:
    """A model that answers what it is told to."""

    def __init__(self, *answers: object) -> None:
        self.answers = list(answers)

    def ask(self, question: object) -> Reply:
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        envelope = {"choices": [{"message": {"content": answer}, "finish_reason": "stop"}]}
        return Reply(envelope=envelope, usage=Usage(requests=1, tokens_in=10, tokens_out=1), model="scripted")


def asker(purse: Purse, *answers: object) -> Asker:
    from triagebot.core.issue import Identity, Repository
    from triagebot.nightly.place import Place

    bug = Label(name="bug")
    place = Place(
        repository=Repository(id=1, name="octo/demo"),
        identity=Identity(login="bot", id=1),
        known=("bug",),
        usable=(bug,),
    )
    return Asker(Scripted(*answers), place, Settings(texts=Texts(system="{{labels}}", comment=str)), purse)


def snapshot(world_time: Any) -> Snapshot:
    return Snapshot(
        repo_id=1, number=1, node="I", title="It crashes", body="", author=None, association="NONE",
        created_at=world_time,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("answers", "fault", "requests"),
    [
        (("garbage", '{"labels": []}'), None, 2),
        (("garbage", "garbage"), Unanswered, 2),
        (("garbage", ModelUnreachable("gone", requests=3)), ModelUnreachable, 4),
    ],
)
def test_the_purse_knows_of_every_call_the_moment_it_is_over(
    world: World, answers: tuple[object, ...], fault: type[Exception] | None, requests: int
) -> None:
    purse, bill = Purse(Budget(calls=10)), []
    assert purse.admit() is None
    asking = asker(purse, *answers)
    if fault is None:
        asking.ask(snapshot(world.hub.now()), bill)
    else:
        with pytest.raises(fault):
            asking.ask(snapshot(world.hub.now()), bill)
    assert purse.spent.requests == requests
    assert sum(usage.requests for usage in bill) == requests
    admitted = 0
    while purse.admit() is None:
        admitted += 1
    assert admitted == 10 - requests, "nothing stays reserved"
