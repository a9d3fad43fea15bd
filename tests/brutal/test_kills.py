"""SIGKILL at every named step and at any instant, with one, two and four processes: one comment each, all the same."""

from __future__ import annotations

import random
import signal
import sqlite3
from collections.abc import Iterator

import pytest

from tests.brutal import killing
from tests.world import World
from triagebot.core import key
from triagebot.core.marker import Marker, read
from triagebot.sandbox.hub import BOT

pytestmark = pytest.mark.slow

WORKERS = 2
ROUNDS = 200
PARTS = 8


def argv(world: World) -> list[str]:
    return ["run", "--config", str(world.folder / "config.yml"), "--workers", str(WORKERS)]


def prepare(world: World) -> None:
    """A repository with a history: an edited issue, a twin, a deleted comment, a reopened issue, and new ones."""
    for n in range(1, 6):
        world.repo.open_issue(title=f"Crash {n}", body="Error: it fails")
    world.night()
    world.repo.edit_issue(1, title="How do I install it?", body="What is the way?")
    world.repo.comment(2, world.own(2)[0].body, by=BOT)
    world.repo.delete_comment(world.own(3)[0].id)
    world.repo.close(4)
    world.repo.edit_issue(4, body="Error: another one")
    world.repo.reopen(4)
    for n in range(6, 9):
        world.repo.open_issue(title=f"Crash {n}", body="Error: it fails")


def expected(number: int) -> int:
    """How many comments of ours should stand: on issue 3 a person deleted it."""
    return 0 if number == 3 else 1


def time_passes(world: World) -> None:
    """Whoever died is given up: leases and settle times are over."""
    ledger = sqlite3.connect(world.ledger)
    with ledger:
        ledger.execute("UPDATE runs SET lease_until = 0 WHERE status = 'running'")
        ledger.execute("UPDATE outbox SET lease_until = 0 WHERE status = 'sending'")
    ledger.close()


def settle(world: World) -> None:
    time_passes(world)
    world.run()
    time_passes(world)
    world.night()
    for issue in world.repo.issues():
        own = world.own(issue.number)
        assert len(own) == expected(issue.number), issue.number
        for comment in own:
            marker = read(comment.body)
            assert isinstance(marker, Marker)
            assert marker.digest == key.digest(issue.title, issue.body)


def steps(world: World) -> Iterator[str]:
    """The names of all steps of a night over `prepare`, in their order, each once."""
    told = world.folder / "steps"
    process = killing.start(world.env, argv(world), tell=told)
    process.join(60)
    assert process.exitcode == 0
    yield from dict.fromkeys(told.read_text().splitlines())


@pytest.mark.parametrize("part", range(4))
def test_killed_at_any_named_step_the_next_nights_bring_every_issue_to_its_one_comment(
    world: World, part: int, request: pytest.FixtureRequest
) -> None:
    prepare(world)
    names = list(steps(world))
    assert len(names) >= 40, names
    assert {name for name in names if "send" in name} >= {
        "after github.send.PostComment",
        "after github.send.AddLabels",
        "after github.send.EditComment",
        "after github.send.DeleteComment",
    }
    for name in names[part::4]:
        fresh(world)
        before = world.stand.count
        process = killing.start(world.env, argv(world), die_at=name)
        process.join(60)
        assert process.exitcode == -signal.SIGKILL, name
        settle(world)
        assert world.stand.count - before <= 5 + WORKERS, name


def fresh(world: World) -> None:
    """The same repository anew, as `prepare` leaves it, with an empty ledger of its own."""
    world.repo.kept.clear()
    world.lose_the_ledger()
    prepare(world)


@pytest.mark.parametrize("part", range(PARTS))
def test_killed_at_any_instant_alone_or_in_company(world: World, part: int) -> None:
    """200 rounds over all parts: 1, 2 and 4 processes, each killed after a random time."""
    dice = random.Random(part)
    for turn in range(ROUNDS // PARTS):
        fresh(world)
        before = world.stand.count
        number = (1, 2, 4)[turn % 3]
        processes = [killing.start(world.env, argv(world)) for _ in range(number)]
        for process in processes:
            process.join(dice.uniform(0.0, 0.5))
            process.kill()
        for process in processes:
            process.join(60)
        settle(world)
        assert world.stand.count - before <= 5 + WORKERS * number
