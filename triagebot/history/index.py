"""What people labelled before, and what of it is like an issue of today."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import UTC, datetime

from triagebot.core import prompt, text
from triagebot.core.history import Cursor
from triagebot.core.past import Past
from triagebot.history import matching
from triagebot.history.database import Database, Row, Write
from triagebot.history.measures import Measures

_BODY = 20_000
"""Characters of a cleaned body that are kept. 21 of 1,500 real issues are longer, and logs are what is cut off."""

_TITLE = 300
_LARGEST = 2**63 - 1


class HistoryIndex:
    """The labelled issues of any number of repositories, by their ids, and what examples proved to be worth.

    Texts are kept as the model would be shown them (`core.prompt.clean`), cut to `_BODY` characters. All
    labels are kept that people set: which of them count is said by each reader (`allowed`), for settings
    change and labels come and go. `only` makes one repository of all: an export, which has no ids.
    Every method raises `HistoryUnusable`; any thread may call it. Nothing is opened before the first call.
    """

    def __init__(self, database: Database, measures: Measures | None = None, *, only: int | None = None) -> None:
        self._database = database
        self._measures = measures or Measures(database)
        self._only = only

    def __enter__(self) -> HistoryIndex:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._measures.close()
        self._database.close()

    # --- learning

    def remember(
        self, repo_id: int, page: Iterable[Past], cursor: Cursor | None = None, *, gone: Collection[int] = ()
    ) -> None:
        """Take in a page, forget the numbers in `gone`, and note how far that is: one transaction."""
        rows = [_row(self._repo(repo_id), past) for past in page]
        with self._database.write() as write:
            for number in gone:
                _forget(write, self._repo(repo_id), number)
            for row, words in rows:
                _replace(write, row, words)
            if cursor is not None:
                write.all("save_cursor", repo_id=self._repo(repo_id), **_saved(cursor))

    def trim(self, repo_id: int, keep: int) -> None:
        """Forget all but the newest `keep` issues of a repository."""
        with self._database.write() as write:
            write.all("trim_words", repo_id=self._repo(repo_id), keep=keep)
            write.all("trim_issues", repo_id=self._repo(repo_id))

    def forget(self, repo_id: int) -> None:
        """Forget a repository's issues and how far it was read."""
        with self._database.write() as write:
            for name in ("forget_repository_words", "forget_repository_issues", "forget_cursor"):
                write.all(name, repo_id=self._repo(repo_id))

    def cursor(self, repo_id: int) -> Cursor | None:
        """How far the repository has been read; `None` where it never was."""
        found = self._database.read("cursor", repo_id=self._repo(repo_id))
        if not found:
            return None
        [row] = found
        begun = _time(row["begun"])
        assert begun is not None
        return Cursor(begun=begun, since=_time(row["since"]), after=row["after"], read=row["read"])

    # --- telling

    def past(self, repo_id: int, limit: int = 5000, *, allowed: Collection[str] | None = None) -> list[Past]:
        """The newest `limit` issues that people judged, newest first.

        Their labels are those within `allowed` (`None`: all), spelt as there: none at all is left where
        people set only others, or closed the issue without any: none of the allowed ones fits.
        """
        found = self._database.read("past", repo_id=self._repo(repo_id), limit=limit)
        return [_past(row, allowed) for row in found]

    def similar(
        self,
        repo_id: int,
        title: str,
        body: str,
        *,
        limit: int = 4,
        exclude: int | None = None,
        before: datetime | None = None,
        allowed: Collection[str] | None = None,
    ) -> list[Past]:
        """The `limit` labelled issues most like this text, likest first, by BM25 over title and body.

        Never the issue `exclude`, nor one of the very same text, which may be the issue under another
        number; `before` leaves out what was opened then or later, or nobody knows when. Only issues
        with a label within `allowed` (`None`: any). Takes less than 0.1 s in 5,000 issues.
        """
        shown = _shown(title, body)
        found: list[Past] = []
        for id in self._ranked(repo_id, *shown, exclude=exclude, before=before, allowed=allowed):
            if len(found) >= limit:
                break
            rows = self._database.read("issue", id=id)  # none where another night has just replaced it
            found += [past for past in (_past(row, allowed) for row in rows) if (past.title, past.body) != shown]
        return found

    def _ranked(
        self,
        repo_id: int,
        title: str,
        body: str,
        *,
        exclude: int | None,
        before: datetime | None,
        allowed: Collection[str] | None,
    ) -> Iterator[int]:
        query = self._query(title, body)
        if query is None:
            return
        for row in self._database.read(
            "rank",
            query=query,
            repo_id=self._repo(repo_id),
            exclude=_small(exclude),
            before=before and before.timestamp(),
        ):
            if _within(json.loads(row["labels"]), allowed):
                yield row["id"]

    def _query(self, title: str, body: str) -> str | None:
        weights = matching.candidates(title, body)
        common = self._database.read("how_common", terms=json.dumps([*weights]))
        rows = self._database.read("how_many")
        if not common or not rows:
            return None
        return matching.query(weights, {row["term"]: row["doc"] for row in common}, rows[0]["rows"])

    # --- what examples are worth

    def record_measure(
        self,
        *,
        model: str,
        prompt: str,
        n: int,
        without: float,
        with_examples: float,
        gain_low: float | None = None,
        at: datetime | None = None,
    ) -> None:
        """See `Measures.record`."""
        self._measures.record(
            model=model, prompt=prompt, n=n, without=without, with_examples=with_examples, gain_low=gain_low, at=at
        )

    def examples_pay(self, *, model: str, prompt: str | None = None) -> bool:
        """See `Measures.pay`."""
        return self._measures.pay(model=model, prompt=prompt)

    def _repo(self, repo_id: int) -> int:
        return repo_id if self._only is None else self._only


def _row(repo_id: int, past: Past) -> tuple[dict[str, object], dict[str, str]]:
    title, body = _shown(past.title, past.body)
    row: dict[str, object] = {
        "repo_id": repo_id,
        "number": _small(past.number),
        "created_at": past.created_at and past.created_at.timestamp(),
        "labels": json.dumps(past.labels),
        "repo": text.canonical(past.repo),
        "title": title,
        "body": body,
    }
    return row, {"title": " ".join(matching.words(title)), "body": " ".join(matching.words(body))}


def _shown(title: str, body: str) -> tuple[str, str]:
    return prompt.clean(title, markdown=False)[:_TITLE], prompt.clean(body)[:_BODY]


def _small(number: int | None) -> int | None:
    """A number of an export that no database can hold is no number of an issue."""
    return number if number is not None and number <= _LARGEST else None


def _replace(write: Write, row: dict[str, object], words: dict[str, str]) -> None:
    if row["number"] is not None:
        _forget(write, row["repo_id"], row["number"])
    [added] = write.all("add_issue", **row)
    write.all("add_words", id=added["id"], **words)


def _forget(write: Write, repo_id: object, number: object) -> None:
    write.all("forget_words", repo_id=repo_id, number=number)
    write.all("forget_issue", repo_id=repo_id, number=number)


def _past(row: Row, allowed: Collection[str] | None) -> Past:
    return Past(
        title=row["title"],
        body=row["body"],
        labels=_within(json.loads(row["labels"]), allowed),
        number=row["number"],
        created_at=_time(row["created_at"]),
        repo=row["repo"],
    )


def _within(labels: Sequence[str], allowed: Collection[str] | None) -> tuple[str, ...]:
    """The labels that are allowed, under the names of today; they compare casefolded, as on GitHub."""
    if allowed is None:
        return tuple(labels)
    spelt = {name.casefold(): name for name in allowed}
    return tuple(dict.fromkeys(spelt[name.casefold()] for name in labels if name.casefold() in spelt))


def _saved(cursor: Cursor) -> dict[str, object]:
    since = cursor.since and cursor.since.timestamp()
    return {"begun": cursor.begun.timestamp(), "since": since, "after": cursor.after, "read": cursor.read}


def _time(seconds: float | None) -> datetime | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC)
