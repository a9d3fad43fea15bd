"""What every issue should carry, and what it does carry: asked of the embedded GitHub's memory, never of an answer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from triagebot.core import key, marker
from triagebot.core.marker import Marker
from triagebot.sandbox.hub import BOT, Hub
from triagebot.sandbox.repository import Repository
from triagebot.sandbox.state import Comment, Issue


@dataclass(frozen=True, kw_only=True, slots=True)
class Due:
    """What one issue should carry: these labels, and one comment of the bot's or none."""

    labels: frozenset[str]
    comment: bool

    def __str__(self) -> str:
        return f"{_comments(int(self.comment))} and {_labels(self.labels)}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Agreement:
    """How many labels both people and the model gave the issues, and how many only one of them."""

    both: int
    only_people: int
    only_model: int


def agreement(people: Mapping[int, frozenset[str]], model: Mapping[int, frozenset[str]]) -> Agreement:
    """Compare the labels that each gave, issue by issue."""
    return Agreement(
        both=sum(len(people[number] & model[number]) for number in people),
        only_people=sum(len(people[number] - model[number]) for number in people),
        only_model=sum(len(model[number] - people[number]) for number in people),
    )


def own(issue: Issue) -> list[Comment]:
    """The comments that the bot's account wrote, whatever they say."""
    return [comment for comment in issue.comments if comment.author.login == BOT]


def wrong(repo: Repository, due: Mapping[int, Due], *, marked: bool) -> list[str]:
    """A sentence for each issue that carries other than what it should, with both.

    `marked` is whether the bot's comments tell by their first line which text they are for, so that this
    can be asked for as well.
    """
    return [told for issue in repo.issues() if (told := _wrong(issue, due[issue.number], marked=marked))]


def _wrong(issue: Issue, due: Due, *, marked: bool) -> str | None:
    comments, labels = own(issue), frozenset(issue.labels)
    fits = not marked or all(_is_for(issue, comment) for comment in comments)
    if len(comments) == due.comment and labels == due.labels and fits:
        return None
    which = "" if fits else " (for another text)"
    return (
        f"issue {issue.number} should carry {due}; it carries {_comments(len(comments))}{which} and {_labels(labels)}"
    )


def _is_for(issue: Issue, comment: Comment) -> bool:
    found = marker.read(comment.body)
    return isinstance(found, Marker) and found.digest == key.digest(issue.title, issue.body or "")


def posted(hub: Hub) -> list[int]:
    """The issue of every comment that a bot has stored, first to last, whatever became of it since."""
    return [
        int(seen.path.split("/")[-2])
        for seen in hub.requests
        if seen.carried_out and seen.method == "POST" and seen.path.endswith("/comments")
    ]


def _comments(number: int) -> str:
    return {0: "no comment", 1: "1 comment"}.get(number, f"{number} comments")


def _labels(names: Iterable[str]) -> str:
    return ", ".join(sorted(names)) or "no label"
