"""For each issue of the sweep: leave it, mend what stands, or send it to triage."""

from __future__ import annotations

from dataclasses import dataclass, field

from triagebot.core import policy, selection, standing
from triagebot.core.actions import Action
from triagebot.core.issue import Snapshot
from triagebot.core.key import Ref
from triagebot.core.marker import Marker
from triagebot.core.policy import Mode
from triagebot.core.rows import Memory, Night, Planned, Recorded
from triagebot.core.selection import Skip
from triagebot.core.verdict import Outcome, Verdict
from triagebot.nightly.outcomes import Outcomes
from triagebot.nightly.place import Place
from triagebot.nightly.ports import Clock, Ledger
from triagebot.nightly.report import Ended, Entry, Tally
from triagebot.nightly.settings import Orders, Settings


@dataclass(frozen=True, kw_only=True, slots=True)
class Item:
    """An issue to ask the model about. `standing`: a comment of ours may be there already. `lean`: what the issue
    says was not kept, and is to be read again."""

    issue: Snapshot
    ref: Ref
    again: bool = False
    tried: bool = False
    standing: bool = False
    lean: bool = False


@dataclass
class Reconciler:
    """Compares what the ledger remembers with what stands. Writes only to the ledger."""

    ledger: Ledger
    place: Place
    settings: Settings
    orders: Orders
    night: Night
    clock: Clock
    tally: Tally
    twins: list[Snapshot] = field(default_factory=list)
    own_seen: bool = False
    outcomes: Outcomes = field(init=False)

    def __post_init__(self) -> None:
        self.outcomes = Outcomes(self.ledger, self.place, self.settings.labels, self.clock.now(), self.tally)

    def consider(self, issue: Snapshot) -> Item | None:
        """Return the issue as work for the model, or `None` where there is none."""
        ref = Ref(repo_id=self.place.repository.id, issue=issue.number, day=self.night.day, digest=issue.digest)
        memory = self._recall(ref, issue)
        self.outcomes.see(issue, memory)
        own = standing.own_comments(issue, memory.recorded)
        self.own_seen = self.own_seen or bool(own)
        reason = self._skip(issue, memory, known=bool(own) or memory.verdict is not None)
        if reason in {None, Skip.DEAD} and standing.twins(issue):
            self.twins.append(issue)
        if reason is not None:
            self._enter(issue, Ended.DEAD if reason is Skip.DEAD else Ended.SKIPPED, reason.value)
            return None
        if self.orders.again or not self._answered(ref, issue, memory):
            return Item(
                issue=issue,
                ref=ref,
                again=self.orders.again or memory.verdict is not None,
                tried=memory.tried,
                standing=bool(own or memory.recorded),
            )
        self._enter(issue, Ended.STANDING)
        return None

    def end(self) -> bool:
        """All issues were considered: note what people did. Returns whether the newest go first, since the ledger was
        lost: no finished night in it, yet own comments on the issues."""
        self.outcomes.record()
        return self.night.first and self.own_seen

    def mend(self, issue: Snapshot) -> bool:
        """Open the rows that an issue wants after its twins have gone; whether there are any."""
        ref = Ref(repo_id=self.place.repository.id, issue=issue.number, day=self.night.day, digest=issue.digest)
        memory = self.ledger.recall(ref.repo_id, ref.issue, ref.digest)
        if memory.verdict is None or memory.verdict.outcome is Outcome.STANDING:
            return False
        return self._mend(ref, issue, memory, memory.verdict)

    def _recall(self, ref: Ref, issue: Snapshot) -> Memory:
        memory = self.ledger.recall(ref.repo_id, ref.issue, ref.digest)
        deleted = standing.deleted_by_people(issue, self.place.identity, memory.silence)
        if self.orders.again and self.orders.issues:
            settled = standing.settled_by_again(issue, self.place.identity, memory.recorded)
            self.ledger.lift_silence(ref.repo_id, ref.issue, settled=settled)
        elif deleted and not memory.silence.silent and not standing.own_comments(issue, memory.recorded):
            self.ledger.silence(ref.repo_id, ref.issue, reason=deleted)
        else:
            return memory
        return self.ledger.recall(ref.repo_id, ref.issue, ref.digest)

    def _skip(self, issue: Snapshot, memory: Memory, *, known: bool) -> Skip | None:
        if standing.other_version(issue) is not None:
            return Skip.OTHER_VERSION
        reason = selection.skip(
            issue,
            self.settings.select,
            now=self.clock.now(),
            identity=self.place.identity,
            allowed=[label.name for label in self.place.usable],
            known=known,
        )
        if reason is None and memory.dead is not None and not self.orders.again:
            return Skip.DEAD
        if reason is None and memory.silence.silent and self.settings.labels.mode is Mode.SUGGEST:
            return Skip.SILENCED  # `--again --issue N` has lifted the silence by now
        return reason

    def _answered(self, ref: Ref, issue: Snapshot, memory: Memory) -> bool:
        """Whether this text needs no model call; opens the rows that mend what stands."""
        if memory.verdict is None:
            return self._adopt(ref, issue, memory)
        if memory.verdict.outcome is Outcome.STANDING:
            step = self._comment_step(ref, issue, memory, memory.verdict)
            return not isinstance(step, standing.Edit | standing.Post)
        self._mend(ref, issue, memory, memory.verdict)
        return True

    def _mend(self, ref: Ref, issue: Snapshot, memory: Memory, verdict: Verdict) -> bool:
        opened = [self.ledger.mend(ref, planned) for planned in self._wanting(ref, issue, memory, verdict)]
        self.tally.count("mended", sum(opened))
        return any(opened)

    def _adopt(self, ref: Ref, issue: Snapshot, memory: Memory) -> bool:
        """An own comment with today's digest is the answer: a lost ledger finds it again without a call."""
        for comment in standing.own_comments(issue, memory.recorded):
            if isinstance(comment.marker, Marker) and comment.marker.digest == ref.digest:
                if self.ledger.adopt(ref, self.night, Recorded(id=comment.id, node=comment.node)):
                    self.tally.count("adopted")
                return True
        return False

    def _wanting(self, ref: Ref, issue: Snapshot, memory: Memory, verdict: Verdict) -> list[Planned]:
        """The rows whose effect is missing on the issue."""
        may_stand = bool(standing.own_comments(issue, memory.recorded))
        planned = standing.plan(
            verdict, mode=self.settings.labels.mode, comments=self.settings.comments, standing=may_stand
        )
        return [row for row in planned if self._is_wanting(row, ref, issue, memory, verdict)]

    def _is_wanting(self, row: Planned, ref: Ref, issue: Snapshot, memory: Memory, verdict: Verdict) -> bool:
        if row.action is Action.LABELS:
            return bool(self._addable(issue, verdict).add)
        return isinstance(self._comment_step(ref, issue, memory, verdict), standing.Edit | standing.Post)

    def _comment_step(self, ref: Ref, issue: Snapshot, memory: Memory, verdict: Verdict) -> standing.Step:
        words = standing.words(verdict.labels, self._addable(issue, verdict), propose=True)
        return standing.comment_step(
            ref.digest,
            issue,
            identity=self.place.identity,
            has_words=self.settings.comments and (bool(words) or verdict.outcome is Outcome.STANDING),
            silence=memory.silence,
            recorded=memory.recorded,
        )

    def _addable(self, issue: Snapshot, verdict: Verdict) -> policy.Addable:
        return standing.labels_step(verdict.labels, issue, labels=self.settings.labels, known=self.place.known)

    def _enter(self, issue: Snapshot, ended: Ended, reason: str = "") -> None:
        self.tally.enter(Entry(issue=issue.number, ended=ended, title=issue.title, reason=reason))
