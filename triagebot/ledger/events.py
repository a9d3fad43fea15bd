"""The journal: one line for every durable transition, in the transaction that makes it."""

from __future__ import annotations

from triagebot.ledger.statements import Row, Transaction

_NOTHING = dict.fromkeys(("repo_id", "issue", "action", "key", "attempt", "night", "detail"))


def record(tx: Transaction, what: str, *, owner: str, **fields: object) -> None:
    """Write that `owner` did `what`; `fields` are the journal's other columns."""
    tx.all("event", **(_NOTHING | {"what": what, "owner": owner} | fields))


def record_row(tx: Transaction, what: str, row: Row, *, owner: str) -> None:
    """The same for an outbox row, as it is after the transition."""
    known = {name: row[name] for name in ("repo_id", "issue", "action", "key", "attempt", "night")}
    record(tx, what, owner=owner, **known, detail=row["reason"])
