"""What people did with the labels that we set: the one verdict on ours that counts, read from an issue's events."""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from triagebot.core import policy
from triagebot.core.actions import Action
from triagebot.core.issue import (
    Actor,
    Authorship,
    Identity,
    Label,
    LabelChange,
    LabelEvent,
    Snapshot,
    authorship,
    is_self,
)
from triagebot.core.policy import LabelPolicy
from triagebot.core.rows import OutboxRow

SKEW = timedelta(minutes=2)
"""How far the ledger's clock may be ahead of the tracker's, whose events tell full seconds only."""

_BEFORE, _AFTER = timedelta(hours=1), timedelta(days=1)
"""Around a removal: who knows a better label puts it on in the same sitting, or the next morning. What comes later
says something new about the issue."""


class Fate(enum.StrEnum):
    """What became of a label. `UNDONE`: a program took it off, `triagebot undo` included; nobody's judgement."""

    KEPT = "kept"
    REMOVED = "removed"
    REPLACED = "replaced"
    UNDONE = "undone"


@dataclass(frozen=True, kw_only=True, slots=True)
class LabelOutcome:
    """A label that we set on an issue, and what had become of it when the issue was last seen.

    `digest` is the text whose verdict named it, `set_at` the tracker's time of the event.
    """

    issue: int
    label: str
    digest: str
    set_at: datetime
    fate: Fate


def judge(
    issue: Snapshot,
    rows: Sequence[OutboxRow],
    known: Sequence[LabelOutcome] = (),
    *,
    identity: Identity,
    labels: LabelPolicy,
    since: datetime,
) -> tuple[LabelOutcome, ...]:
    """What became of the labels that we set on `issue` at or after `since`.

    Ours is what our account put on after a verdict of ours had named it: other programs may share the account.
    `rows` are the issue's outbox rows, oldest first. What is `known` from before stays ours, even where `--again`
    has put other names in the place of those that a text was given first. A label that went without an event (it
    was deleted or renamed in the repository) was judged by nobody, and is left out.
    """
    seen = _Seen(issue, sorted(issue.label_events, key=lambda event: event.at), identity, labels)
    noted = {outcome.label.casefold(): outcome for outcome in known}
    ours = {**_set_by_us(seen, rows), **noted}
    judged = ((outcome, _fate(seen, outcome, ours)) for outcome in ours.values() if outcome.set_at >= since)
    return tuple(replace(outcome, fate=fate) for outcome, fate in judged if fate is not None)


@dataclass(frozen=True, slots=True)
class _Seen:
    """The issue as it was seen, its label events in the order of their times, and what they are held against."""

    issue: Snapshot
    events: Sequence[LabelEvent]
    identity: Identity
    labels: LabelPolicy

    def of(self, label: str) -> Sequence[LabelEvent]:
        return [event for event in self.events if event.label.casefold() == label.casefold()]

    def by_person(self, event: LabelEvent) -> bool:
        """Somebody whose account is gone counts as a person, and none of our earlier accounts does."""
        return not (_is_bot(event.actor) or _is_ours(self.identity, event.actor))


def _is_bot(actor: Actor | None) -> bool:
    return actor is not None and actor.bot


def _is_ours(identity: Identity, actor: Actor | None) -> bool:
    also = authorship(identity, actor, viewer_did_author=False) is Authorship.ALSO
    return also or is_self(identity, actor)


def _set_by_us(seen: _Seen, rows: Sequence[OutboxRow]) -> Mapping[str, LabelOutcome]:
    """By casefolded name, each label at the first event that a verdict of ours led to: we never put one on again."""
    found: dict[str, LabelOutcome] = {}
    for event in seen.events:
        row = _asked_for(event, rows) if _put_on_by_us(seen.identity, event) else None
        if row is not None:
            outcome = LabelOutcome(
                issue=seen.issue.number, label=event.label, digest=row.ref.digest, set_at=event.at, fate=Fate.KEPT
            )
            found.setdefault(event.label.casefold(), outcome)
    return found


def _put_on_by_us(identity: Identity, event: LabelEvent) -> bool:
    return event.change is LabelChange.PUT_ON and is_self(identity, event.actor)


def _asked_for(event: LabelEvent, rows: Sequence[OutboxRow]) -> OutboxRow | None:
    """The newest row that was there, that was claimed at least once, and whose votes name the label.

    However a claimed row ended, its write may have gone out, and the event shows that it did.
    """
    able = (r for r in reversed(rows) if r.action is Action.LABELS and r.attempt and r.created_at <= event.at + SKEW)
    return next((row for row in able if event.label.casefold() in {vote.name.casefold() for vote in row.votes}), None)


def _fate(seen: _Seen, outcome: LabelOutcome, ours: Mapping[str, object]) -> Fate | None:
    name = outcome.label.casefold()
    if any(label.casefold() == name for label in seen.issue.labels):
        return Fate.KEPT
    last = seen.of(name)[-1:]
    if not last or last[0].change is not LabelChange.TAKEN_OFF:
        return None
    if not seen.by_person(last[0]):
        return Fate.UNDONE
    return Fate.REPLACED if any(_better(seen, outcome, last[0], ours)) else Fate.REMOVED


def _better(seen: _Seen, outcome: LabelOutcome, removal: LabelEvent, ours: Mapping[str, object]) -> Iterator[str]:
    """What people put on in the place of the label: around its removal, and no earlier than it was set."""
    earliest, latest = max(outcome.set_at, removal.at - _BEFORE), removal.at + _AFTER
    puts = (e for e in seen.events if e.change is LabelChange.PUT_ON and earliest <= e.at <= latest)
    names = (event.label for event in puts if seen.by_person(event) and event.label.casefold() not in ours)
    return (name for name in names if _could_stand_for(seen.labels, name, outcome.label))


def _could_stand_for(labels: LabelPolicy, other: str, name: str) -> bool:
    """Whether we might have set the other one instead: of the same group, or both of none."""
    if not policy.usable(labels, [Label(name=other)]):
        return False
    groups = policy.members(labels.groups, [name, other])
    return not any(groups) or any(len(members) == 2 for members in groups)
