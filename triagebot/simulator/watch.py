"""What must hold at every moment: each write follows from a look, from a row in `sending`, and from a verdict."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from triagebot.core import standing
from triagebot.core.actions import (
    AddLabels,
    DeleteComment,
    EditComment,
    MinimizeComment,
    PostComment,
    Receipt,
    RemoveLabel,
    Write,
)
from triagebot.core.faults import Fault
from triagebot.core.issue import Snapshot
from triagebot.core.rows import Claim, OutboxRow, RowStatus
from triagebot.ledger.ledger import Ledger
from triagebot.sandbox.hub import BOT
from triagebot.sandbox.state import Comment, Issue
from triagebot.simulator.scheduler import Process

if TYPE_CHECKING:
    from triagebot.simulator.world import World

_LEDGER_TROUBLE = frozenset({"lose", "restore", "clock forward", "clock back"})


@dataclass
class Watch:
    """Looks at every claim and every write of a history; a breach is a sentence in `world.violations`."""

    world: World
    comment_ids: set[int] = field(default_factory=set)
    lifted: set[int] = field(default_factory=set)  # issues for which somebody gave `--again --issue`
    undone: set[int] = field(default_factory=set)  # issues from which an undo has deleted the comment
    twins: int = 0

    def claimed(self, ledger: Ledger, issue: int) -> None:
        """One issue, one running claim, whatever its text and its day."""
        with ledger._database.read() as tx:
            rows = tx.all("runs_of_issue", repo_id=self.world.repo.id, issue=issue)
        if sum(row["status"] == "running" for row in rows) > 1:
            self.world.violate(f"two claims of issue {issue} at once")

    def sends(self, process: Process, ledger: Ledger, write: Write, looked: Snapshot | None) -> None:
        """A request is about to leave."""
        if isinstance(write, EditComment | DeleteComment):
            self._is_ours(write)
        if process.name == "undo":
            self._takes_back(process, ledger, write, looked)
            return
        if isinstance(write, DeleteComment | MinimizeComment):
            self._leaves_the_lowest(write)
            return
        if looked is None:
            self.world.violate(f"{write} without a look")
            return
        if isinstance(write, PostComment):
            self._posts(write, looked)
        self._minds_people(write, looked)
        if isinstance(write, PostComment | EditComment) and looked.digest not in write.body:
            self.world.violate(f"a comment for another text is written to issue {write.issue}")
        if not process.stalled:
            self._is_recorded(ledger, write, looked)

    def _takes_back(self, process: Process, ledger: Ledger, write: Write, looked: Snapshot | None) -> None:
        """An undo only removes: labels that we set last, comments that nobody edited, with a row of ours in hand."""
        number = write.issue
        if looked is None or not isinstance(write, RemoveLabel | DeleteComment):
            self.world.violate(f"an undo sends {write}, after the look {looked}")
            return
        if isinstance(write, RemoveLabel):
            last = [event for event in looked.label_events if event.label == write.name][-1:]
            if not last or not _is_bot(last[0].actor):
                self.world.violate(f"an undo takes the label {write.name} off issue {number}, which others set last")
        elif write.comment_id in {comment.id for comment in looked.comments if comment.edited_by_other}:
            self.world.violate(f"an undo deletes a person's words on issue {number}")
        if not process.stalled and not self.world.windows & _LEDGER_TROUBLE:
            rows = ledger.recall(self.world.repo.id, number, "").rows
            if not any(row.status is RowStatus.SENDING and row.owner == ledger.owner for row in rows):
                self.world.violate(f"an undo of issue {number} without a row of ours in `sending`")

    def names(self, write: Write, known: frozenset[str]) -> None:
        """GitHub makes a label of any name that is added: only names that the repository had may be sent."""
        if isinstance(write, AddLabels) and not known.issuperset(write.names):
            self.world.violate(f"labels {write.names} are added to issue {write.issue}, which nobody had made")

    def _is_ours(self, write: EditComment | DeleteComment) -> None:
        for comment in self._stored_comments(write.issue):
            if comment.id == write.comment_id and comment.author.login != BOT:
                self.world.violate(f"{type(write).__name__} of a stranger's comment on issue {write.issue}")

    def _minds_people(self, write: Write, looked: Snapshot) -> None:
        if isinstance(write, AddLabels) and {name.casefold() for name in write.names} & looked.taken_off:
            self.world.violate(f"a label that a person took off is added to issue {write.issue} again")
        theirs = {comment.id for comment in looked.comments if comment.edited_by_other}
        if isinstance(write, EditComment) and write.comment_id in theirs:
            self.world.violate(f"a person's words on issue {write.issue} are written over")

    def _stored_comments(self, number: int) -> list[Comment]:
        issue = self.world.repo.kept.get(number)
        return issue.comments if isinstance(issue, Issue) else []

    def _leaves_the_lowest(self, write: DeleteComment | MinimizeComment) -> None:
        own = [c for c in self._stored_comments(write.issue) if c.author.login == BOT]
        goes = write.comment_id if isinstance(write, DeleteComment) else write.node
        if own and goes in {own[0].id, own[0].node}:
            self.world.violate(f"the comment on issue {write.issue} that was to stay is removed")

    def fenced(self, ledger: Ledger, held: Claim | OutboxRow) -> bool:
        """Whether `held` is still what the ledger says, right before a write that rests on it."""
        with ledger._database.read() as tx:
            kind = "runs_of_issue" if isinstance(held, Claim) else "rows_of_issue"
            rows = tx.all(kind, repo_id=held.ref.repo_id, issue=held.ref.issue)
        if isinstance(held, Claim):
            mine = [row for row in rows if row["key"] == held.ref.key]
        else:
            mine = [row for row in rows if row["id"] == held.id]
        return any(row["owner"] == held.owner and row["attempt"] == held.attempt for row in mine)

    def _posts(self, write: PostComment, looked: Snapshot) -> None:
        if standing.own_comments(looked):
            self.world.violate(f"a comment is posted to issue {write.issue} where the look showed one")
        by_people = [e for e in looked.deletions if e.author and e.author.login == BOT and not _is_bot(e.actor)]
        if by_people and write.issue not in self.lifted:
            self.world.violate(f"a comment is posted to issue {write.issue} though a person had deleted one")
        if write.issue in self.undone - self.lifted and not self.world.windows:
            self.world.violate(f"a comment is posted to issue {write.issue} though an undo had deleted it")

    def _is_recorded(self, ledger: Ledger, write: Write, looked: Snapshot) -> None:
        """`sending` with our name on it, and a verdict, must be on disk before the request; the gate must be open."""
        world = self.world
        if world.windows & _LEDGER_TROUBLE:
            return
        try:
            memory = ledger.recall(world.repo.id, write.issue, looked.digest)
            closed = ledger.gate(("sim", BOT))
        except Fault:
            return
        row = memory.row(write.action, looked.digest)
        if row is None or row.status is not RowStatus.SENDING or row.owner != ledger.owner:
            world.violate(f"{type(write).__name__} to issue {write.issue} without a row of ours in `sending`")
        if memory.verdict is None and not self._is_being_asked_again(ledger, write.issue, looked.digest):
            world.violate(f"{type(write).__name__} to issue {write.issue} without a verdict")
        if closed > 0 and world.gate_closed_at < world.scheduler.now:
            world.violate(f"{type(write).__name__} to issue {write.issue} through a closed gate")

    def _is_being_asked_again(self, ledger: Ledger, issue: int, digest: str) -> bool:
        """`--again` claims a run that is done; its verdict stays on disk until the new one replaces it."""
        with ledger._database.read() as tx:
            rows = tx.all("runs_of_issue", repo_id=self.world.repo.id, issue=issue)
        return any(row["digest"] == digest and row["verdict"] for row in rows)

    def stored(self, process: Process, write: Write, receipt: Receipt) -> None:
        """A request was carried out: twins may only arise in the windows of the promise."""
        if process.name == "undo" and isinstance(write, DeleteComment):
            self.undone.add(write.issue)
        if not isinstance(write, PostComment) or receipt.comment_id is None:
            return
        self.comment_ids.add(receipt.comment_id)
        if len(self.world.own(write.issue)) > 1:
            self.twins += 1
            self.world.counts[f"twin by {', '.join(sorted(self.world.windows)) or 'nothing'}"] += 1
            if not self.world.windows:
                self.world.violate(f"a twin on issue {write.issue} although no window was open")


def _is_bot(actor: object) -> bool:
    return getattr(actor, "login", "") == BOT
