"""How issues are read: every nested list to its end, ours told from strangers', recorded comments by their id."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol, TypeVar

from triagebot.core.faults import Gone, Misconfigured, Moved, Unclear
from triagebot.core.issue import Comment, Identity, Repository, Snapshot
from triagebot.core.rows import Recorded
from triagebot.github import records
from triagebot.github.records import Json, Lists, Page

T = TypeVar("T")
_log = logging.getLogger(__name__)

LISTS = {"labels": "labels", "comments": "comments", "timelineItems": "events"}  # name in the schema: document
MOST_IDS = 100  # GitHub's bound on `nodes(ids:)`, and on a page
_SMALLEST_PAGE = 5
_PATIENCE = 3


class Query(Protocol):
    """Sends one of `queries/*.graphql`; returns its data or raises."""

    def __call__(self, document: str, /, **variables: Any) -> Json: ...


class Appetite:
    """How much one read asks for: GitHub gives up after 10 s of work, so a failed page is asked again, smaller."""

    def __init__(self, size: int = 1) -> None:
        self.size = size
        self._smallest = min(size, _SMALLEST_PAGE)

    def fill(self, read: Callable[[int], T]) -> T:
        """Read until an answer can be believed. Raises the last `Unclear` after three of the smallest size."""
        failures = 0
        while True:
            try:
                return read(self.size)
            except Unclear as fault:
                failures += self.size == self._smallest
                if failures == _PATIENCE:
                    raise
                self.size = max(self._smallest, self.size // 2)
                _log.warning("%s Asking again, for %d at a time.", fault, self.size)


def patient(query: Query) -> Query:
    """The same query, asked up to three times: for reads that no lease is waiting for."""

    def ask(document: str, /, **variables: Any) -> Json:
        return Appetite().fill(lambda _: query(document, **variables))

    return ask


class Issues:
    """The issues of one repository, as one account sees them. `lists`: the nested lists that its documents ask for."""

    lists: Mapping[str, str] = LISTS

    def __init__(self, query: Query, repository: Repository, identity: Identity) -> None:
        self._query = query
        self._repository = repository
        self._identity = identity
        owner, name = repository.name.split("/", 1)
        self._place = {"owner": owner, "name": name}

    def sweep(self) -> Iterator[Snapshot]:
        appetite = Appetite(MOST_IDS)

        def page(after: str | None) -> Page:
            return appetite.fill(functools.partial(self._page, after))

        for found in pages(page(None), page):
            yield from self._known(found.nodes)

    def look(self, number: int, recorded: Sequence[Recorded]) -> Snapshot:
        known = [one for one in recorded if one.node]
        comments: list[Comment] = []
        gone: set[int] = set()
        issue: Json = {}
        names: tuple[str, ...] | None = None
        # One request, unless the ledger has recorded more than 100 comments on this issue.
        for start in range(0, len(known) or 1, MOST_IDS):
            some = known[start : start + MOST_IDS]
            data = self._looked_at(number, [one.node for one in some])
            issue, names = self._issue(data, number), records.names(data)
            for one, node in zip(some, records.nodes(data, len(some)), strict=True):
                comments += self._answering(node, one, gone)
        return replace(self._ours(self._snapshot(issue, self._query, comments, gone)), known=names)

    def look_again(self, nodes: Sequence[str]) -> Iterator[Snapshot]:
        appetite = Appetite(MOST_IDS)
        waiting = list(dict.fromkeys(nodes))
        while waiting:
            found = appetite.fill(functools.partial(self._again, waiting))
            del waiting[: len(found)]
            yield from self._known([node for node in found if node and node.get("__typename") == "Issue"])

    def comment(self, recorded: Recorded) -> Comment | None:
        if not recorded.node:
            raise Unclear(f"Comment {recorded.id} has no node id in the ledger, so it cannot be read by its id.")
        node = self._query("comment", id=recorded.node).get("node")
        return next(iter(self._answering(node, recorded, set())), None)

    def _page(self, after: str | None, size: int) -> Page:
        data = self._query("sweep", **self._place, first=size, after=after)
        return records.page(data, "repository", "issues")

    def _again(self, waiting: Sequence[str], size: int) -> Sequence[Json | None]:
        some = waiting[:size]
        return records.nodes(self._query("look_again", ids=some), len(some))

    def _issue(self, data: Json, number: int) -> Json:
        home = data.get("repository")
        if not isinstance(home, Mapping):
            raise Misconfigured(f"GitHub shows no repository {self._repository.name} to this token (any more).")
        issue = home.get("issue")
        if not isinstance(issue, Mapping):
            raise self._absent(number)
        return issue

    def _looked_at(self, number: int, recorded: Sequence[str]) -> Json:
        try:
            return self._query("look", **self._place, number=number, recorded=recorded)
        except Gone as fault:  # GitHub's own words name its query and no way out
            raise self._absent(number) from fault

    def _absent(self, number: int) -> Gone:
        return Gone(
            f"{self._repository.name} has no issue {number} that this account can see (a pull request is none): "
            "check the number."
        )

    def _answering(self, node: Any, recorded: Recorded, gone: set[int]) -> list[Comment]:
        """The recorded comment if it is there and ours; an id that leads to no comment is put into `gone`."""
        if not isinstance(node, Mapping) or node.get("__typename") != "IssueComment":
            gone.add(recorded.id)
            return []
        ours = records.comment(node, self._identity)
        return [] if ours is None else [ours]

    def _known(self, nodes: Sequence[Json]) -> Iterator[Snapshot]:
        for raw in nodes:
            try:
                snapshot = self._ours(self._snapshot(raw, patient(self._query)))
            except (Gone, Moved) as left:
                _log.info("%s It is left out.", left)
                continue
            yield snapshot

    def _ours(self, snapshot: Snapshot) -> Snapshot:
        if snapshot.repo_id != self._repository.id:
            raise Moved(f"Issue {snapshot.number} lives in repository {snapshot.repo_id} now.")
        return snapshot

    def _snapshot(
        self, raw: Json, query: Query, comments: Sequence[Comment] = (), gone: set[int] | frozenset[int] = frozenset()
    ) -> Snapshot:
        lists = Lists()
        for name, document in self.lists.items():
            for page in pages(records.page(raw, name), functools.partial(_more, query, raw, name, document)):
                for node in page.nodes:
                    lists.take(name, node, self._identity)
        for comment in comments:  # read by id, which lags less than a list: it has the last word
            lists.keep(comment)
        return records.snapshot(raw, lists, gone=frozenset(gone))


def _more(query: Query, raw: Json, name: str, document: str, after: str) -> Page:
    data = query(document, id=raw["id"], after=after)
    if data.get("node") is None:
        raise Gone(f"Issue {raw.get('number')} went away while its {name} were read.")
    return records.page(data, "node", name)


def pages(page: Page, more: Callable[[str], Page]) -> Iterator[Page]:
    seen: set[str] = set()
    while True:
        yield page
        if page.following is None:
            return
        if page.following in seen:
            raise Unclear("GitHub gave the same page of a list twice; the list was not believed.")
        seen.add(page.following)
        page = more(page.following)
