"""The hidden first line by which the bot recognises its own comment.

A marker only means something in a comment written by the bot's own account; who
wrote a comment is not decided here but in `core.issue.authorship`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date

_PREFIX = "<!-- triagebot v"
_LINE = re.compile(r"<!-- triagebot v1 triage:(\d{4}-\d{2}-\d{2}):([0-9a-f]{16}) -->")


@dataclass(frozen=True, slots=True)
class Marker:
    """A marker of the version that this program writes."""

    day: date
    digest: str

    def __str__(self) -> str:
        return f"<!-- triagebot v1 triage:{self.day.isoformat()}:{self.digest} -->"


@dataclass(frozen=True, slots=True)
class Unreadable:
    """The comment says it is triagebot's, in words this version cannot read: nothing is written there."""

    line: str


def read(body: str) -> Marker | Unreadable | None:
    """Return the marker on the first line of a comment body, or `None` for an unmarked comment."""
    line = body.split("\n", 1)[0].rstrip()
    if not line.startswith(_PREFIX):
        return None
    found = _LINE.fullmatch(line)
    if found is None:
        return Unreadable(line)
    try:
        return Marker(date.fromisoformat(found[1]), found[2])
    except ValueError:
        return Unreadable(line)
