"""What whole nights are measured on: the embedded GitHub and model in one process, the program in another.

What a night takes is then its own: the servers share neither its memory nor its interpreter lock with it.
Times are `time.monotonic()`, which is one clock for all processes of a machine.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from triagebot.core.key import digest
from triagebot.core.text import canonical

REPO = "octo/demo"

CONFIG = """
select: {horizon: off}
budget: {issues: off, calls: off, per_author: off}
delivery: {settle: 0s, per_second: off, per_hour: off}
history: {use: "off"}
"""
"""No bound that a measurement would meet, and no pace."""

# The kernel's own mark of the most memory that the process ever held. What `getrusage` tells a parent of
# its child begins at the parent's size, for the mark before `exec` counts there.
_PROGRAM = """
import pathlib, sys
from triagebot.cli.main import main
code = main(sys.argv[2:])
pathlib.Path(sys.argv[1]).write_text(pathlib.Path("/proc/self/status").read_text())
sys.exit(code)
"""


_LONGEST = 3600.0
"""Seconds after which a night that does not end is given up."""


class NotNight(Exception):
    """A night of the program did not end well, so nothing was measured."""


# --- the servers


@dataclass(frozen=True, kw_only=True)
class Traffic:
    """What reached the servers since the last time that it was asked for: times, oldest first."""

    github: list[tuple[float, str, bool]] = field(default_factory=list)
    """Of each request to GitHub: when it had been dealt with, what it was, and whether it was a write."""
    answers: list[float] = field(default_factory=list)
    """When the model answered."""

    @property
    def writes(self) -> list[float]:
        return [at for at, _, is_write in self.github if is_write]


class _Servers:
    """Runs in the process of the servers; its public methods are what `Ground` can ask for."""

    def __init__(self, latency: float, github_latency: float) -> None:
        from tests.conftest import LABELS
        from triagebot.sandbox import model_rule
        from triagebot.sandbox.hub import Hub
        from triagebot.sandbox.model import Stand

        self.traffic = Traffic()
        self.hub = Hub()
        self.hub.observers.append(self._saw)
        if github_latency:
            self.hub.on_request = lambda call: time.sleep(github_latency)
        self.repo = self.hub.create_repository(REPO, labels=LABELS.items())
        self.rule: Callable[..., dict[str, Any]] = model_rule.answer
        self.stand = Stand(latency=latency, answer=self._answer)

    def _saw(self, exchange: Any) -> None:
        call = exchange.call
        name = call.operation if call.is_graphql else f"{call.method} {call.path}"
        self.traffic.github.append((time.monotonic(), name, call.is_write))

    def _answer(self, labels: Any, title: str, body: str) -> dict[str, Any]:
        self.traffic.answers.append(time.monotonic())
        return self.rule(labels, title, body)

    def open(self, count: int, size: int, answered: bool) -> None:
        """Open issues that the model calls bugs, of `size` characters; `answered`: by a night that is forgotten."""
        from triagebot.sandbox.hub import BOT

        first = max(self.repo.kept, default=0) + 1
        for number in range(first, first + count):
            title, body = f"Crash number {number} at the start", text(number, size)
            self.repo.open_issue(title=title, body=body, author=f"user-{number % 97}", number=number)
            if answered:
                marker = f"<!-- triagebot v1 triage:2026-01-01:{digest(canonical(title), canonical(body))} -->"
                self.repo.label(number, "bug", by=BOT)
                self.repo.comment(number, f"{marker}\nSuggested.", by=BOT)

    def seen(self) -> Traffic:
        seen, self.traffic = self.traffic, Traffic()
        return seen

    def comments(self) -> list[int]:
        return [len(issue.comments) for issue in self.repo.issues()]


def text(number: int, size: int) -> str:
    """A report of about `size` characters, like no other one."""
    line = f"Error {number}: it fails at step {number % 7}, and the log goes on.\n"
    return (line * (size // len(line) + 1))[:size]


def _serve(pipe: Connection, latency: float, github_latency: float) -> None:
    from triagebot.sandbox import github, model, server

    house = _Servers(latency, github_latency)
    with server.serve(github.app(house.hub)) as github_url, server.serve(model.app(house.stand)) as model_url:
        pipe.send((github_url, f"{model_url}/v1"))
        while True:
            try:
                name, args = pipe.recv()
            except EOFError:  # whoever measured is gone
                return
            pipe.send(getattr(house, name)(*args))


# --- the program


@dataclass(frozen=True, kw_only=True)
class Night:
    """One night of the program, from the start of its process to its end."""

    began: float
    ended: float
    counts: Mapping[str, int]
    peak_mb: float | None
    """The most memory that it ever held, in units of 1,000,000 bytes; `None` where the system does not tell."""
    traffic: Traffic

    @property
    def seconds(self) -> float:
        return self.ended - self.began


@dataclass
class Ground:
    """One repository on the servers, and nights over it, all with the same ledger until it is lost."""

    folder: Path
    urls: tuple[str, str]
    pipe: Connection

    def open(self, count: int, *, size: int = 400, answered: bool = False) -> None:
        self._ask("open", count, size, answered)

    def comments(self) -> list[int]:
        """How many comments each issue has."""
        counts: list[int] = self._ask("comments")
        return counts

    def seen(self) -> Traffic:
        """What reached the servers since this was asked for last."""
        traffic: Traffic = self._ask("seen")
        return traffic

    def night(self, *argv: str, config: str = CONFIG, **environ: str) -> Night:
        """Raises `NotNight` unless it ends with code 0."""
        (self.folder / "config.yml").write_text(config, encoding="utf-8")
        self.seen()
        status = self.folder / "status"
        words = [sys.executable, "-c", _PROGRAM, str(status), "run", "--format", "json"]
        began = time.monotonic()
        ran = subprocess.run(
            [*words, "--config", str(self.folder / "config.yml"), *argv],
            env=self._environ() | environ,
            capture_output=True,
            text=True,
            check=False,
            timeout=_LONGEST,
        )
        ended = time.monotonic()
        if ran.returncode != 0:
            raise NotNight(f"a night ended with code {ran.returncode}:\n{ran.stderr}\n{ran.stdout[-2000:]}")
        counts = json.loads(ran.stdout)["counts"]
        return Night(began=began, ended=ended, counts=counts, peak_mb=_peak(status), traffic=self.seen())

    def lose_the_ledger(self) -> None:
        for file in self.folder.glob("ledger.db*"):
            file.unlink()

    def _ask(self, name: str, *args: object) -> Any:
        self.pipe.send((name, args))
        return self.pipe.recv()

    def _environ(self) -> dict[str, str]:
        ours = ("GITHUB_", "OPENAI_", "TRIAGEBOT_", "XDG_")
        kept = {n: v for n, v in os.environ.items() if not n.startswith(ours) and not n.upper().endswith("_PROXY")}
        return kept | {
            "GITHUB_API_URL": self.urls[0],
            "GITHUB_TOKEN": "sandbox-token",
            "GITHUB_REPOSITORY": REPO,
            "OPENAI_BASE_URL": self.urls[1],
            "TRIAGEBOT_MODEL": "stand-in",
            "TRIAGEBOT_LEDGER": str(self.folder / "ledger.db"),
            "XDG_STATE_HOME": str(self.folder),
        }


@contextmanager
def ground(folder: Path, *, latency: float = 0.0, github_latency: float = 0.0) -> Iterator[Ground]:
    """Servers of their own; each answer of the model takes `latency` seconds more, each of GitHub `github_latency`."""
    folder.mkdir(parents=True)
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(
        target=_serve, args=(theirs, latency, github_latency), name="bench-servers", daemon=True
    )
    process.start()
    theirs.close()
    try:
        yield Ground(folder, ours.recv(), ours)
    finally:
        ours.close()
        process.join(10)
        process.kill()


def _peak(status: Path) -> float | None:
    for line in status.read_text(encoding="utf-8").splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024 / 1e6
    return None
