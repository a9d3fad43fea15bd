"""One PostgreSQL and eight processes, as on eight hosts: killed, and their server restarted under them."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Iterator
from multiprocessing.context import ForkServerProcess
from typing import Any

import psycopg
import pytest

from tests.brutal import killing
from tests.ledger import servers
from tests.world import World
from triagebot.core import key, marker
from triagebot.core.marker import Marker
from triagebot.sandbox.hub import BOT
from triagebot.sandbox.repository import Repository

pytestmark = [pytest.mark.slow, pytest.mark.skipif(bool(servers.ELSEWHERE), reason="restarts its server")]

ISSUES = int(os.environ.get("TRIAGEBOT_TEST_ISSUES", "250"))
REPOSITORIES, PROCESSES, WORKERS = 4, 8, 4
KILLS = 12
PATIENCE = 1500.0
CONFIG = """
select: {horizon: off}
budget: {issues: off, calls: off, per_author: off}
delivery: {settle: 0s, per_second: off, per_hour: off}
model: {timeout: 5s, deadline: 5s}
lease: 10s
"""


@pytest.fixture
def server() -> Iterator[Any]:
    with servers.own() as made:
        yield made


@pytest.fixture
def repositories(world: World) -> list[Repository]:
    made = []
    for n in range(REPOSITORIES):
        repo = world.hub.create_repository(f"octo/many-{n}", labels=[("bug", "Something is broken")])
        for issue in range(ISSUES):
            repo.open_issue(title=f"Crash {issue} of {n}", body="Error: it fails")
        made.append(repo)
    return made


def own(repo: Repository, number: int) -> list[Any]:
    return [c for c in repo.comments(number) if c.author.login == BOT and marker.read(c.body)]


def unanswered(repositories: list[Repository]) -> dict[str, int]:
    return {r.full_name: sum(not own(r, issue.number) for issue in r.issues()) for r in repositories}


class Hosts:
    """Keeps a process at work on each repository twice over; kills one now and then."""

    def __init__(self, world: World, repositories: list[Repository], address: str) -> None:
        self.world = world
        self.dice = random.Random(20261201)
        self.env = {**world.env, "TRIAGEBOT_LEDGER": address}
        self.argv = ["run", "--config", str(world.folder / "config.yml"), "--workers", str(WORKERS)]
        self.names = [repositories[n % REPOSITORIES].full_name for n in range(PROCESSES)]
        self.at_work = [self.start(name) for name in self.names]
        self.kills = 0
        self.nights = PROCESSES

    def start(self, name: str) -> ForkServerProcess:
        return killing.start({**self.env, "GITHUB_REPOSITORY": name}, self.argv)

    def kill_one(self) -> None:
        alive = [process for process in self.at_work if process.is_alive()]
        if alive:
            self.dice.choice(alive).kill()
            self.kills += 1

    def go_on(self, open_: set[str]) -> None:
        """Start anew whatever has ended while its repository still has issues without a comment."""
        for n, process in enumerate(self.at_work):
            if not process.is_alive() and self.names[n] in open_:
                process.join()
                self.at_work[n] = self.start(self.names[n])
                self.nights += 1

    def end(self) -> None:
        for process in self.at_work:
            process.kill()
            process.join()


def time_passes(address: str) -> None:
    """Whoever died is given up."""
    with psycopg.connect(address) as connection:
        connection.execute("UPDATE triagebot.runs SET lease_until = 0 WHERE status = 'running'")
        connection.execute("UPDATE triagebot.outbox SET lease_until = 0 WHERE status = 'sending'")


def last_nights(hosts: Hosts, address: str) -> None:
    for _ in range(2):
        time_passes(address)
        for name in hosts.names[:REPOSITORIES]:
            process = hosts.start(name)
            process.join(300)
            assert process.exitcode == 0, name


def test_eight_processes_bring_a_thousand_issues_to_one_comment_each(
    world: World, repositories: list[Repository], server: Any, request: pytest.FixtureRequest
) -> None:
    world.configure(CONFIG)
    world.stand.latency = 0.2
    wanted, address = ISSUES * REPOSITORIES, server.get_uri()
    restarts: list[tuple[float, Callable[[], None]]] = [
        (0.3, lambda: servers.stop(server, "fast")),
        (0.6, lambda: servers.stop(server, "immediate")),
    ]
    began = time.monotonic()
    hosts = Hosts(world, repositories, address)
    try:
        while sum((left := unanswered(repositories)).values()):
            done = wanted - sum(left.values())
            assert time.monotonic() - began < PATIENCE, f"{done} of {wanted} after {hosts.nights} nights"
            if restarts and done > restarts[0][0] * wanted:
                restarts.pop(0)[1]()
                server.ensure_postgres_running()
            if hosts.kills < KILLS and done > (hosts.kills + 1) * wanted / (KILLS + 2):
                hosts.kill_one()
            hosts.go_on({name for name, issues in left.items() if issues})
            time.sleep(0.2)  # between two looks at processes that run by themselves
    finally:
        hosts.end()
    took, calls = time.monotonic() - began, world.stand.count
    last_nights(hosts, address)
    for repo in repositories:
        for issue in repo.issues():
            (comment,) = own(repo, issue.number)
            read = marker.read(comment.body)
            assert isinstance(read, Marker)
            assert read.digest == key.digest(issue.title, issue.body)
    told = f"{wanted} issues, {hosts.kills} kills, 2 restarts, {hosts.nights} nights, {took:.0f} s, {calls} calls"
    print(told)  # noqa: T201 - what a run with -s is for
    assert hosts.kills == KILLS
    assert world.stand.count - wanted <= WORKERS * (KILLS + 2), told
