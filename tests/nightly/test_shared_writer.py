"""One process writes for several repositories: their pacers keep the distance between writes together."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from threading import Event

import pytest

from triagebot.ledger.ledger import Ledger
from triagebot.ledger.opening import open_ledger
from triagebot.nightly.courier import Pause
from triagebot.nightly.pacer import LastWrite, Pacer
from triagebot.nightly.settings import Pace
from triagebot.nightly.stop import Stop

ACCOUNT = ("api.example", "bot")


@dataclass
class Clock:
    """Stands until somebody sleeps; notes who waited for the bell and who slept."""

    seconds: float = 0.0
    waits: list[tuple[str, float]] = field(default_factory=list)

    def now(self) -> datetime:
        return datetime(2026, 1, 1, tzinfo=UTC)

    def monotonic(self) -> float:
        return self.seconds

    def sleep(self, seconds: float) -> None:
        self.waits.append(("sleep", seconds))
        self.seconds += max(0.0, seconds)

    def wait(self, event: Event, seconds: float) -> None:
        self.waits.append(("bell", seconds))


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with open_ledger(tmp_path / "ledger.db") as opened:
        yield opened


def test_the_distance_between_writes_holds_over_all_repositories(ledger: Ledger) -> None:
    """Slots alone do not keep it: a look before the write may take longer for one than for the next."""
    clock, last = Clock(), LastWrite()
    one, other = (
        Pacer(ledger, ACCOUNT, Pace(per_second=1.0, per_hour=None), clock, Stop(), 1000.0, lambda _: None, last)
        for _ in range(2)
    )
    one.take()
    other.take()
    clock.seconds += 5.0  # both have their slots in hand, and the first one's look was slow
    one.spend()
    assert not other.is_near(0.5)
    before = clock.seconds
    other.take()
    assert clock.seconds - before >= 1.0


def test_a_writer_that_has_something_to_do_at_once_does_not_wait_for_the_bell() -> None:
    clock, bell = Clock(), Event()
    bell.set()
    Pause(0.0).take(clock, bell)
    assert (clock.waits, bell.is_set()) == ([], True)
    Pause(3.0).take(clock, bell)
    Pause(2.0, bell=False).take(clock, bell)
    assert (clock.waits, bell.is_set()) == ([("bell", 3.0), ("sleep", 2.0)], False)
