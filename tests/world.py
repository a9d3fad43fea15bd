"""A whole installation in a folder: embedded GitHub and model over HTTP, a ledger file, and the true command line."""

from __future__ import annotations

import io
import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from triagebot.cli.main import main
from triagebot.core import marker
from triagebot.sandbox.exchange import Call
from triagebot.sandbox.hub import BOT, TOKEN, Hub
from triagebot.sandbox.model import Stand
from triagebot.sandbox.repository import Repository
from triagebot.sandbox.state import Comment

CONFIG = """
select: {horizon: off}
budget: {issues: off, calls: off, per_author: off}
delivery: {settle: 0s, per_second: off, per_hour: off}
model: {timeout: 5s, deadline: 10s}
lease: 20s
"""


@dataclass(frozen=True, kw_only=True)
class Ran:
    """What one run of the program came to."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        return json.loads(self.out)


@dataclass
class World:
    """The repository `octo/demo` on the embedded parts, and runs of the program against it."""

    hub: Hub
    repo: Repository
    stand: Stand
    folder: Path
    env: dict[str, str]
    monkeypatch: pytest.MonkeyPatch
    _processes: list[subprocess.Popen[str]] = field(default_factory=list)

    @property
    def ledger(self) -> Path:
        return Path(self.env["TRIAGEBOT_LEDGER"])

    def configure(self, text: str = "") -> None:
        (self.folder / "config.yml").write_text(text or CONFIG)

    def run(self, *argv: str, command: str = "run", **env: str) -> Ran:
        """Run the program in this process."""
        for name, value in {**self.env, **env}.items():
            self.monkeypatch.setenv(name, value)
        out, err = io.StringIO(), io.StringIO()
        with redirect_stdout(out), redirect_stderr(err):
            code = main([command, *self._defaults(command), *argv])
        return Ran(code=code, out=out.getvalue(), err=err.getvalue())

    def night(self, *argv: str, **env: str) -> Ran:
        """One night that must end well."""
        ran = self.run("--format", "json", *argv, **env)
        assert ran.code == 0, f"{ran.err}\n{ran.out}"
        return ran

    def start(self, *argv: str, **env: str) -> subprocess.Popen[str]:
        """Start the program as a process of its own."""
        words = [sys.executable, "-m", "triagebot", "run", *self._defaults("run"), *argv]
        process = subprocess.Popen(
            words,
            env={**os.environ, **self.env, **env},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._processes.append(process)
        return process

    def crash(self, title: str = "It crashes", body: str = "Error: it fails at start", **fields: Any) -> int:
        """Open an issue that the stand-in calls a bug; returns its number."""
        return self.repo.open_issue(title=title, body=body, **fields).number

    def once(self, fits: Callable[[Call], bool], act: Callable[[], object]) -> None:
        """Do something right before the first request that fits is handled."""
        self._before(fits, act, "on_request")

    def once_stored(self, fits: Callable[[Call], bool], act: Callable[[], object]) -> None:
        """Do something right after the first write that fits was stored, before it is answered."""
        self._before(fits, act, "on_stored")

    def _before(self, fits: Callable[[Call], bool], act: Callable[[], object], when: str) -> None:
        def hook(call: Call) -> None:
            if fits(call):
                setattr(self.hub, when, None)
                act()

        setattr(self.hub, when, hook)

    def sql(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        """Look into the ledger, or let its clock jump."""
        with closing(sqlite3.connect(self.ledger)) as ledger, ledger:
            return ledger.execute(statement, values).fetchall()

    def rows(self, number: int) -> dict[str, tuple[str, str | None]]:
        """Status and reason of an issue's newest outbox rows, by action."""
        found = self.sql("SELECT action, status, reason FROM outbox WHERE issue = ? ORDER BY id", number)
        return {action: (status, reason) for action, status, reason in found}

    def lose_the_ledger(self) -> None:
        for file in self.ledger.parent.glob(self.ledger.name + "*"):
            file.unlink()

    # --- what is stored

    def own(self, number: int) -> list[Comment]:
        """The bot's comments on an issue that carry a marker."""
        return [c for c in self.repo.comments(number) if c.author.login == BOT and marker.read(c.body)]

    def own_per_issue(self) -> list[int]:
        return [len(self.own(issue.number)) for issue in self.repo.issues()]

    def writes_since(self, before: int) -> list[str]:
        return [f"{seen.method} {seen.path}" for seen in self.hub.writes()[before:]]

    def end(self) -> None:
        for process in self._processes:
            if process.poll() is None:
                process.kill()
            process.communicate()

    def _defaults(self, command: str) -> list[str]:
        return ["--config", str(self.folder / "config.yml")] if command in {"run", "deliver", "undo"} else []


@pytest.fixture
def world(
    hub: Hub,
    repo: Repository,
    github_url: str,
    stand: Stand,
    model_server: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[World]:
    env = {
        "GITHUB_TOKEN": TOKEN,
        "GITHUB_REPOSITORY": "octo/demo",
        "GITHUB_API_URL": github_url,
        "OPENAI_BASE_URL": model_server,
        "TRIAGEBOT_MODEL": "stand-in",
        "TRIAGEBOT_LEDGER": str(tmp_path / "state" / "ledger.db"),
    }
    made = World(hub, repo, stand, tmp_path, env, monkeypatch)
    made.configure()
    yield made
    made.end()
