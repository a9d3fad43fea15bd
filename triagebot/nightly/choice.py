"""Which issues are asked about tonight: those that wait longest, within the budget of issues and of authors.

Works on a stream, and holds no more text than tonight can use: a sweep may show ten thousand issues.
"""

from __future__ import annotations

import bisect
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from triagebot.core.issue import Snapshot
from triagebot.nightly.reconcile import Item
from triagebot.nightly.settings import Budget

TEXTS = 200
"""Issues held with their text. What comes after them in a longer list is read again when its turn comes."""

Rank = tuple[bool, bool, float, int, int]
Left = tuple[Item, str]
"""An issue that is left over, and the part of the budget that leaves it."""


def rank(item: Item, *, newest_first: bool) -> Rank:
    """Untried before retried, then oldest.

    Where the ledger was lost, newest first: the old ones were most likely answered in a way that left no marker.
    Beside repositories whose ledger is whole they stand back for one night, since those surely wait.
    """
    issue, sign = item.issue, -1 if newest_first else 1
    return item.tried, newest_first, sign * issue.created_at.timestamp(), sign * issue.number, issue.repo_id


@dataclass
class Shortlist:
    """The first items that the budget admits, of one repository or of many, in the order of `rank`."""

    budget: Budget
    _rows: list[tuple[Rank, Item]] = field(default_factory=list)
    _authors: dict[str, list[Rank]] = field(default_factory=lambda: defaultdict(list))

    def __iter__(self) -> Iterator[Item]:
        return (item for _, item in self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    def offer(self, item: Item, *, newest_first: bool = False) -> Left | None:
        """Take the item in, and say which one is left over for it: itself, a later one, or none."""
        place, author = rank(item, newest_first=newest_first), _author(item)
        ranks, share = self._authors[author], self.budget.per_author
        out: Left | None = None
        if share is not None and len(ranks) >= share:
            if ranks[-1] < place:
                return item, "budget.per_author"
            out = self._take_out(ranks[-1]), "budget.per_author"
        self._put_in(place, item)
        if self.budget.issues is not None and len(self._rows) > self.budget.issues:
            out = self._take_out(self._rows[-1][0]), "budget.issues"
        return out

    def _put_in(self, place: Rank, item: Item) -> None:
        bisect.insort(self._authors[_author(item)], place)
        at = bisect.bisect(self._rows, place, key=lambda row: row[0])
        self._rows.insert(at, (place, item))
        if len(self._rows) > TEXTS:
            beyond, last = self._rows[max(at, TEXTS)]
            self._rows[max(at, TEXTS)] = beyond, _lean(last)

    def _take_out(self, place: Rank) -> Item:
        _, item = self._rows.pop(bisect.bisect_left(self._rows, place, key=lambda row: row[0]))
        self._authors[_author(item)].remove(place)
        return item


def _lean(item: Item) -> Item:
    """What tells the issue, without what it says."""
    return item if item.lean else replace(item, issue=_told(item.issue), lean=True)


def _told(issue: Snapshot) -> Snapshot:
    return replace(issue, body="", comments=(), label_events=(), deletions=())


def _author(item: Item) -> str:
    return item.issue.author.login if item.issue.author else ""
