"""SIGKILL at every named step of a night over several repositories, alone and beside another one."""

from __future__ import annotations

import signal

import pytest

from tests.brutal import killing
from tests.brutal.test_kills import WORKERS, time_passes
from tests.conftest import LABELS
from tests.world import World
from triagebot.sandbox.repository import Repository

pytestmark = pytest.mark.slow

NAMES = ("octo/demo", "octo/two", "other/three")
PARTS = 4


def argv(world: World) -> list[str]:
    repos = [word for name in NAMES for word in ("--repo", name)]
    return ["run", "--config", str(world.folder / "config.yml"), "--workers", str(WORKERS), *repos]


@pytest.fixture
def repos(world: World) -> list[Repository]:
    for name in NAMES[1:]:
        world.hub.create_repository(name, labels=LABELS.items())
    return [world.hub.repository(name) for name in NAMES]


def fresh(world: World, repos: list[Repository]) -> None:
    """Two issues in each repository, and an empty ledger. The same texts and numbers: only the repository differs."""
    for repo in repos:
        repo.kept.clear()
    world.lose_the_ledger()
    for repo in repos:
        for n in (1, 2):
            repo.open_issue(title=f"Crash {n}", body="Error: it fails")


def settle(world: World, repos: list[Repository]) -> None:
    """The next two nights: one comment for each issue of each repository, and no night open but the killed ones."""
    time_passes(world)
    world.run(*argv(world)[3:])
    time_passes(world)
    world.night(*argv(world)[3:])
    for repo in repos:
        comments = {issue.number: len(repo.comments(issue.number)) for issue in repo.issues()}
        assert set(comments.values()) == {1}, (repo.name, comments)
    assert world.sql("SELECT count(*) FROM runs WHERE status = 'running'") == [(0,)]
    assert world.sql("SELECT count(*) FROM outbox WHERE status NOT IN ('sent', 'withdrawn')") == [(0,)]


def steps(world: World) -> list[str]:
    told = world.folder / "steps"
    process = killing.start(world.env, argv(world), tell=told)
    process.join(60)
    assert process.exitcode == 0
    return list(dict.fromkeys(told.read_text().splitlines()))


@pytest.mark.parametrize("part", range(PARTS))
def test_killed_at_any_named_step_in_any_repository_the_next_nights_serve_them_all(
    world: World, repos: list[Repository], part: int
) -> None:
    fresh(world, repos)
    names = steps(world)
    for repository in ("", "(2) ", "(3) "):
        assert f"after {repository}github.send.PostComment" in names
    for name in names[part::PARTS]:
        fresh(world, repos)
        before = world.stand.count
        process = killing.start(world.env, argv(world), die_at=name)
        process.join(60)
        assert process.exitcode == -signal.SIGKILL, name
        settle(world, repos)
        assert world.stand.count - before <= 2 * len(NAMES) + WORKERS, name


def test_killed_beside_another_one_that_goes_on(world: World, repos: list[Repository]) -> None:
    """The other one works through the same list meanwhile, and may end before or after."""
    fresh(world, repos)
    for name in steps(world)[::6]:
        fresh(world, repos)
        other = killing.start(world.env, argv(world))
        process = killing.start(world.env, argv(world), die_at=name)
        for each in (process, other):
            each.join(60)
        assert process.exitcode in (-signal.SIGKILL, 0, 1), name  # the other one may have left it nothing to do there
        assert other.exitcode in (0, 1), name
        settle(world, repos)
