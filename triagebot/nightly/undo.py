"""Take back what was written: hold the rows as a worker does, look, leave a tombstone, delete, record.

Every write of an undo can be repeated, so whatever ends one early, the same command goes on where it ended.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from triagebot.core import faults, undoing
from triagebot.core.actions import Action, DeleteComment, RemoveLabel, Write
from triagebot.core.issue import Comment, Identity, Repository
from triagebot.core.rows import OutboxRow, Retraction, Unclaimed
from triagebot.nightly.pacer import Pacer, WritingEnds
from triagebot.nightly.ports import Ledger, Tracker
from triagebot.nightly.report import Observer
from triagebot.nightly.stop import Stop
from triagebot.nightly.writer import IN_A_ROW, LEASE

UNDONE = "undone"
"""The reason that a row taken back bears, and the tombstone of its comment."""

_NEAR = 10.0
"""Seconds; nobody may hold rows while waiting longer than this for a slot or a gate."""


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
    """The next slot is far away: the rows go back while it is waited for."""


@dataclass
class _Progress:
    """What was taken back on one issue so far, over all passes."""

    labels: list[str] = field(default_factory=list)
    comments: list[int] = field(default_factory=list)
    stays: tuple[str, ...] = ()

    def told(self, issue: int, fate: Fate, reason: str = "") -> Undone:
        labels, comments = tuple(self.labels), tuple(self.comments)
        return Undone(issue=issue, fate=fate, labels=labels, comments=comments, stays=self.stays, reason=reason)

    def ended(self, issue: int) -> Undone:
        return self.told(issue, Fate.UNDONE if self.labels or self.comments else Fate.NOTHING)


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
        """One record for each issue. Raises `Misconfigured` where nothing can be written at all."""
        self.observer.stage("undo", len(issues))
        ended = ""
        for issue in issues:
            progress = _Progress()
            try:
                if ended:
                    raise WritingEnds(ended)
                yield self._issue(issue, progress)
            except WritingEnds as end:
                ended = str(end)
                yield progress.told(issue, Fate.LEFT, ended)
            self.observer.advance()

    def _issue(self, issue: int, progress: _Progress) -> Undone:
        """Pass after pass: a limit surely did nothing, so the rows go back and it is waited for."""
        while True:
            self.pacer.take()
            try:
                return self._pass(issue, progress)
            except _NotNow:
                continue
            except faults.Limited as limit:
                seconds = self.pacer.limited(limit)
                self.observer.say(f"rate limit: writing waits {seconds:.0f} s ({limit})")
            except (faults.TrackerFault, faults.LeaseLost) as fault:
                if isinstance(fault, faults.Misconfigured):
                    raise
                self._failed_again(fault)
                return progress.told(issue, Fate.FAILED, str(fault))

    def _pass(self, issue: int, progress: _Progress) -> Undone:
        held = self.ledger.claim_written(self.repository.id, issue, night=self.night, lease=LEASE)
        if isinstance(held, Unclaimed):
            return progress.told(issue, Fate.HELD, f"a write is on its way or uncertain ({held.value})")
        if held is None:
            return progress.ended(issue)
        in_hand = {row.action: row for row in held.held}
        try:
            self._take_back(held, in_hand, progress)
        finally:
            self._put_back(in_hand)
        return progress.ended(issue)

    def _take_back(self, held: Retraction, in_hand: dict[Action, OutboxRow], progress: _Progress) -> None:
        issue, recorded = held.held[0].ref.issue, held.memory.recorded
        look = self.tracker.look(issue, recorded)
        found = undoing.takeback(held.written, look, identity=self.identity, memory=held.memory)
        progress.stays = found.stays
        for name in found.labels:
            self._send(in_hand[Action.LABELS], RemoveLabel(issue=issue, name=name))
            progress.labels.append(name)
        if found.labels:
            self._end(in_hand, Action.LABELS)
        for comment in found.comments:
            self._delete(in_hand[Action.COMMENT], comment)
            progress.comments.append(comment.id)
        if found.comments:
            self._end(in_hand, Action.COMMENT)

    def _delete(self, row: OutboxRow, comment: Comment) -> None:
        """The tombstone first: killed in between, the comment stands for the next undo, and is not written anew."""
        self.ledger.silence(row.ref.repo_id, row.ref.issue, reason=UNDONE)
        self._send(row, DeleteComment(issue=row.ref.issue, comment_id=comment.id))

    def _send(self, row: OutboxRow, write: Write) -> None:
        if not self.pacer.is_near(_NEAR):
            raise _NotNow
        self.pacer.take()
        self.ledger.renew(row, lease=LEASE)
        self.pacer.spend()
        self.tracker.send(write)
        self.pacer.answered()
        self._in_a_row = 0

    def _end(self, in_hand: dict[Action, OutboxRow], action: Action) -> None:
        self.ledger.withdraw(in_hand.pop(action), reason=UNDONE)

    def _put_back(self, in_hand: dict[Action, OutboxRow]) -> None:
        for row in in_hand.values():
            try:
                self.ledger.put_back(row)
            except faults.LeaseLost:
                continue  # a night found the lease over: its look tells it what stands

    def _failed_again(self, fault: faults.Fault) -> None:
        self._in_a_row += 1
        if self._in_a_row >= IN_A_ROW:
            raise WritingEnds(f"stopped after {IN_A_ROW} failures in a row, the last one: {fault}")
