"""The world that the night's tests run in."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.world import World
from triagebot.sandbox.hub import TOKEN, Hub
from triagebot.sandbox.model import Stand
from triagebot.sandbox.repository import Repository


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
