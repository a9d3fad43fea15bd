"""The one writer of a night: it takes parcels from the outbox to the tracker.

For each: slot, claim, look, gate, lease, write once, record; the end of the wait for the
slot is used for the look. Whatever happens between those steps, the row says what is known:
`sending` is committed before any request, and an answer that is not clear is recorded as `unknown`.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

from triagebot.core import faults
from triagebot.core.issue import Snapshot
from triagebot.core.rows import Night, Parcel
from triagebot.nightly.healing import Healer
from triagebot.nightly.pacer import Pacer, WritingEnds
from triagebot.nightly.ports import Clock, Ledger
from triagebot.nightly.probe import Probe
from triagebot.nightly.report import Tally
from triagebot.nightly.settings import Settings
from triagebot.nightly.stop import Stop
from triagebot.nightly.writer import LEASE, Writer

_SLACK = 1.0
"""Seconds between two readings of the same clock: a row that a limit put off is due when the gate opens."""


@dataclass(frozen=True, slots=True)
class Pause:
    """Seconds until a courier looks again; `bell` tells whether somebody may ring before."""

    seconds: float
    bell: bool = True

    def take(self, clock: Clock, bell: threading.Event) -> None:
        if not self.bell:
            clock.sleep(self.seconds)
        elif self.seconds > 0:
            clock.wait(bell, self.seconds)
            bell.clear()


_AT_ONCE = Pause(0.0)


@dataclass
class Courier:
    """Delivers until nothing is due tonight. One thread; only `ring`, `heal_later` and `abandon` come from others."""

    ledger: Ledger
    settings: Settings
    night: Night
    clock: Clock
    pacer: Pacer
    probe: Probe
    stop: Stop
    tally: Tally
    writer: Writer
    healer: Healer
    no_more: threading.Event = field(default_factory=threading.Event)
    bell: threading.Event = field(default_factory=threading.Event)
    _twins: list[Snapshot] = field(default_factory=list)

    def run(self) -> None:
        """Deliver until triage has ended and nothing is due within the settle time."""
        while (pause := self.go()) is not None:
            pause.take(self.clock, self.bell)

    def go(self) -> Pause | None:
        """Do the next thing, and say when to come again; `None` when nothing more is to come tonight."""
        try:
            pause = self.once()
        except WritingEnds as end:
            self.tally.note(str(end), failed=True)
        except faults.Misconfigured as fault:
            self.stop.by_fault(fault)
        except faults.LedgerBusy as busy:
            self.tally.note(str(busy), failed=True)
        except BaseException:
            self.probe.answered()
            raise
        else:
            if pause is not None:
                return pause
        self.probe.answered()
        return None

    def once(self) -> Pause | None:
        """As `go`, but for what may go wrong."""
        if self.stop.asked:
            return None
        if self._twins:
            self.pacer.take()
            self.healer.heal(self._twins.pop(0))
            return _AT_ONCE
        # Read before the ledger is: rows that come later find the bell rung, or the end not yet seen.
        last, asked = self.no_more.is_set(), self.probe.asked
        closed = self.pacer.closed_for()
        due = self.ledger.next_due(self.night.repo_id, self.night)
        if due is None or (due > 0 and not 0 < closed >= due - _SLACK):
            self.probe.nothing_due(asked)
            return self._until(due, last=last)
        self.pacer.approach()
        parcel = self.ledger.claim_parcel(self.night.repo_id, self.night, lease=LEASE)
        if parcel is not None:
            self._deliver(parcel)
        return _AT_ONCE

    def ring(self) -> None:
        """Rows may be waiting, or the night is ending: look again."""
        self.bell.set()

    def heal_later(self, issue: Snapshot) -> None:
        self._twins.append(issue)
        self.ring()

    def abandon(self) -> None:
        """The process ends now: a row whose request is under way becomes `unknown`, the others go back."""
        self.writer.book.put_back("interrupted")

    def _until(self, due: float | None, *, last: bool) -> Pause | None:
        tonight = due is not None and due <= self.settings.pace.settle + _SLACK
        if last:
            return Pause(due or 0.0, bell=False) if tonight else None
        return Pause(due if tonight and due is not None else 60.0)

    def _deliver(self, parcel: Parcel) -> None:
        try:
            self.writer.deliver(parcel)
        except faults.LeaseLost:
            self.tally.count("lease_lost")
