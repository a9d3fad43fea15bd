"""Which issues are asked about tonight, by the budget of issues and of authors; the rest is left, and said so."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from triagebot.nightly.reconcile import Item
from triagebot.nightly.report import Ended, Entry, Tally
from triagebot.nightly.settings import Budget


def cut(items: Sequence[Item], budget: Budget, tally: Tally) -> list[Item]:
    """The first items that the budget admits; each of the others is entered as left over, with the reason."""
    authors: Counter[str] = Counter()
    chosen: list[Item] = []
    for item in items:
        author = item.issue.author.login if item.issue.author else ""
        reason = _over(budget, len(chosen), authors[author])
        if reason is None:
            chosen.append(item)
            authors[author] += 1
        else:
            tally.enter(Entry(issue=item.ref.issue, ended=Ended.LEFT, title=item.issue.title, reason=reason))
    return chosen


def _over(budget: Budget, chosen: int, by_author: int) -> str | None:
    if budget.issues is not None and chosen >= budget.issues:
        return "budget.issues"
    return "budget.per_author" if budget.per_author is not None and by_author >= budget.per_author else None
