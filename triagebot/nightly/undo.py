"""Take back what was written: hold the rows as a worker does, look, leave a tombstone, delete, record.

Every write of an undo can be repeated, so whatever ends one early, the same command goes on where it ended.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from triagebot.core import faults, undoing
from triagebot.core.actions import Action, DeleteComment, RemoveLabel, Write
from triagebot.core.issue import Identity, Repository
from triagebot.core.rows import OutboxRow, Retraction, Unclaimed
from triagebot.nightly.pacer import Pacer, WritingEnds
from triagebot.nightly.ports import Ledger, Tracker
from triagebot.nightly.report import Observer
from triagebot.nightly.stop import Stop
from triagebot.nightly.writer import FRESH, IN_A_ROW, LEASE

UNDONE = "undone"
"""The reason that a row taken back bears, and the tombstone of its comment."""

_HELD = (
    "a write is on its way or uncertain, or another undo has it: run the same command in some minutes, and if it is "
    "held then as well, after the next night"
)


class Fate(enum.StrEnum):
    """What became of one issue in an undo."""

    UNDONE = "undone"
    NOTHING = "nothing to undo"
    HELD = "held"
    FAILED = "failed"
    LEFT = "left"


@dataclass(frozen=True, kw_only=True, slots=True)
class Undone:
    """One issue: labels taken off, ids of the comments deleted, what stays and why, and why it went no further."""

    issue: int
    fate: Fate
    labels: tuple[str, ...] = ()
    comments: tuple[int, ...] = ()
    stays: tuple[str, ...] = ()
    reason: str = ""

    @property
    def incomplete(self) -> bool:
        return self.fate in {Fate.HELD, Fate.FAILED, Fate.LEFT}


class _NotNow(faults.Fault):
    """Nothing may be written just now: the rows go back, the slot is waited for, and the issue is looked at anew."""


class _Stale(_NotNow):
    """The look was too old to write by: what it showed may have been touched since."""


@dataclass
class _Progress:
    """What was taken back on one issue so far, over all passes, and the look that the present pass rests on.

    `looked_at` is on the monotonic clock; `stale` counts the looks in a row that grew too old before a write.
    """

    done: list[Write] = field(default_factory=list)
    stays: tuple[str, ...] = ()
    looked_at: float = 0.0
    stale: int = 0

    def told(self, issue: int, fate: Fate, reason: str = "") -> Undone:
        labels = tuple(write.name for write in self.done if isinstance(write, RemoveLabel))
        comments = tuple(write.comment_id for write in self.done if isinstance(write, DeleteComment))
        return Undone(issue=issue, fate=fate, labels=labels, comments=comments, stays=self.stays, reason=reason)

    def ended(self, issue: int) -> Undone:
        return self.told(issue, Fate.UNDONE if self.done else Fate.NOTHING)


@dataclass
class Undo:
    """Takes back what a night wrote, or whatever stands where `night` is `None`, one issue after the other."""

    ledger: Ledger
    tracker: Tracker
    pacer: Pacer
    stop: Stop
    observer: Observer
    repository: Repository
    identity: Identity
    night: int | None = None
    _in_a_row: int = 0

    def run(self, issues: Sequence[int]) -> Iterator[Undone]:
        """One record for each issue. Raises `Misconfigured` after the last of them where nothing can be written."""
        self.observer.stage("undo", len(issues))
        end: faults.Fault | None = None
        for issue in issues:
            progress = _Progress()
            if end is None:
                told, end = self._one(issue, progress)
            else:
                told = progress.told(issue, Fate.LEFT, str(end))
            yield told
            self.observer.advance()
        if isinstance(end, faults.Misconfigured):
            raise end

    def _one(self, issue: int, progress: _Progress) -> tuple[Undone, faults.Fault | None]:
        """What became of the issue, and what ends the whole of it. Whatever was taken back before a fault is told."""
        try:
            return self._issue(issue, progress), None
        except WritingEnds as end:
            return progress.told(issue, Fate.LEFT, str(end)), end
        except faults.Fault as fault:
            return progress.told(issue, Fate.FAILED, str(fault)), self._end_by(fault)

    def _end_by(self, fault: faults.Fault) -> faults.Fault | None:
        """What cannot be mended by going on: one such fault, or several others in a row."""
        if isinstance(fault, faults.Misconfigured):
            return fault
        self._in_a_row += 1
        if self._in_a_row < IN_A_ROW:
            return None
        return WritingEnds(f"stopped after {IN_A_ROW} failures in a row, the last one: {fault}")

    def _issue(self, issue: int, progress: _Progress) -> Undone:
        """Pass after pass: a limit surely did nothing, so the rows go back and it is waited for."""
        while True:
            self.pacer.take()
            try:
                return self._pass(issue, progress)
            except _NotNow:
                if progress.stale >= IN_A_ROW:
                    raise
            except faults.Limited as limit:
                seconds = self.pacer.limited(limit)
                self.observer.say(f"rate limit: writing waits {seconds:.0f} s ({limit})")

    def _pass(self, issue: int, progress: _Progress) -> Undone:
        held = self.ledger.claim_written(self.repository.id, issue, night=self.night, lease=LEASE)
        if held is Unclaimed.BUSY:
            raise faults.LedgerBusy("the ledger stayed locked: run the same command again later")
        if isinstance(held, Unclaimed):
            return progress.told(issue, Fate.HELD, _HELD)
        if held is None:
            return progress.ended(issue)
        with self._in_hand(held) as rows:
            self._take_back(held, rows, progress)
        return progress.ended(issue)

    @contextmanager
    def _in_hand(self, held: Retraction) -> Iterator[dict[Action, OutboxRow]]:
        """The rows held; those that did not end go back. A ledger that fails then hides no other failure."""
        rows = {row.action: row for row in held.held}
        try:
            yield rows
        except _NotNow:
            self._put_back(rows)  # or the next pass would take our own rows for those of a night
            raise
        except BaseException:
            try:
                self._put_back(rows)
            except (faults.LedgerBusy, faults.LedgerUnusable) as fault:
                self.observer.say(f"issue {held.held[0].ref.issue} stays in hand for {LEASE:.0f} s: {fault}")
            raise
        self._put_back(rows)

    def _take_back(self, held: Retraction, rows: dict[Action, OutboxRow], progress: _Progress) -> None:
        issue, recorded = held.held[0].ref.issue, held.memory.recorded
        look = self.tracker.look(issue, recorded)
        progress.looked_at = self.pacer.clock.monotonic()
        found = undoing.takeback(held.written, look, identity=self.identity, memory=held.memory)
        progress.stays = found.stays
        for name in found.labels:
            self._send(rows[Action.LABELS], RemoveLabel(issue=issue, name=name), progress)
        if found.labels:
            self._end(rows, Action.LABELS)
        for comment in found.comments:
            self._send(rows[Action.COMMENT], DeleteComment(issue=issue, comment_id=comment.id), progress)
        if found.comments:
            self._end(rows, Action.COMMENT)

    def _send(self, row: OutboxRow, write: Write, progress: _Progress) -> None:
        """Write once. What is done already is left out: a list may lag behind, and what a dry run looks at does."""
        if write in progress.done:
            return
        self._get_ready(row, progress)
        if isinstance(write, DeleteComment):
            # The tombstone first: killed in between, the comment stands for the next undo, and is not written anew.
            self.ledger.silence(row.ref.repo_id, row.ref.issue, reason=UNDONE)
            self._check_age(progress)
        self.pacer.spend()
        self.tracker.send(write)
        progress.done.append(write)
        progress.stale = self._in_a_row = 0
        self.pacer.answered()

    def _get_ready(self, row: OutboxRow, progress: _Progress) -> None:
        """Slot, gate, lease, and a look that is still young. Raises `_NotNow`, and whatever the ledger raises."""
        if not self.pacer.is_near(FRESH):
            raise _NotNow
        self.pacer.take()
        if self.pacer.closed_for() > 0:
            raise _NotNow
        self.ledger.renew(row, lease=LEASE)
        self._check_age(progress)

    def _check_age(self, progress: _Progress) -> None:
        """After every wait: for the slot, and for a ledger that others lock."""
        if self.pacer.clock.monotonic() - progress.looked_at >= FRESH:
            progress.stale += 1
            raise _Stale(
                f"{progress.stale} looks in a row were older than {FRESH:.0f} s before anything could be written: "
                "the ledger or this machine is slow just now; run the same command again later"
            )

    def _end(self, rows: dict[Action, OutboxRow], action: Action) -> None:
        self.ledger.withdraw(rows[action], reason=UNDONE)
        del rows[action]

    def _put_back(self, rows: dict[Action, OutboxRow]) -> None:
        for row in rows.values():
            try:
                self.ledger.put_back(row)
            except faults.LeaseLost:
                continue  # a night found the lease over: its look tells it what stands
