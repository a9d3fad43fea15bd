"""What stands on an issue, what should stand, and the one step from the first to the second.

The same rules serve the sweep, which only notices a difference, and the look right
before a write, which decides. So a text that changes back, an issue opened again, a
late write and a lost ledger are all mended alike.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from triagebot.core import policy
from triagebot.core.actions import Action
from triagebot.core.issue import Authorship, Comment, Identity, Snapshot, is_self
from triagebot.core.marker import Marker, Unreadable
from triagebot.core.policy import LabelPolicy, Mode
from triagebot.core.rows import OutboxRow, Planned, Recorded, Silence
from triagebot.core.verdict import Outcome, Verdict, Vote


@dataclass(frozen=True, slots=True)
class Post:
    """No comment of ours is there: write it."""


@dataclass(frozen=True, slots=True)
class Edit:
    """Our comment is there for another text, or is to be revised: change its words."""

    comment: Comment


@dataclass(frozen=True, slots=True)
class Stands:
    """What the row asks for is on the issue: nothing to write. The comment is `None` for labels."""

    comment: Comment | None = None


@dataclass(frozen=True, slots=True)
class Silenced:
    """A person deleted our comment: none is written on this issue again."""

    reason: str


@dataclass(frozen=True, slots=True)
class Withdraw:
    """The write is not wanted any more, and why."""

    reason: str


@dataclass(frozen=True, slots=True)
class Bury:
    """The write can never be carried out, and why."""

    reason: str


Step = Post | Edit | Stands | Silenced | Withdraw | Bury


@dataclass(frozen=True, kw_only=True, slots=True)
class Words:
    """What a comment may truthfully say: labels that are on the issue, and labels that are only proposed."""

    applied: tuple[Vote, ...] = ()
    suggested: tuple[Vote, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.applied or self.suggested)


def own_comments(look: Snapshot, recorded: Collection[Recorded] = ()) -> tuple[Comment, ...]:
    """Our comments on the issue: marked ones, and recorded ones whatever became of their marker."""
    ids = {r.id for r in recorded}
    return tuple(c for c in look.comments if c.marker is not None or c.id in ids)


def plan(verdict: Verdict, *, mode: Mode, comments: bool, standing: bool) -> tuple[Planned, ...]:
    """The outbox rows that a verdict asks for.

    `comments` is whether new comments are written, `standing` whether one of ours may be on the
    issue already: that one is kept true, also by "nothing fits", and after comments were switched off.
    """
    if verdict.outcome not in {Outcome.LABELLED, Outcome.NOTHING_FITS}:
        return ()
    rows = []
    if verdict.labels and mode is Mode.APPLY:
        rows.append(Planned(action=Action.LABELS, votes=verdict.labels))
    if (comments and verdict.labels) or standing:
        rows.append(Planned(action=Action.COMMENT, votes=verdict.labels))
    return tuple(rows)


def obstacle(row: OutboxRow, look: Snapshot) -> Withdraw | Bury | None:
    """What stands against writing `row` to the issue as it is now."""
    if look.repo_id != row.ref.repo_id:
        return Bury("moved to another repository")
    if look.closed or look.locked:
        return Withdraw("closed" if look.closed else "locked")
    if look.digest != row.ref.digest:
        return Withdraw("changed")
    if other_version(look) is not None:
        return Withdraw("a comment of another triagebot version stands there")
    return None


def other_version(look: Snapshot) -> Comment | None:
    """Our comment whose marker this version cannot read: then nothing is written on the issue."""
    return next((c for c in look.comments if isinstance(c.marker, Unreadable)), None)


def comment_step(
    digest: str,
    look: Snapshot,
    *,
    identity: Identity,
    has_words: bool,
    silence: Silence,
    recorded: Sequence[Recorded] = (),
    revise: bool = False,
) -> Step:
    """Decide what is to be done about the one comment for `digest`. The lowest own id is the one that counts."""
    own = own_comments(look, recorded)
    if own:
        return _step_from(own[0], digest, revise=revise)
    deleted = deleted_by_people(look, identity, silence)
    if deleted or silence.silent:
        return Silenced(deleted or "deleted by a person before")
    return Post() if has_words else Withdraw("nothing left to say")


def _step_from(comment: Comment, digest: str, *, revise: bool) -> Step:
    if comment.edited_by_other:
        return Withdraw("edited by a person")
    if isinstance(comment.marker, Marker) and comment.marker.digest == digest and not revise:
        return Stands(comment)
    if comment.by is not Authorship.OWN:
        return Withdraw("an earlier account's comment stands there")
    return Edit(comment)


def deleted_by_people(look: Snapshot, identity: Identity, silence: Silence) -> str | None:
    """How we know that a person deleted our comment, or `None`. What `--again` has settled no longer counts."""
    for event in look.deletions:
        ours = is_self(identity, event.author) and not is_self(identity, event.actor)
        if ours and event.id not in silence.settled:
            return f"deleted by {event.actor.login if event.actor else 'a deleted account'}"
    gone = sorted(i for i in look.gone if str(i) not in silence.settled)
    return f"comment {gone[0]} is gone" if gone else None


def unrecognised(look: Snapshot, recorded: Collection[Recorded]) -> frozenset[int]:
    """Recorded comments that answered the look by their id and are not ours by today's account."""
    return frozenset(r.id for r in recorded) - look.gone - {c.id for c in look.comments}


def settled_by_again(look: Snapshot, identity: Identity, recorded: Collection[Recorded] = ()) -> frozenset[str]:
    """What a person's `--again --issue N` declares settled: deletions, and comments that were ours once."""
    events = {e.id for e in look.deletions if is_self(identity, e.author)}
    return frozenset(events | {str(i) for i in look.gone | unrecognised(look, recorded)})


def labels_step(votes: Sequence[Vote], look: Snapshot, *, labels: LabelPolicy, known: Sequence[str]) -> policy.Addable:
    """Decide which labels are to be added to the issue as it is now."""
    return policy.addable(labels, [v.name for v in votes], on_issue=look.labels, taken_off=look.taken_off, known=known)


def words(votes: Sequence[Vote], addable: policy.Addable, *, propose: bool) -> Words:
    """What the comment says. Labels still to be added are only proposed, or not mentioned at all."""
    standing = {name.casefold() for name in addable.standing}
    missing = {name.casefold() for name in addable.add} if propose else set()
    return Words(
        applied=tuple(v for v in votes if v.name.casefold() in standing),
        suggested=tuple(v for v in votes if v.name.casefold() in missing),
    )


def twins(look: Snapshot) -> tuple[Comment, ...]:
    """Own comments beside the one that stays (the lowest id), which are still to be removed or hidden.

    A comment of an earlier account counts as the one that stays, but is never removed.
    """
    return tuple(c for c in look.marked[1:] if c.by is Authorship.OWN and not c.minimized)
