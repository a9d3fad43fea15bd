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
from triagebot.core.key import Ref
from triagebot.core.rows import Claim, OutboxRow, RowStatus
from triagebot.ledger.ledger import Ledger
from triagebot.sandbox.hub import BOT
from triagebot.sandbox.repository import Repository
from triagebot.sandbox.state import Comment, Issue
from triagebot.simulator.scheduler import Process

if TYPE_CHECKING:
    from triagebot.simulator.world import World

_ROUNDING = 1e-6
_LEDGER_TROUBLE = frozenset({"lose", "restore", "clock forward", "clock back"})


@dataclass
class Watch:
    """Looks at every claim and every write of a history; a breach is a sentence in `world.violations`."""

    world: World
    comment_ids: set[int] = field(default_factory=set)
    lifted: set[tuple[int, int]] = field(default_factory=set)  # issues for which somebody gave `--again --issue`
    undone: set[tuple[int, int]] = field(default_factory=set)  # issues from which an undo has deleted the comment
    twins: int = 0
    _wrote: dict[Process, float] = field(default_factory=dict)

    def claimed(self, ledger: Ledger, ref: Ref) -> None:
        """One issue, one running claim, whatever its text and its day."""
        with ledger._database.read() as tx:
            rows = tx.all("runs_of_issue", repo_id=ref.repo_id, issue=ref.issue)
        if sum(row["status"] == "running" for row in rows) > 1:
            self.world.violate(f"two claims of issue {ref.issue} of repository {ref.repo_id} at once")

    def sends(self, process: Process, ledger: Ledger, repo: Repository, write: Write, looked: Snapshot | None) -> None:
        """A request is about to leave."""
        self._keeps_its_distance(process)
        if isinstance(write, EditComment | DeleteComment):
            self._is_ours(repo, write)
        if process.name == "undo":
            self._takes_back(process, ledger, repo, write, looked)
            return
        if isinstance(write, DeleteComment | MinimizeComment):
            self._leaves_the_lowest(repo, write)
            return
        if looked is None:
            self.world.violate(f"{write} without a look")
            return
        if isinstance(write, PostComment):
            self._posts(repo, write, looked)
        self._minds_people(repo, write, looked)
        if isinstance(write, PostComment | EditComment) and looked.digest not in write.body:
            self.world.violate(f"a comment for another text is written to {where(repo, write)}")
        if not process.stalled:
            self._is_recorded(ledger, repo, write, looked)

    def _keeps_its_distance(self, process: Process) -> None:
        """Whatever repositories the writes of a process go to, the pace's distance lies between them."""
        now, last, pace = self.world.scheduler.now, self._wrote.get(process), self.world.settings.pace
        distance = 1 / pace.per_second - _ROUNDING if pace.per_second else 0.0
        if last is not None and now - last < distance and not process.stalled:
            self.world.violate(f"two writes of one process within {now - last:.2f} s")
        self._wrote[process] = now

    def _takes_back(
        self, process: Process, ledger: Ledger, repo: Repository, write: Write, looked: Snapshot | None
    ) -> None:
        """An undo only removes: labels that we set last, comments that nobody edited, with a row of ours in hand."""
        there = where(repo, write)
        if looked is None or not isinstance(write, RemoveLabel | DeleteComment):
            self.world.violate(f"an undo sends {write}, after the look {looked}")
            return
        if isinstance(write, RemoveLabel):
            last = [event for event in looked.label_events if event.label == write.name][-1:]
            if not last or not _is_bot(last[0].actor):
                self.world.violate(f"an undo takes the label {write.name} off {there}, which others set last")
        elif write.comment_id in {comment.id for comment in looked.comments if comment.edited_by_other}:
            self.world.violate(f"an undo deletes a person's words on {there}")
        if not process.stalled and not self.world.windows & _LEDGER_TROUBLE:
            rows = ledger.recall(repo.id, write.issue, "").rows
            if not any(row.status is RowStatus.SENDING and row.owner == ledger.owner for row in rows):
                self.world.violate(f"an undo of {there} without a row of ours in `sending`")

    def names(self, repo: Repository, write: Write, known: frozenset[str]) -> None:
        """GitHub makes a label of any name that is added: only names that the repository had may be sent."""
        if isinstance(write, AddLabels) and not known.issuperset(write.names):
            self.world.violate(f"labels {write.names} are added to {where(repo, write)}, which nobody had made")

    def _is_ours(self, repo: Repository, write: EditComment | DeleteComment) -> None:
        for comment in _stored_comments(repo, write.issue):
            if comment.id == write.comment_id and comment.author.login != BOT:
                self.world.violate(f"{type(write).__name__} of a stranger's comment on {where(repo, write)}")

    def _minds_people(self, repo: Repository, write: Write, looked: Snapshot) -> None:
        if isinstance(write, AddLabels) and {name.casefold() for name in write.names} & looked.taken_off:
            self.world.violate(f"a label that a person took off is added to {where(repo, write)} again")
        theirs = {comment.id for comment in looked.comments if comment.edited_by_other}
        if isinstance(write, EditComment) and write.comment_id in theirs:
            self.world.violate(f"a person's words on {where(repo, write)} are written over")

    def _leaves_the_lowest(self, repo: Repository, write: DeleteComment | MinimizeComment) -> None:
        own = [c for c in _stored_comments(repo, write.issue) if c.author.login == BOT]
        goes = write.comment_id if isinstance(write, DeleteComment) else write.node
        if own and goes in {own[0].id, own[0].node}:
            self.world.violate(f"the comment on {where(repo, write)} that was to stay is removed")

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

    def _posts(self, repo: Repository, write: PostComment, looked: Snapshot) -> None:
        there, known = where(repo, write), (repo.id, write.issue)
        if standing.own_comments(looked):
            self.world.violate(f"a comment is posted to {there} where the look showed one")
        by_people = [e for e in looked.deletions if e.author and e.author.login == BOT and not _is_bot(e.actor)]
        if by_people and known not in self.lifted:
            self.world.violate(f"a comment is posted to {there} though a person had deleted one")
        if known in self.undone - self.lifted and not self.world.windows:
            self.world.violate(f"a comment is posted to {there} though an undo had deleted it")

    def _is_recorded(self, ledger: Ledger, repo: Repository, write: Write, looked: Snapshot) -> None:
        """`sending` with our name on it, and a verdict, must be on disk before the request; the gate must be open."""
        world, what = self.world, f"{type(write).__name__} to {where(repo, write)}"
        if world.windows & _LEDGER_TROUBLE:
            return
        try:
            memory = ledger.recall(repo.id, write.issue, looked.digest)
            closed = ledger.gate(("sim", BOT))
        except Fault:
            return
        row = memory.row(write.action, looked.digest)
        if row is None or row.status is not RowStatus.SENDING or row.owner != ledger.owner:
            world.violate(f"{what} without a row of ours in `sending`")
        if memory.verdict is None and not self._is_being_asked_again(ledger, repo, write.issue, looked.digest):
            world.violate(f"{what} without a verdict")
        if closed > 0 and world.gate_closed_at < world.scheduler.now:
            world.violate(f"{what} through a closed gate")

    def _is_being_asked_again(self, ledger: Ledger, repo: Repository, issue: int, digest: str) -> bool:
        """`--again` claims a run that is done; its verdict stays on disk until the new one replaces it."""
        with ledger._database.read() as tx:
            rows = tx.all("runs_of_issue", repo_id=repo.id, issue=issue)
        return any(row["digest"] == digest and row["verdict"] for row in rows)

    def stored(self, process: Process, repo: Repository, write: Write, receipt: Receipt) -> None:
        """A request was carried out: twins may only arise in the windows of the promise."""
        if process.name == "undo" and isinstance(write, DeleteComment):
            self.undone.add((repo.id, write.issue))
        if not isinstance(write, PostComment) or receipt.comment_id is None:
            return
        self.comment_ids.add(receipt.comment_id)
        if len(self.world.own(repo, write.issue)) > 1:
            self.twins += 1
            self.world.counts[f"twin by {', '.join(sorted(self.world.windows)) or 'nothing'}"] += 1
            if not self.world.windows:
                self.world.violate(f"a twin on {where(repo, write)} although no window was open")

    # --- what a process leaves behind

    def ends(self, ledger: Ledger, owner: str) -> None:
        """A process has come to its end by itself: it holds nothing any more, and has closed what it opened."""
        with ledger._database.read() as tx:
            for night in tx.all("nights", repo_id=0, nights=1_000):
                if night["owner"] == owner and night["finished_at"] is None:
                    self.world.violate(f"night {night['id']} of {night['repo']} is left open")
            for repo, number in self.world.issues():
                held = [*tx.all("runs_of_issue", repo_id=repo.id, issue=number)]
                held += tx.all("rows_of_issue", repo_id=repo.id, issue=number)
                if any(row["owner"] == owner and row["status"] in {"running", "sending"} for row in held):
                    self.world.violate(f"{repo.full_name}#{number} is still held by a process that has ended")


def where(repo: Repository, write: Write) -> str:
    return f"{repo.full_name}#{write.issue}"


def _stored_comments(repo: Repository, number: int) -> list[Comment]:
    issue = repo.kept.get(number)
    return issue.comments if isinstance(issue, Issue) else []


def _is_bot(actor: object) -> bool:
    return getattr(actor, "login", "") == BOT
