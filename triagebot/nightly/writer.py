"""Carries a parcel out: look, decide, gate, lease, write once, record what is known.

`sending` was committed when the parcel was claimed, before any request. A row whose
request has started is never put back: it is recorded by its answer, or as `unknown`.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from triagebot.core import faults, standing
from triagebot.core.actions import Action, AddLabels, EditComment, PostComment, Receipt, Write
from triagebot.core.issue import Snapshot
from triagebot.core.rows import OutboxRow, Parcel, Recorded, RowStatus
from triagebot.nightly.book import ENDED, Book
from triagebot.nightly.canary import Canary
from triagebot.nightly.pacer import Pacer, WritingEnds
from triagebot.nightly.place import Place
from triagebot.nightly.ports import Clock, Ledger, Tracker
from triagebot.nightly.probe import Probe
from triagebot.nightly.report import Tally
from triagebot.nightly.settings import Settings
from triagebot.nightly.visit import Visit

LEASE = 120.0
"""Seconds for which an outbox row is held: more than the HTTP timeout and a margin."""

FRESH = 10.0
"""Seconds for which a look may be acted upon."""

IN_A_ROW = 5
"""Failures in a row after which the night stops writing: then it is the service, not the issue."""


@dataclass
class Writer:
    """Carries parcels out, one at a time; a row is written at most once a night without proof of its end."""

    ledger: Ledger
    tracker: Tracker
    place: Place
    settings: Settings
    clock: Clock
    pacer: Pacer
    probe: Probe
    tally: Tally
    book: Book
    canary: Canary = field(default_factory=Canary)
    posted: dict[int, str] = field(default_factory=dict)  # issue -> its node, for the look back at the night's end
    posted_at: float = 0.0
    _written: set[int] = field(default_factory=set)
    _in_a_row: int = 0

    def deliver(self, parcel: Parcel) -> None:
        """Bring every row of the parcel to an end that is known, or put it back.

        Raises `LeaseLost` where another worker took over, `WritingEnds` and `Misconfigured`
        where writing ends for the night.
        """
        self.book.take(parcel)
        try:
            began = self.clock.monotonic()
            look = self._look(parcel)
            self.pacer.looked(self.clock.monotonic() - began)
            if look is not None:
                self._carry(Visit(parcel, look, self.clock.monotonic(), self.place, self.settings))
        finally:
            self.book.put_back()

    def _carry(self, visit: Visit) -> None:
        for row in sorted(visit.parcel.rows, key=lambda row: row.action is Action.COMMENT):
            if row.action is Action.COMMENT and not visit.labels_ended:
                self.book.postponed(row, self.settings.pace.settle, "waits for the labels")
                continue
            if not self.pacer.is_near(FRESH):
                return  # the rest goes back: no row is held while a gate or a slot is waited for
            self.pacer.take()
            if self._is_stale(visit) and not self._look_again(visit):
                return
            status = self._row(visit, row)
            if row.action is Action.LABELS:
                visit.labels_ended, visit.labels_dead = status in ENDED, status is RowStatus.DEAD

    def _row(self, visit: Visit, row: OutboxRow) -> RowStatus:
        match visit.decide(row):
            case AddLabels() | PostComment() | EditComment() as write:
                return self._write(visit, row, write)
            case standing.Stands(comment):
                return self.book.sent(row, Recorded(id=comment.id, node=comment.node) if comment else None)
            case standing.Silenced(reason):
                self.ledger.silence(row.ref.repo_id, row.ref.issue, reason=reason)
                return self.book.withdrawn(row, "deleted by a person")
            case standing.Bury(reason):
                return self.book.dead(row, reason)
            case standing.Withdraw(reason):
                return self.book.withdrawn(row, reason)
            case step:
                raise AssertionError(f"a step that is no end: {step}")

    # --- looking

    def _look(self, parcel: Parcel) -> Snapshot | None:
        """Look at the issue. A failed look is an error, never "not found": nothing is sent after it."""
        try:
            self.canary.check(self.tracker)
            return self.tracker.look(parcel.issue, parcel.memory.recorded)
        except (faults.Gone, faults.Moved) as fault:
            for row in self.book.rows:
                self.book.dead(row, str(fault))
        except faults.Limited as limit:
            self._limited(self.book.rows, limit)
        except (faults.Unclear, faults.Undelivered, faults.Refused, faults.Locked) as fault:
            for row in self.book.rows:
                self.book.postponed(row, self.settings.pace.settle, f"look failed: {fault}")
            self._failed_again(fault)
        return None

    def _look_again(self, visit: Visit) -> bool:
        """The slot took its time: look anew in the same visit, or the comment would queue behind all other issues."""
        look = self._look(visit.parcel)
        if look is None:
            return False
        visit.look, visit.looked_at = look, self.clock.monotonic()
        return True

    def _limited(self, rows: tuple[OutboxRow, ...], limit: faults.Limited) -> None:
        seconds = self.pacer.limited(limit)
        self.tally.note(f"rate limit: writing waits {seconds:.0f} s ({limit})")
        for row in rows:
            self.book.postponed(row, seconds, str(limit))

    # --- writing

    def _write(self, visit: Visit, row: OutboxRow, write: Write) -> RowStatus:
        if row.id in self._written:
            return self.book.rests(row)
        closed = self.pacer.closed_for()
        if closed > 0:
            return self.book.postponed(row, closed, "the gate closed meanwhile")
        self.ledger.renew(row, lease=LEASE)
        if self._is_stale(visit):  # a ledger that others lock keeps us waiting, too
            return self.book.postponed(row, 0.0, "the look was too old to write by")
        self._written.add(row.id)
        self.pacer.spend()
        self.book.starts(row)
        try:
            receipt = self.tracker.send(write)
        except faults.TrackerFault as fault:
            return self._not_written(row, fault)
        return self._was_written(visit, row, write, receipt)

    def _is_stale(self, visit: Visit) -> bool:
        return self.clock.monotonic() - visit.looked_at >= FRESH

    def _was_written(self, visit: Visit, row: OutboxRow, write: Write, receipt: Receipt) -> RowStatus:
        comment = _recorded(receipt, visit.look)
        if isinstance(write, PostComment) and comment is not None:
            # Before it is recorded: a worker that lost its lease meanwhile has to look back all the same.
            self.posted[row.ref.issue] = visit.look.node
            self.posted_at = self.clock.monotonic()
            self.canary.posted(row.ref.issue, comment)
        status = self.book.sent(row, comment)
        self._written.discard(row.id)  # its end is proven: the close may reopen it when twins have gone
        self._in_a_row = 0
        self.pacer.answered()
        self.probe.answered()
        self.tally.count(_COUNTED[type(write)])
        if isinstance(write, AddLabels):
            visit.labels_are_on(receipt.labels)
            self._compare(write, receipt)
        return status

    def _compare(self, write: AddLabels, receipt: Receipt) -> None:
        on = {name.casefold() for name in receipt.labels}
        missing = ", ".join(name for name in write.names if name.casefold() not in on)
        if missing:
            self.tally.note(f"issue {write.issue}: GitHub answered without these labels: {missing}", failed=True)

    def _not_written(self, row: OutboxRow, fault: faults.TrackerFault) -> RowStatus:
        """Record what a failed write leaves us knowing. Raises what ends the night."""
        if isinstance(fault, faults.Misconfigured):
            self.book.postponed(row, 0.0, str(fault))
            raise fault
        if isinstance(fault, faults.Limited):
            self.probe.answered()
            self._written.discard(row.id)
            self._limited((row,), fault)
            return RowStatus.PENDING
        if isinstance(fault, faults.Locked | faults.Gone | faults.Moved):
            self.probe.answered()
            return (
                self.book.withdrawn(row, "locked")
                if isinstance(fault, faults.Locked)
                else self.book.dead(row, str(fault))
            )
        status = self._unproven(row, fault)
        self._failed_again(fault)
        return status

    def _unproven(self, row: OutboxRow, fault: faults.TrackerFault) -> RowStatus:
        if isinstance(fault, faults.Refused):
            self.probe.answered()
            return self.book.dead(row, str(fault))
        if isinstance(fault, faults.Undelivered):
            self._written.discard(row.id)
            return self.book.postponed(row, self.settings.pace.settle, str(fault))
        return self.book.unknown(row, str(fault))

    def _failed_again(self, fault: faults.TrackerFault) -> None:
        self._in_a_row += 1
        self.tally.note(f"GitHub: {fault}")
        if self._in_a_row >= IN_A_ROW:
            raise WritingEnds(f"writing stopped after {IN_A_ROW} failures in a row, the last one: {fault}")


_COUNTED = {AddLabels: "labels_written", PostComment: "comments_posted", EditComment: "comments_edited"}


def _recorded(receipt: Receipt, look: Snapshot) -> Recorded | None:
    """The comment that was written; an answer to an edit need not repeat the node that the look showed."""
    if receipt.comment_id is None:
        return None
    seen = next((c.node for c in look.comments if c.id == receipt.comment_id), "")
    return Recorded(id=receipt.comment_id, node=receipt.comment_node or seen)
