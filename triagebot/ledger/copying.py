"""From one database to another: a whole ledger, in one transaction, compared row by row before it counts."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from triagebot.core.faults import LedgerUnusable, Misconfigured
from triagebot.ledger.statements import Conflict, Database, Row, Transaction

_TABLES = {
    "runs": ("every_runs", "put_runs"),
    "outbox": ("every_outbox", "put_outbox"),
    "nights": ("every_nights", "put_nights"),
    "events": ("every_events", "put_events"),
    "pace": ("every_pace", "put_pace"),
    "tombstones": ("every_tombstones", "put_tombstones"),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Copied:
    """How many rows of each table, and a digest over all of them: two ledgers that know the same have the same."""

    rows: Mapping[str, int]
    digest: str


def copy(source: Database, target: Database, *, called: str) -> Copied:
    """Put everything that `source` knows into the empty ledger `target`, or nothing at all.

    `source` is read in one view, so a night that runs meanwhile does no harm, and what it does later is not copied.
    Raises `Misconfigured` where `target`, `called` so in the sentence, knows anything already, and
    `LedgerUnusable` where it does not read as it was written.
    """
    known = source.view(_everything)
    try:
        return target.write(lambda tx: _put(tx, known, called))
    except Conflict as error:
        raise _not_empty(called) from error  # another copy was faster


def _put(tx: Transaction, known: Mapping[str, Sequence[Row]], called: str) -> Copied:
    if any(_everything(tx).values()):
        raise _not_empty(called)
    for table, rows in known.items():
        tx.each(_TABLES[table][1], rows)
    tx.one("number_on")
    wanted, found = _sum(known), _sum(_everything(tx))
    if wanted != found:
        raise LedgerUnusable(
            f"ledger {called}: reads otherwise than it was written ({found.rows} rows of {wanted.rows}); nothing was "
            "kept of it, so name another target, and report this"
        )
    return found


def _everything(tx: Transaction) -> dict[str, Sequence[Row]]:
    return {table: tx.all(every) for table, (every, _) in _TABLES.items()}


def _sum(known: Mapping[str, Sequence[Row]]) -> Copied:
    digest = hashlib.sha256()
    for table, rows in known.items():
        # Sorted here: two databases need not agree on which of two texts comes first.
        lines = sorted(json.dumps(_storable(row), sort_keys=True) for row in rows)
        digest.update("\n".join((table, *lines, "")).encode())
    return Copied(rows={table: len(rows) for table, rows in known.items()}, digest=digest.hexdigest()[:16])


def _storable(row: Row) -> dict[str, object]:
    """As every database can hold it: not all have room for a NUL in a text."""
    return {name: value.replace("\0", "\ufffd") if isinstance(value, str) else value for name, value in row.items()}


def _not_empty(called: str) -> Misconfigured:
    return Misconfigured(f"ledger {called}: knows something already, and a copy mixes with nothing; name a new one")
