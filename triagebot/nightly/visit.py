"""One visit to one issue: what was seen there, and what each row of the parcel leads to. Decides, sends nothing."""

from __future__ import annotations

from dataclasses import dataclass, replace

from triagebot.core import comment, policy, standing
from triagebot.core.actions import Action, AddLabels, EditComment, PostComment, Write
from triagebot.core.issue import Snapshot
from triagebot.core.marker import Marker
from triagebot.core.rows import Memory, OutboxRow, Parcel, RowStatus
from triagebot.core.standing import Words
from triagebot.nightly.place import Place
from triagebot.nightly.settings import Settings


@dataclass
class Visit:
    """What is known during the visit: the parcel, the look, and how the labels row has ended."""

    parcel: Parcel
    look: Snapshot
    looked_at: float
    place: Place
    settings: Settings
    labels_ended: bool = True
    labels_dead: bool = False

    def __post_init__(self) -> None:
        digests = {row.ref.digest for row in self.parcel.rows}
        before = (r for r in self.memory.rows if r.action is Action.LABELS and r.ref.digest in digests)
        self.labels_dead = any(row.status is RowStatus.DEAD for row in before)

    @property
    def memory(self) -> Memory:
        return self.parcel.memory

    def labels_are_on(self, names: tuple[str, ...]) -> None:
        """The tracker answered with the labels that the issue has now: later words rest on them."""
        self.look = replace(self.look, labels=names)

    def decide(self, row: OutboxRow) -> standing.Step | Write:
        """What `row` leads to, on the issue as it is now: a write, or an end without one."""
        against = standing.obstacle(row, self.look)
        if against is not None:
            return against
        return self._labels(row) if row.action is Action.LABELS else self._comment(row)

    def _labels(self, row: OutboxRow) -> standing.Step | AddLabels:
        addable = self._addable(row)
        if addable.add:
            return AddLabels(issue=row.ref.issue, names=addable.add)
        return standing.Stands() if addable.standing else standing.Withdraw("nothing left to add")

    def _comment(self, row: OutboxRow) -> standing.Step | Write:
        said = self._words(row)
        step = standing.comment_step(
            row.ref.digest,
            self.look,
            identity=self.place.identity,
            has_words=bool(said) and self.settings.comments,
            silence=self.memory.silence,
            recorded=self.memory.recorded,
            revise=row.revise,
        )
        if isinstance(step, standing.Post) and self._answered_before():
            return standing.Withdraw("a comment that another account wrote for the bot stands there")
        if not isinstance(step, standing.Post | standing.Edit):
            return step
        try:
            body = self._body(row, said)
        except comment.CannotRender as fault:
            return standing.Bury(str(fault))
        if isinstance(step, standing.Edit):
            return EditComment(issue=row.ref.issue, comment_id=step.comment.id, body=body)
        return PostComment(issue=row.ref.issue, body=body)

    def _answered_before(self) -> bool:
        """An issue with a recorded comment gets no second one, whoever may be writing now, but after `--again`."""
        strange = standing.unrecognised(self.look, self.memory.recorded)
        return any(str(number) not in self.memory.silence.settled for number in strange)

    def _words(self, row: OutboxRow) -> Words:
        propose = self.labels_dead or self.settings.labels.mode is policy.Mode.SUGGEST
        return standing.words(row.votes, self._addable(row), propose=propose)

    def _addable(self, row: OutboxRow) -> policy.Addable:
        known = self.place.known if self.look.known is None else self.look.known
        return standing.labels_step(row.votes, self.look, labels=self.settings.labels, known=known)

    def _body(self, row: OutboxRow, said: Words) -> str:
        texts, verdict = self.settings.texts, self.memory.verdict
        marker, model = Marker(row.ref.day, row.ref.digest), verdict.model if verdict else ""
        if not said:
            return comment.neutral(texts.comment, marker=marker, model=model)
        return comment.render(
            texts.comment,
            marker=marker,
            applied=said.applied,
            suggested=said.suggested,
            model=model,
            secrets=texts.secrets,
        )
