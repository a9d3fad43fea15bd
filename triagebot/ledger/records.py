"""Rows of the database as the records that the night works with, and back."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import date, datetime

from triagebot.core.actions import Action
from triagebot.core.key import Ref
from triagebot.core.rows import Memory, OutboxRow, RowStatus, Silence
from triagebot.core.verdict import Verdict, Vote, fields_of
from triagebot.ledger.statements import Row, Transaction


def payload(votes: Iterable[Vote]) -> str:
    return json.dumps(list(votes), default=fields_of, ensure_ascii=False)


def outbox_row(row: Row, *, status: str | None = None) -> OutboxRow:
    """The record of an outbox row; `status` where it is not the stored one that matters."""
    return OutboxRow(
        id=row["id"],
        ref=Ref(repo_id=row["repo_id"], issue=row["issue"], day=date.fromisoformat(row["day"]), digest=row["digest"]),
        action=Action(row["action"]),
        status=RowStatus(status or row["status"]),
        votes=tuple(Vote(**vote) for vote in json.loads(row["payload"])),
        owner=row["owner"],
        attempt=row["attempt"],
        revise=bool(row["revise"]),
        unproven=row["unproven"],
        remote_id=row["remote_id"],
        remote_node=row["remote_node"],
        reason=row["reason"],
        created_at=datetime.fromisoformat(row["created_at"]),
    )


def memory(tx: Transaction, repo_id: int, issue: int, digest: str) -> Memory:
    """Everything that is known of an issue, for one text of it. A text with a verdict is not dead."""
    verdict = tx.first("newest_verdict", repo_id=repo_id, issue=issue, digest=digest)
    attempts = tx.one("attempts", repo_id=repo_id, issue=issue, digest=digest)
    rows = tx.all("rows_of_issue", repo_id=repo_id, issue=issue)
    return Memory(
        verdict=None if verdict is None else Verdict.from_json(verdict["verdict"]),
        rows=tuple(outbox_row(row) for row in rows),
        silence=silence(tx, repo_id, issue),
        tried=attempts["attempts"] > 0,
        dead=None if verdict is not None else attempts["dead"],
    )


def silence(tx: Transaction, repo_id: int, issue: int) -> Silence:
    row = tx.first("tombstone", repo_id=repo_id, issue=issue)
    if row is None:
        return Silence()
    return Silence(silent=bool(row["silent"]), settled=frozenset(json.loads(row["settled"])))
