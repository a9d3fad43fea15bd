"""Histories that are small enough to read: what people write, and what it was labelled."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from triagebot.core.past import Past

_PARTS = ("the editor", "our parser", "a window", "the cache", "the installer", "the menu", "a plugin", "the log")
_WHEN = ("after the update", "on every start", "with two files", "in the morning", "since last week")

WORDING = {
    "bug": ("{part} crashes {when}", "It crashed {when}: an exception in {part}, and a traceback."),
    "feature": ("Please support themes in {part}", "It would be nice to have themes for {part} {when}."),
    "question": ("How do I configure {part}?", "I wonder how to set up {part} {when}. Is it in the manual?"),
    "docs": ("Typo in the guide to {part}", "The documentation of {part} has a wrong sentence; see the guide {when}."),
    "": ("Weekly notes on {part}", "Minutes of our meeting about {part} {when}."),
}


def wordings(kind: str, count: int) -> list[tuple[str, str]]:
    """Return `count` different (title, body) of one kind."""
    title, body = WORDING[kind]
    pairs = itertools.islice(itertools.product(_PARTS, _WHEN), count)
    return [(title.format(part=part, when=when), body.format(part=part, when=when)) for part, when in pairs]


def history(*kinds: str, each: int = 16, repo: str = "") -> list[Past]:
    """Return a history in which each issue carries the label of its kind; the kind "" carries none."""
    return [
        Past(title=title, body=body, labels=(kind,) if kind else (), repo=repo)
        for kind in kinds
        for title, body in wordings(kind, each)
    ]


def labelled(texts: Sequence[tuple[str, str]], *labels: str, repo: str = "") -> list[Past]:
    return [Past(title=title, body=body, labels=labels, repo=repo) for title, body in texts]
