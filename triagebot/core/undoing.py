"""What `undo` takes back on one issue: what is ours there, and nobody has touched since."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from triagebot.core import standing
from triagebot.core.actions import Action
from triagebot.core.issue import Authorship, Comment, Identity, LabelChange, LabelEvent, Snapshot, is_self
from triagebot.core.marker import Marker
from triagebot.core.rows import Memory, OutboxRow, Recorded


@dataclass(frozen=True, kw_only=True, slots=True)
class Takeback:
    """Labels to take off, comments to delete, and sentences on what stays."""

    labels: tuple[str, ...] = ()
    comments: tuple[Comment, ...] = ()
    stays: tuple[str, ...] = ()


def takeback(rows: Sequence[OutboxRow], look: Snapshot, *, identity: Identity, memory: Memory) -> Takeback:
    """Decide what of the written `rows` is to be taken back from the issue as it is now."""
    labels, labels_stay = _labels(rows, look, identity, _before(rows, memory))
    comments, comments_stay = _comments(rows, look, memory.recorded)
    return Takeback(labels=labels, comments=comments, stays=(*labels_stay, *comments_stay))


def _before(rows: Sequence[OutboxRow], memory: Memory) -> frozenset[str]:
    """Labels that an earlier text was given as well. It was then that they were set: one that came off since is
    never set again. So nothing hangs on what two clocks say."""
    first = min((row.id for row in rows), default=0)
    earlier = (row for row in memory.rows if row.id < first and row.action is Action.LABELS and row.attempt)
    return frozenset(vote.name.casefold() for row in earlier for vote in row.votes)


def _labels(
    rows: Sequence[OutboxRow], look: Snapshot, identity: Identity, before: Collection[str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    taken, stays = [], []
    on_issue = {name.casefold(): name for name in look.labels}
    voted = (vote.name.casefold() for row in rows if row.action is Action.LABELS for vote in row.votes)
    for name in dict.fromkeys(name for name in voted if name in on_issue):
        last = _last_event(name, look)
        if last is None or last.change is LabelChange.TAKEN_OFF or not is_self(identity, last.actor):
            stays.append(f"label {on_issue[name]}: {_who(last)} set it last")
        elif name in before:
            stays.append(f"label {on_issue[name]}: it was there before")
        else:
            taken.append(on_issue[name])
    return tuple(taken), tuple(stays)


def _last_event(name: str, look: Snapshot) -> LabelEvent | None:
    # The later one of a list in which two events may have the same second.
    events = [event for event in reversed(look.label_events) if event.label.casefold() == name]
    return max(events, key=lambda event: event.at, default=None)


def _who(event: LabelEvent | None) -> str:
    if event is None or event.change is LabelChange.TAKEN_OFF:
        return "somebody"
    return event.actor.login if event.actor else "a deleted account"


def _comments(
    rows: Sequence[OutboxRow], look: Snapshot, recorded: Sequence[Recorded]
) -> tuple[tuple[Comment, ...], tuple[str, ...]]:
    taken, stays = [], []
    digests = {row.ref.digest for row in rows if row.action is Action.COMMENT}
    for comment in standing.own_comments(look, recorded) if digests else ():
        if (why := _untouchable(comment, digests)) is None:
            taken.append(comment)
        else:
            stays.append(f"comment {comment.id}: {why}")
    return tuple(taken), tuple(stays)


def _untouchable(comment: Comment, digests: set[str]) -> str | None:
    if comment.edited_by_other:
        return "a person edited it"
    if comment.by is not Authorship.OWN:
        return "another account wrote it"
    if not isinstance(comment.marker, Marker):
        return "its first line is not this version's marker"
    return None if comment.marker.digest in digests else "it is for another text"
