"""When the next write may go out: slots and the gate, for one API host and account."""

from __future__ import annotations

from triagebot.ledger import events
from triagebot.ledger.statements import Transaction

LONGEST = 24 * 3600.0  # no gate stays closed longer, seconds
_WRITERS = 16  # slots that may be handed out ahead at once: one for each process that writes


def reserve_slot(tx: Transaction, account: tuple[str, str], *, per_second: float | None, per_hour: int | None) -> float:
    """Seconds until the reserved slot. Half of the hour's limit may come in a burst, the other half evenly:
    any hour holds at most burst + hour / interval = per_hour / 2 + per_hour / 2 writes."""
    spacing = 1 / per_second if per_second else 0.0
    interval = 2 * 3600 / per_hour if per_hour else 0.0
    burst = interval * (max(1, per_hour // 2) - 1) if per_hour else 0.0
    limits = {"spacing": spacing, "interval": interval, "burst": burst, "horizon": _WRITERS * (spacing + interval)}
    return _first(tx, "reserve_slot", account, **limits)


def gate(tx: Transaction, account: tuple[str, str]) -> float:
    """Seconds until the gate opens, 0 where it is open. May be more than `LONGEST` after a clock jump."""
    host, name = account
    row = tx.first("gate", host=host, account=name)
    return 0.0 if row is None else max(0.0, row["seconds"])


def shorten_gate(tx: Transaction, account: tuple[str, str]) -> None:
    host, name = account
    tx.all("shorten_gate", host=host, account=name, longest=LONGEST)


def close_gate(tx: Transaction, account: tuple[str, str], *, seconds: float | None, owner: str) -> float:
    closed = _first(tx, "close_gate", account, seconds=seconds, longest=LONGEST)
    events.record(tx, "gate closed", owner=owner, detail=f"{'/'.join(account)} for {closed:.0f} s")
    return closed


def open_gate(tx: Transaction, account: tuple[str, str]) -> None:
    host, name = account
    tx.all("open_gate", host=host, account=name)


def _first(tx: Transaction, statement: str, account: tuple[str, str], **values: object) -> float:
    host, name = account
    tx.all("pace_row", host=host, account=name)
    row = tx.one(statement, host=host, account=name, **values)
    return max(0.0, float(row["seconds"]))
