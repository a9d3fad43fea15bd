"""The world of a whole installation, and a doctor who looks at it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.world import World, world
from triagebot.ledger import sqlite_files

__all__ = ["world"]

Report = dict[str, dict[str, str]]


@pytest.fixture(autouse=True)
def _an_ordinary_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What /tmp lies on is another thing on every machine."""
    _mounted(tmp_path, "ext4", monkeypatch)


@pytest.fixture
def mounted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Let the ledger lie on another file system."""
    return lambda kind: _mounted(tmp_path, kind, monkeypatch)


def _mounted(folder: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    table = folder / "mounts"
    table.write_text(f"disk / {kind} rw 0 0\n")
    monkeypatch.setattr(sqlite_files, "MOUNTS", table)


@pytest.fixture
def doctor(world: World) -> Callable[..., tuple[int, Report]]:
    """Run `doctor --format json`; returns the exit code and the findings by check."""

    def examine(*argv: str, **env: str) -> tuple[int, Report]:
        config = ("--config", str(world.folder / "config.yml"))
        ran = world.run(*config, *argv, "--format", "json", command="doctor", **env)
        assert ran.err == ""
        told: Mapping[str, Any] = ran.json
        assert told["ok"] is (ran.code == 0)
        return ran.code, {finding["check"]: finding for finding in told["findings"]}

    return examine
