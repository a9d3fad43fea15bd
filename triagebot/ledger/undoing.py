"""Take back: the rows that `undo` works on, claimed as a worker claims them, inside one transaction."""

from __future__ import annotations

from collections.abc import Sequence

from triagebot.core.actions import Action
from triagebot.core.rows import OutboxRow, Retraction, RowStatus, Unclaimed
from triagebot.ledger import events, records
from triagebot.ledger.statements import Transaction

_IN_FLIGHT = (RowStatus.SENDING, RowStatus.UNKNOWN)
_ENDED = (RowStatus.SENT, RowStatus.WITHDRAWN, RowStatus.DEAD)


def claim(
    tx: Transaction, repo_id: int, issue: int, *, night: int | None, owner: str, lease: float
) -> Retraction | Unclaimed | None:
    """Hold what a night (or any, with `None`) has tried to write to the issue; `None` where it has not.

    Tried and not written: a crash or an unclear answer leaves it open which it was, and the look tells.

    One row for each action is held, the newest: while it is, no courier can claim another text of the issue.
    """
    tx.hold(repo_id, issue)
    for row in tx.all("lapse_takebacks", repo_id=repo_id, issue=issue):
        events.record_row(tx, "crashed", row, owner=owner)
    rows = [records.outbox_row(row) for row in tx.all("rows_of_issue", repo_id=repo_id, issue=issue)]
    if any(row.status in _IN_FLIGHT for row in rows):
        return Unclaimed.HELD
    written = _written(tx, repo_id, issue, night, rows)
    held = [_take(tx, row, owner=owner, lease=lease) for row in _newest(written)]
    if not held:
        return None
    memory = records.memory(tx, repo_id, issue, held[-1].ref.digest)
    return Retraction(held=tuple(held), written=written, memory=memory)


def _written(
    tx: Transaction, repo_id: int, issue: int, night: int | None, rows: Sequence[OutboxRow]
) -> tuple[OutboxRow, ...]:
    tried = [row for row in rows if row.status in _ENDED and (row.attempt or row.status is RowStatus.SENT)]
    if night is None:
        return tuple(tried)
    journal = tx.all("tried_on_issue", repo_id=repo_id, issue=issue, night=night)
    # A row whose text came back on another day bears that day's key: the digest at its end stays.
    known = {(entry["action"], str(entry["key"]).rpartition(":")[2]) for entry in journal}
    return tuple(row for row in tried if (row.action.value, row.ref.digest) in known)


def _newest(rows: Sequence[OutboxRow]) -> list[OutboxRow]:
    newest = {action: [row for row in rows if row.action is action][-1:] for action in Action}
    return [row for of_action in newest.values() for row in of_action]


def _take(tx: Transaction, row: OutboxRow, *, owner: str, lease: float) -> OutboxRow:
    taken = tx.one("claim_ended", id=row.id, owner=owner, lease=lease)
    events.record_row(tx, "taking back", taken, owner=owner)
    return records.outbox_row(taken, status=taken["was"])
