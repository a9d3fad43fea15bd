"""The past of a repository: which issues people have judged, a page at a time."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from triagebot.core import history, selection
from triagebot.core.issue import Snapshot
from triagebot.core.past import Past
from triagebot.github import records
from triagebot.github.issues import LISTS, MOST_IDS, Appetite, Issues, pages
from triagebot.github.records import Page

_NEWEST: Mapping[str, Any] = {"order": {"field": "CREATED_AT", "direction": "DESC"}, "filter": None}
_BY_CHANGE = {"field": "UPDATED_AT", "direction": "ASC"}


class Archive(Issues):
    """Issues in any state, without their comments."""

    lists = {name: LISTS[name] for name in ("labels", "timelineItems")}  # noqa: RUF012 - a constant

    def labelled(self, *, since: datetime | None, after: str | None) -> Iterator[history.Page]:
        """Pages of up to 100 issues, one request each: the newest first, or those that changed at or after `since`.

        The latter come with the oldest change first: what changes while they are read moves to
        the end, so nothing is missed. `after` goes on behind a page of the same kind.
        """
        appetite = Appetite(MOST_IDS)
        asked = _NEWEST if since is None else {"order": _BY_CHANGE, "filter": {"since": _moment(since)}}

        def page(behind: str | None) -> Page:
            return appetite.fill(functools.partial(self._listed, asked, behind))

        for found in pages(page(after), page):
            yield self._told(found)

    def _listed(self, asked: Mapping[str, Any], after: str | None, size: int) -> Page:
        data = self._query("history", **self._place, **asked, first=size, after=after)
        return records.page(data, "repository", "issues")

    def _told(self, page: Page) -> history.Page:
        issues = [(issue, selection.judged(issue, self._identity)) for issue in self._known(page.nodes)]
        return history.Page(
            past=tuple(self._past(issue, labels) for issue, labels in issues if labels is not None),
            gone=tuple(issue.number for issue, labels in issues if labels is None),
            after=page.following,
            updated=max(map(records.updated, page.nodes), default=None),
        )

    def _past(self, issue: Snapshot, labels: tuple[str, ...]) -> Past:
        return Past(
            title=issue.title,
            body=issue.body,
            labels=labels,
            number=issue.number,
            created_at=issue.created_at,
            repo=self._repository.name,
        )


def _moment(at: datetime) -> str:
    return at.strftime("%Y-%m-%dT%H:%M:%SZ")
