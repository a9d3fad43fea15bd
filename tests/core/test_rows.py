"""What the ledger hands out knows how to find its own rows and recorded comments."""

from __future__ import annotations

from datetime import date

from triagebot.core.actions import Action
from triagebot.core.key import Ref
from triagebot.core.rows import Memory, OutboxRow, Recorded, RowStatus


def row(number: int, digest: str, action: Action = Action.COMMENT, **remote: object) -> OutboxRow:
    ref = Ref(repo_id=1, issue=2, day=date(2026, 10, 19), digest=digest)
    return OutboxRow(id=number, ref=ref, action=action, status=RowStatus.SENT, votes=(), **remote)  # type: ignore[arg-type]


def test_a_row_is_found_by_action_and_words() -> None:
    rows = (row(1, "a" * 16), row(2, "a" * 16, Action.LABELS), row(3, "b" * 16))
    memory = Memory(rows=rows)
    assert memory.row(Action.LABELS, "a" * 16) is rows[1]
    assert memory.row(Action.COMMENT, "b" * 16) is rows[2]
    assert memory.row(Action.LABELS, "b" * 16) is None


def test_each_recorded_comment_is_named_once_lowest_first() -> None:
    rows = [row(1, "a", remote_id=9, remote_node="n9"), row(2, "b", remote_id=4, remote_node="n4"), row(3, "c")]
    memory = Memory(rows=(*rows, row(4, "d", remote_id=9, remote_node="n9")))
    assert memory.recorded == (Recorded(id=4, node="n4"), Recorded(id=9, node="n9"))
