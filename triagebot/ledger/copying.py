"""From one database to another: a whole ledger, page by page, compared row by row before it counts.

The target is walked beside the source, both in the order of their keys: what differs is taken out first, then what is
missing is put in. So a copy that was killed goes on from where it was, whatever has happened to its source since, and
no more than a few pages are in memory. Until the end the target carries a stamp that keeps everybody else out.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from triagebot.core.faults import LedgerUnusable, Misconfigured
from triagebot.ledger import stamps, statements
from triagebot.ledger.statements import Database, Row, Transaction

PAGE = 1000
"""Rows that are read, or written in one transaction, at a time."""

_LEAST = -(2**63)
_TABLES: Mapping[str, Mapping[str, int | str]] = {
    "runs": {"repo_id": _LEAST, "issue": _LEAST, "key": ""},
    "outbox": {"id": _LEAST},
    "nights": {"id": _LEAST},
    "events": {"id": _LEAST},
    "pace": {"host": "", "account": ""},
    "tombstones": {"repo_id": _LEAST, "issue": _LEAST},
    "outcomes": {"repo_id": _LEAST, "issue": _LEAST, "label": ""},
}
"""Every table, and a primary key that comes before all of its rows."""

_Pages = Callable[[str, Mapping[str, object]], Sequence[Row]]
"""The next rows of a table after a key, in its order."""


class Watcher(Protocol):
    """Is told how far it is, in rows."""

    def stage(self, name: str, total: int | None = None) -> None: ...

    def advance(self, steps: int = 1) -> None: ...


class _Unwatched:
    def stage(self, name: str, total: int | None = None) -> None: ...

    def advance(self, steps: int = 1) -> None: ...


UNWATCHED: Watcher = _Unwatched()


@dataclass(frozen=True, kw_only=True, slots=True)
class Copied:
    """How many rows of each table, and a digest over all of them: two ledgers that know the same have the same."""

    rows: Mapping[str, int]
    digest: str


@dataclass
class _Sum:
    """Of a table's rows: how many, and the sum of their hashes, for which no two have to be in memory at once."""

    rows: int = 0
    hashes: int = 0

    def over(self, rows: Iterator[Row]) -> Iterator[Row]:
        for row in rows:
            written = json.dumps(row, sort_keys=True).encode()
            self.rows += 1
            self.hashes = (self.hashes + int.from_bytes(hashlib.sha256(written).digest(), "big")) % 2**256
            yield row


def copy(source: Database, target: Database, *, origin: str, called: str, watcher: Watcher = UNWATCHED) -> Copied:
    """Put everything that `source` knows into the empty ledger `target`, or go on with a copy that was interrupted.

    `source` is read in one view, so a night that runs meanwhile does no harm, and what it does later is not copied.
    `target` is of no use to anybody until everything in it was read back and found equal. `origin` and `called` are
    the names of the two in sentences. Raises `Misconfigured` where `target` knows anything else already, and
    `LedgerUnusable` where it does not read as it was written or another copy has taken over.
    """
    resumed = not stamps.is_whole(target.stamp)
    target.restamp(stamps.drawn(), lambda tx: (_resume if resumed else _begin)(tx, origin, called))
    wanted = source.view(lambda tx: _bring(tx, target, origin, watcher))
    watcher.stage("reading it back", sum(each.rows for each in wanted.values()))
    found = target.view(lambda tx: _sums(tx, watcher))
    if wanted != found:
        odd = ", ".join(
            f"{found[name].rows} {name} of {wanted[name].rows}" for name in wanted if found[name] != wanted[name]
        )
        raise LedgerUnusable(
            f"ledger {called}: reads otherwise than it was written ({odd}); run `triagebot ledger copy` again, which "
            "mends what differs, and if that does not help, name another target, and report this"
        )
    target.restamp(statements.version(), _end)
    return _told(found)


def contents(database: Database) -> Copied:
    """What a ledger knows, in numbers."""
    return _told(database.view(lambda tx: _sums(tx, UNWATCHED)))


# --- the stamp


def _begin(tx: Transaction, origin: str, called: str) -> None:
    if any(tx.all(f"page_{table}", **before, rows=1) for table, before in _TABLES.items()):
        raise Misconfigured(f"ledger {called}: knows something already, and a copy mixes with nothing; name a new one")
    tx.all("begin_copying")
    tx.all("note_copying", source=origin, version=statements.version())


def _resume(tx: Transaction, origin: str, called: str) -> None:
    begun = tx.one("begun_copying")
    if begun["source"] != origin:
        raise Misconfigured(
            f"ledger {called}: holds a part of a copy of {begun['source']}; run `triagebot ledger copy` with that one "
            "again, or name a new target"
        )
    if begun["version"] != statements.version():
        raise LedgerUnusable(
            f"ledger {called}: holds a part of a copy by another version of triagebot (schema {begun['version']}, "
            f"this one knows {statements.version()}); end it with that version, or name a new target"
        )


def _end(tx: Transaction) -> None:
    tx.one("number_on")
    tx.all("end_copying")


# --- the rows


def _bring(tx: Transaction, target: Database, origin: str, watcher: Watcher) -> Mapping[str, _Sum]:
    """Make `target` equal to the view that `tx` has of its source, of which the sums are returned."""
    # First out, then in: a row that is gone from the source by now may take the one place of another (`UNIQUE`).
    if there := sum(target.view(_counts).values()):
        watcher.stage("comparing with what was copied before", there)
        for table in _TABLES:
            stale = _differing(table, _walk(table, _across(target), watcher), _walk(table, _within(tx)))
            _each(target, f"cut_{table}", stale)
    counts, sums = _counts(tx), {table: _Sum() for table in _TABLES}
    watcher.stage("copying", sum(counts.values()))
    for table, summed in sums.items():
        rows = summed.over(_walk(table, _within(tx), watcher))
        _each(target, f"put_{table}", _differing(table, rows, _walk(table, _across(target))))
        if summed.rows != counts[table]:
            raise LedgerUnusable(
                f"ledger {origin}: holds {counts[table]} rows of {table}, and {summed.rows} could be read in order; "
                "check it (an index may be damaged), or restore it from a backup"
            )
    return sums


def _differing(table: str, rows: Iterator[Row], others: Iterator[Row]) -> Iterator[Row]:
    """Those of `rows` that are not among `others` just so. Both come in the order of their keys."""

    def key(row: Row) -> list[int | str]:
        return [row[column] for column in _TABLES[table]]

    other = next(others, None)
    for row in rows:
        while other is not None and key(other) < key(row):
            other = next(others, None)
        if row != other:
            yield row


def _each(target: Database, statement: str, rows: Iterator[Row]) -> None:
    while page := list(itertools.islice(rows, PAGE)):
        target.write(functools.partial(Transaction.each, name=statement, rows=page))


def _walk(table: str, pages: _Pages, watcher: Watcher = UNWATCHED) -> Iterator[Row]:
    """Every row of a table, page by page, as every database can hold it."""
    after: Mapping[str, object] = _TABLES[table]
    while page := pages(table, after):
        watcher.advance(len(page))
        yield from map(_storable, page)
        after = {column: page[-1][column] for column in after}


def _within(tx: Transaction) -> _Pages:
    """Pages of one view."""
    tx.one("walk_by_key")
    return lambda table, after: tx.all(f"page_{table}", **after, rows=PAGE)


def _across(database: Database) -> _Pages:
    """Pages each of which is a view of its own: for a ledger that nobody else writes to."""
    return lambda table, after: database.view(lambda tx: _within(tx)(table, after))


def _storable(row: Row) -> Row:
    """Not all have room for a NUL in a text."""
    return {name: value.replace("\0", "\ufffd") if isinstance(value, str) else value for name, value in row.items()}


# --- the numbers


def _counts(tx: Transaction) -> Mapping[str, int]:
    return {table: tx.one(f"count_{table}")["rows"] for table in _TABLES}


def _sums(tx: Transaction, watcher: Watcher) -> Mapping[str, _Sum]:
    sums = {table: _Sum() for table in _TABLES}
    for table, summed in sums.items():
        for _ in summed.over(_walk(table, _within(tx), watcher)):
            pass
    return sums


def _told(sums: Mapping[str, _Sum]) -> Copied:
    written = json.dumps({table: [each.rows, f"{each.hashes:064x}"] for table, each in sums.items()}, sort_keys=True)
    rows = {table: each.rows for table, each in sums.items()}
    return Copied(rows=rows, digest=hashlib.sha256(written.encode()).hexdigest()[:16])
