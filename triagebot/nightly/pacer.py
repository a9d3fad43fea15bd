"""When the next write may go out: one slot at a time, from the pace that all workers on all hosts share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from triagebot.core.faults import Fault, Limited
from triagebot.nightly.ports import Clock, Ledger
from triagebot.nightly.settings import Pace
from triagebot.nightly.stop import Stop

_KEPT = 30.0
"""Seconds for which a slot may be kept: longer than any look, or an hour whose writes are used up would never
see another one (each look would outlive its slot, and wait for the next with rows in hand)."""

_LONG = 10.0
"""Seconds; the spacing of writes and what a look takes stay below it."""


class WritingEnds(Fault):
    """No more writes tonight, and why; what is left waits in the outbox for the next night."""


@dataclass
class Pacer:
    """Waits for the gate and for a slot. A slot that led to no write is kept in hand for the next one.

    `rests` is told whether a wait is a long one, for those who would wait for its end.
    """

    ledger: Ledger
    account: tuple[str, str]
    pace: Pace
    clock: Clock
    stop: Stop
    deadline: float
    rests: Callable[[bool], None]
    _slot_at: float | None = None
    _wrote_at: float | None = None

    def take(self) -> None:
        """Have a slot in hand, waiting for it. Raises `WritingEnds` where it lies past the night's end."""
        while (closed := self.closed_for()) > 0:
            self._wait(closed, "GitHub's rate limit")
        self._wait(self._until_slot(), "the hourly number of writes (delivery.per_hour) is used up")

    def is_near(self, seconds: float) -> bool:
        """Whether `take` would come back within `seconds`: nobody may hold rows for longer than that."""
        return self.closed_for() <= 0 and self._until_slot() <= seconds

    def spend(self) -> None:
        """The slot in hand goes to a write."""
        self._slot_at, self._wrote_at = None, self.clock.monotonic()

    def closed_for(self) -> float:
        """Seconds until the gate opens; read again right before each write."""
        return self.ledger.gate(self.account)

    def limited(self, limit: Limited) -> float:
        """Close the gate for everybody; returns the seconds until it opens."""
        return self.ledger.close_gate(self.account, seconds=limit.seconds)

    def answered(self) -> None:
        self.ledger.open_gate(self.account)

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
        return 0.0 if self._wrote_at is None else self._wrote_at + spacing

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
