"""An index in a file of its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from triagebot.history.index import HistoryIndex
from triagebot.history.opening import open_history


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "history.db"


@pytest.fixture
def index(path: Path) -> Iterator[HistoryIndex]:
    with open_history(path) as opened:
        yield opened
