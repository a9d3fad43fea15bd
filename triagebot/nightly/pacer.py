"""When the next write may go out: one slot at a time, from the pace that all workers on all hosts share."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from triagebot.core.faults import Fault, Limited
from triagebot.nightly.ports import Clock, Ledger
from triagebot.nightly.settings import Pace
from triagebot.nightly.stop import Stop


class WritingEnds(Fault):
    """No more writes tonight, and why; what is left waits in the outbox for the next night."""


@dataclass
class Pacer:
    """Waits for the gate and for a slot. A slot that led to no write is kept in hand for the next one."""

    ledger: Ledger
    account: tuple[str, str]
    pace: Pace
    clock: Clock
    stop: Stop
    deadline: float
    _in_hand_since: float | None = None

    def take(self) -> None:
        """Have a slot in hand, waiting for it. Raises `WritingEnds` where it lies past the night's end."""
        self._await_gate()
        if self._in_hand():
            return
        wait = self.ledger.reserve_slot(self.account, per_second=self.pace.per_second, per_hour=self.pace.per_hour)
        self._wait(wait, "the hourly number of writes (delivery.per_hour) is used up")
        self._in_hand_since = self.clock.monotonic()

    def spend(self) -> None:
        """The slot in hand goes to a write."""
        self._in_hand_since = None

    def closed_for(self) -> float:
        """Seconds until the gate opens; read again right before each write."""
        return self.ledger.gate(self.account)

    def limited(self, limit: Limited) -> float:
        """Close the gate for everybody; returns the seconds until it opens."""
        return self.ledger.close_gate(self.account, seconds=limit.seconds)

    def answered(self) -> None:
        self.ledger.open_gate(self.account)

    def _await_gate(self) -> None:
        while (closed := self.closed_for()) > 0:
            self._wait(closed, "GitHub's rate limit")

    def _in_hand(self) -> bool:
        # A slot kept longer than the spacing would let two writes fall close together.
        spacing = 1 / self.pace.per_second if self.pace.per_second else 0.0
        since = self._in_hand_since
        return since is not None and self.clock.monotonic() - since <= spacing

    def _wait(self, seconds: float, why: str) -> None:
        if self.clock.monotonic() + seconds > self.deadline:
            until = self.clock.now() + timedelta(seconds=seconds)
            raise WritingEnds(f"deferred: {why} until {until:%Y-%m-%dT%H:%M:%SZ}, past this night's deadline")
        self.clock.sleep(seconds)
        if self.stop.asked:
            raise WritingEnds("the night was stopped")
