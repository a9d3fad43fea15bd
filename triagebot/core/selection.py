"""Which issues a night takes, and the reason for each one that it leaves alone."""

from __future__ import annotations

import enum
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta

from triagebot.core.issue import Authorship, Identity, LabelChange, LabelEvent, Snapshot, authorship, is_self

_FORM_GRACE = timedelta(seconds=10)
"""An issue form sets its labels together with the opening; a person takes longer than this."""

_MAINTAINERS = frozenset({"OWNER", "MEMBER", "COLLABORATOR"})


class Skip(enum.StrEnum):
    """Why an issue is not taken. A skip is an ordinary outcome: counted and reported."""

    CLOSED = "closed"
    LOCKED = "locked"
    BOT = "opened by a bot"
    YOUNG = "younger than select.wait"
    OLD = "older than select.horizon"
    LABELLED = "labelled by people"
    OTHER_VERSION = "carries a comment of another triagebot version"
    DEAD = "given up after three failed days"
    SILENCED = "comment deleted by a person, and only comments are asked for"


@dataclass(frozen=True, kw_only=True, slots=True)
class Select:
    """The `select` section of the config. `horizon` `None` takes issues of any age."""

    skip_labelled: bool = True
    skip_bots: bool = True
    wait: timedelta = timedelta(0)
    horizon: timedelta | None = timedelta(days=30)


EVERYTHING = Select(skip_labelled=False, skip_bots=False, horizon=None)


def skip(
    issue: Snapshot, select: Select, *, now: datetime, identity: Identity, allowed: Collection[str], known: bool
) -> Skip | None:
    """Return why `issue` is left alone, or `None` where it is taken.

    `known` tells that it has a verdict or a comment of ours: such an issue is never
    skipped for its age or its labels, since what stands on it is ours to keep right.
    """
    if issue.closed:
        return Skip.CLOSED
    if issue.locked:
        return Skip.LOCKED
    if known:
        return None
    if select.skip_bots and issue.author is not None and issue.author.bot:
        return Skip.BOT
    return _by_age(issue, select, now) or _by_labels(issue, select, identity, allowed)


def _by_age(issue: Snapshot, select: Select, now: datetime) -> Skip | None:
    age = now - issue.created_at
    if age < select.wait:
        return Skip.YOUNG
    return Skip.OLD if select.horizon is not None and age > select.horizon else None


def _by_labels(issue: Snapshot, select: Select, identity: Identity, allowed: Collection[str]) -> Skip | None:
    names = {name.casefold() for name in allowed}
    if not select.skip_labelled:
        return None
    by_people = (_set_by_people(issue, label, identity) for label in issue.labels if label.casefold() in names)
    return Skip.LABELLED if any(by_people) else None


def judged(issue: Snapshot, identity: Identity) -> tuple[str, ...] | None:
    """What a history learns from: the labels on `issue` that a person set there, or `None` where no judgement is seen.

    No label at all on a closed issue is a judgement, too: people looked at it, and nothing was to be said.
    Without such examples a classifier labels whatever it is shown.
    Stricter than the rule by which an issue counts as labelled. A label that a bot set, or an account
    that wrote for us before, is no person's judgement either; a label that was taken off again is
    on no list. One that came with the form counts where the author belongs to the project.
    """
    if not issue.labels:
        return () if issue.closed else None
    by_people = tuple(
        label
        for label in issue.labels
        if _set_by_people(issue, label, identity) and not _by_machine(issue, label, identity)
    )
    return by_people or None


def _by_machine(issue: Snapshot, label: str, identity: Identity) -> bool:
    """Whether a bot, or an earlier account of ours, set `label` last."""
    setters = [put.actor for put in _puts(issue, label)][-1:]
    return any(
        actor is not None
        and (actor.bot or authorship(identity, actor, viewer_did_author=False) is not Authorship.STRANGER)
        for actor in setters
    )


def _set_by_people(issue: Snapshot, label: str, identity: Identity) -> bool:
    """Whether a person put `label` on the issue; one whose setter nobody knows counts as a person's."""
    puts = _puts(issue, label)
    return not puts or not (is_self(identity, puts[-1].actor) or _came_with_the_form(issue, puts[-1]))


def _puts(issue: Snapshot, label: str) -> list[LabelEvent]:
    name = label.casefold()
    return [e for e in issue.label_events if e.change is LabelChange.PUT_ON and e.label.casefold() == name]


def _came_with_the_form(issue: Snapshot, put: LabelEvent) -> bool:
    return issue.association not in _MAINTAINERS and put.at - issue.created_at <= _FORM_GRACE
