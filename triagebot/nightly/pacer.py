"""When the next write may go out: one slot at a time, from the pace that all workers on all hosts share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta

from triagebot.core.faults import Fault, Limited
from triagebot.nightly.ports import Clock, Ledger
from triagebot.nightly.settings import Pace
from triagebot.nightly.stop import Stop

_KEPT = 30.0
"""Seconds for which a slot may be kept: longer than any look, or an hour whose writes are used up would never
see another one (each look would outlive its slot, and wait for the next with rows in hand)."""

_LONGEST_LOOK = 2.0
"""Seconds: one look that hung must not make the next ones older than they need to be when they are acted upon."""

_LONG = 10.0
"""Seconds; the spacing of writes and what a look takes stay below it."""


class WritingEnds(Fault):
    """No more writes tonight, and why; what is left waits in the outbox for the next night."""


@dataclass
class LastWrite:
    """When this process wrote last, on the monotonic clock; `None` before its first write."""

    at: float | None = None


@dataclass
class Pacer:
    """Waits for the gate and for a slot. A slot that led to no write is kept in hand for the next one.

    `rests` is told whether a wait is a long one, for those who would wait for its end. `last` is shared by the
    pacers of one process, which take turns.
    """

    ledger: Ledger
    account: tuple[str, str]
    pace: Pace
    clock: Clock
    stop: Stop
    deadline: float
    rests: Callable[[bool], None]
    last: LastWrite = field(default_factory=LastWrite)
    _slot_at: float | None = None
    _look: float = 0.0

    def take(self) -> None:
        """Have a slot in hand, waiting for it. Raises `WritingEnds` where it lies past the night's end."""
        self._reach(0.0)

    def approach(self) -> None:
        """Wait until it is time to look, so that the look ends when the slot comes. Raises as `take` does."""
        self._reach(self._look)

    def looked(self, seconds: float) -> None:
        """How long a look took: the next one will take about as long."""
        self._look = min(seconds, _LONGEST_LOOK)

    def is_near(self, seconds: float) -> bool:
        """Whether `take` would come back within `seconds`: nobody may hold rows for longer than that."""
        return self.closed_for() <= 0 and self._until_slot() <= seconds

    def spend(self) -> None:
        """The slot in hand goes to a write."""
        self._slot_at, self.last.at = None, self.clock.monotonic()

    def closed_for(self) -> float:
        """Seconds until the gate opens; read again right before each write."""
        return self.ledger.gate(self.account)

    def limited(self, limit: Limited) -> float:
        """Close the gate for everybody; returns the seconds until it opens."""
        return self.ledger.close_gate(self.account, seconds=limit.seconds)

    def answered(self) -> None:
        self.ledger.open_gate(self.account)

    def _reach(self, ahead: float) -> None:
        while (closed := self.closed_for()) > 0:
            self._wait(closed, "GitHub's rate limit")
        seconds = max(0.0, self._until_slot() - ahead)
        self._wait(seconds, "the hourly number of writes (delivery.per_hour) is used up")

    def _until_slot(self) -> float:
        """Seconds until a write may go out; reserves a slot where none is in hand."""
        now = self.clock.monotonic()
        if self._slot_at is None or now - self._slot_at > _KEPT:
            reserved = self.ledger.reserve_slot(
                self.account, per_second=self.pace.per_second, per_hour=self.pace.per_hour
            )
            self._slot_at = now + reserved
        return max(0.0, self._slot_at - now, self._spaced() - now)

    def _spaced(self) -> float:
        """When the spacing after our own last write is over: looks take their time, so slots alone do not hold it."""
        spacing = 1 / self.pace.per_second if self.pace.per_second else 0.0
        return 0.0 if self.last.at is None else self.last.at + spacing

    def _wait(self, seconds: float, why: str) -> None:
        late = self.clock.monotonic() - self.deadline
        if late > 0:
            raise WritingEnds("deadline: what is left in the outbox waits for the next night")
        if late + seconds > 0:
            until = self.clock.now() + timedelta(seconds=seconds)
            raise WritingEnds(f"deferred: {why} until {until:%Y-%m-%dT%H:%M:%SZ}, past this night's deadline")
        self.rests(seconds > _LONG)
        self.clock.sleep(seconds)
        self.rests(False)
        if self.stop.asked:
            raise WritingEnds("the night was stopped")
