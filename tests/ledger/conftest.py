"""A ledger to test, on each database that the program knows.

The suite asks for the port only: a second database is a second name in `DATABASES`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Protocol

import pytest

from tests.ledger.pieces import SETTLE, Clock
from tests.ledger.places import schema, server
from tests.world import world
from triagebot.ledger.ledger import Ledger
from triagebot.ledger.opening import open_ledger

__all__ = ["schema", "server", "world"]

DATABASES = ("sqlite", "postgres")


class OpenAgain(Protocol):
    """Opens the test's ledger as another process would: with an owner of its own."""

    def __call__(self, *, now: Callable[[], float] | None = ..., timeout: float = ...) -> Ledger: ...


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(params=DATABASES)
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where the test's ledger lies, as a person would write it."""
    if request.param == "postgres":
        return str(request.getfixturevalue("schema"))
    return f"sqlite:///{tmp_path / 'ledger.db'}"


@pytest.fixture
def open_again(address: str, clock: Clock) -> Iterator[OpenAgain]:
    with ExitStack() as stack:

        def opened(*, now: Callable[[], float] | None = clock, timeout: float = 30.0) -> Ledger:
            return stack.enter_context(open_ledger(address, settle=SETTLE, now=now, timeout=timeout))

        yield opened


@pytest.fixture
def ledger(open_again: OpenAgain) -> Ledger:
    return open_again()


@pytest.fixture
def other(open_again: OpenAgain, ledger: Ledger) -> Ledger:
    """Another worker on the same ledger."""
    return open_again()
