"""Twins: the lowest id stays, a higher one goes, and two healers at once come to the same end."""

from __future__ import annotations

from dataclasses import dataclass

from triagebot.core import faults, standing
from triagebot.core.actions import DeleteComment, MinimizeComment
from triagebot.core.issue import Comment, Snapshot
from triagebot.core.rows import Recorded
from triagebot.nightly.pacer import Pacer
from triagebot.nightly.ports import Ledger, Tracker
from triagebot.nightly.report import Tally


@dataclass
class Healer:
    """Removes our own twins. The one that stays is recorded before anything is deleted."""

    ledger: Ledger
    tracker: Tracker
    pacer: Pacer
    tally: Tally

    def heal(self, issue: Snapshot) -> None:
        """Leave one comment of ours on the issue; what cannot be done tonight is left to the next night."""
        twins = standing.twins(issue)
        if not twins or standing.other_version(issue) is not None:
            return
        stays = Recorded(id=issue.marked[0].id, node=issue.marked[0].node)
        self.ledger.keep_comment(issue.repo_id, issue.number, stays)
        try:
            for twin in twins:
                self._remove(issue, stays, twin)
        except faults.Limited as limit:
            self.pacer.limited(limit)
            self.tally.note(f"issue {issue.number}: twins left to the next night ({limit})", failed=True)
        except faults.TrackerFault as fault:
            if isinstance(fault, faults.Misconfigured):
                raise
            self.tally.note(f"issue {issue.number}: twins left to the next night ({fault})", failed=True)

    def _remove(self, issue: Snapshot, stays: Recorded, twin: Comment) -> None:
        self.pacer.take()
        if self.tracker.comment(stays) is None:
            raise faults.Unclear(f"comment {stays.id}, which was to stay, is gone")
        now = self.tracker.comment(Recorded(id=twin.id, node=twin.node))
        if now is None or now.minimized:
            return
        self.pacer.spend()
        if now.edited_by_other or now.reactions:
            self.tracker.send(MinimizeComment(issue=issue.number, node=now.node))
        else:
            self.tracker.send(DeleteComment(issue=issue.number, comment_id=now.id))
        self.tally.count("twins_removed")
