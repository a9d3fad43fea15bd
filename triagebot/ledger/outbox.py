"""Deliver: what happens to outbox rows inside one transaction."""

from __future__ import annotations

from collections.abc import Sequence

from triagebot.core.actions import Action
from triagebot.core.faults import LeaseLost
from triagebot.core.key import Ref
from triagebot.core.rows import Night, OutboxRow, Parcel, Planned, Recorded, RowStatus
from triagebot.ledger import events, records
from triagebot.ledger.statements import Row, Transaction

MAX_UNPROVEN = 3  # nights without proof of what became of a write

_CANDIDATES = 64  # due rows that a courier considers: more than all other couriers can hold
_OPENED = (RowStatus.SENT, RowStatus.WITHDRAWN)


def plan(tx: Transaction, ref: Ref, planned: Sequence[Planned], *, owner: str) -> None:
    """Open the rows of a new verdict; what still waits from older ones is superseded."""
    wanted = {p.action: p for p in planned}
    for action in Action:
        supersede(tx, ref, action, digest=ref.digest if action in wanted else "", owner=owner)
        if action in wanted:
            values = {"payload": records.payload(wanted[action].votes), "day": ref.day.isoformat(), "key": ref.key}
            changed = tx.all("plan", **_place(ref, action), digest=ref.digest, **values)
        else:
            changed = tx.all("unplan", **_place(ref, action), digest=ref.digest)
        for row in changed:
            events.record_row(tx, "planned", row, owner=owner)


def supersede(tx: Transaction, ref: Ref, action: Action, *, digest: str, owner: str) -> None:
    for row in tx.all("supersede", **_place(ref, action), digest=digest):
        events.record_row(tx, "withdrawn", row, owner=owner)


def mend(tx: Transaction, ref: Ref, planned: Planned, *, revise: bool, owner: str) -> bool:
    tx.hold(ref.repo_id, ref.issue)
    known = tx.first("status_of", **_place(ref, planned.action), digest=ref.digest)
    if known is not None and known["status"] not in _OPENED:
        return False
    supersede(tx, ref, planned.action, digest=ref.digest, owner=owner)
    values = {"payload": records.payload(planned.votes), "day": ref.day.isoformat(), "key": ref.key}
    opened = tx.all("reopen", **_place(ref, planned.action), digest=ref.digest, revise=int(revise), **values)
    for row in opened:
        events.record_row(tx, "reopened" if known else "planned", row, owner=owner)
    return True


def record_standing(tx: Transaction, ref: Ref, comment: Recorded, *, owner: str) -> None:
    values = {"repo_id": ref.repo_id, "issue": ref.issue, "key": ref.key, "day": ref.day.isoformat()}
    found = {"digest": ref.digest, "remote_id": comment.id, "remote_node": comment.node}
    for row in tx.all("record_standing", **values, **found):
        events.record_row(tx, "sent", row, owner=owner)


def keep_comment(tx: Transaction, repo_id: int, issue: int, comment: Recorded, *, owner: str) -> None:
    tx.hold(repo_id, issue)
    kept = {"remote_id": comment.id, "remote_node": comment.node}
    for row in tx.all("keep_comment", repo_id=repo_id, issue=issue, **kept):
        events.record_row(tx, "kept", {**row, "reason": f"comment {comment.id}"}, owner=owner)


def waiting(tx: Transaction, repo_id: int) -> dict[str, int]:
    return {row["status"]: row["writes"] for row in tx.all("waiting", repo_id=repo_id)}


def claim_parcel(
    tx: Transaction, repo_id: int, night: Night, *, owner: str, lease: float, settle: float
) -> Parcel | None:
    """Raises `Conflict` where two texts would be in flight at once."""
    for row in tx.all("lapse_sendings", repo_id=repo_id, settle=settle, max_unproven=MAX_UNPROVEN):
        events.record_row(tx, "dead" if row["status"] == RowStatus.DEAD else "crashed", row, owner=owner)
    taken = {"night": night.id, "owner": owner, "lease": lease}
    issue = _held(tx, repo_id, night)
    # Asked anew now that the issue is held: what was due before may have been claimed, or superseded, meanwhile.
    due = tx.all("due_rows", repo_id=repo_id, night=night.id, issue=issue, most=_CANDIDATES) if issue else ()
    claimed = [row for each in due for row in tx.all("claim_row", id=each["id"], **taken)]
    if not claimed:
        return None
    for row in claimed:
        events.record_row(tx, "sending", row, owner=owner)
    newest = max(claimed, key=lambda row: int(row["id"]))
    return Parcel(
        repo_id=repo_id,
        issue=newest["issue"],
        rows=tuple(records.outbox_row(row, status=row["was"]) for row in sorted(claimed, key=_labels_first)),
        memory=records.memory(tx, repo_id, newest["issue"], newest["digest"]),
    )


def _held(tx: Transaction, repo_id: int, night: Night) -> int | None:
    """The issue that has waited longest, of those that no other transaction holds, and from now on this one does.

    An issue's rows go together, so it is the issue that is skipped where another courier has it, not single rows.
    """
    due = tx.all("due_rows", repo_id=repo_id, night=night.id, issue=0, most=_CANDIDATES)
    for issue in dict.fromkeys(int(row["issue"]) for row in due):
        if tx.one("try_to_hold_issue", repo_id=repo_id, issue=issue)["held"]:
            return issue
    return None


def next_due(tx: Transaction, repo_id: int, night: Night, *, settle: float) -> float | None:
    due = tx.one("next_due", repo_id=repo_id, night=night.id, settle=settle)
    return None if due["seconds"] is None else max(0.0, due["seconds"])


def write(tx: Transaction, statement: str, row: OutboxRow, *, what: str = "", **values: object) -> Row:
    """A write that only the holder of the row can make, and its line in the journal. Raises `LeaseLost`."""
    tx.hold(row.ref.repo_id, row.ref.issue)
    written = tx.first(statement, id=row.id, owner=row.owner, attempt=row.attempt, **values)
    if written is None:
        raise LeaseLost(
            f"issue {row.ref.issue}: attempt {row.attempt} no longer holds the {row.action} row of {row.ref.key}; "
            "nothing was changed, whoever holds it goes on"
        )
    if what:
        ended = written["status"] if written["status"] in (RowStatus.WITHDRAWN, RowStatus.DEAD) else what
        events.record_row(tx, ended, written, owner=row.owner)
    return written


def retry(tx: Transaction, *, repo_id: int, issue: int, owner: str) -> int:
    rows = tx.all("retry_outbox", repo_id=repo_id, issue=issue)
    for row in rows:
        events.record_row(tx, "retried", row, owner=owner)
    return len(rows)


def _place(ref: Ref, action: Action) -> dict[str, object]:
    return {"repo_id": ref.repo_id, "issue": ref.issue, "action": action}


def _labels_first(row: Row) -> tuple[bool, int]:
    return row["action"] != Action.LABELS, row["id"]
