"""What becomes of the rows of a parcel, written down in the ledger: each row ends once, or goes back."""

from __future__ import annotations

from dataclasses import dataclass, field

from triagebot.core.faults import LeaseLost
from triagebot.core.rows import Night, OutboxRow, Parcel, Recorded, RowStatus
from triagebot.nightly.ports import Ledger
from triagebot.nightly.report import Tally

ENDED = frozenset({RowStatus.SENT, RowStatus.WITHDRAWN, RowStatus.DEAD})


@dataclass
class Book:
    """Keeps the rows in hand and the one whose request is under way, so that an interruption loses neither."""

    ledger: Ledger
    night: Night
    settle: float
    tally: Tally
    _in_hand: dict[int, OutboxRow] = field(default_factory=dict)
    _under_way: OutboxRow | None = None

    def take(self, parcel: Parcel) -> None:
        self._in_hand = {row.id: row for row in parcel.rows}

    @property
    def rows(self) -> tuple[OutboxRow, ...]:
        """The rows in hand that have not ended yet."""
        return tuple(self._in_hand.values())

    def starts(self, row: OutboxRow) -> None:
        """From here on the row's write may be on its way."""
        self._under_way = row

    def sent(self, row: OutboxRow, comment: Recorded | None) -> RowStatus:
        self.ledger.sent(row, comment)
        return self._close(row, RowStatus.SENT)

    def withdrawn(self, row: OutboxRow, reason: str) -> RowStatus:
        self.ledger.withdraw(row, reason=reason)
        self.tally.count("withdrawn")
        return self._close(row, RowStatus.WITHDRAWN)

    def dead(self, row: OutboxRow, reason: str) -> RowStatus:
        self.ledger.bury(row, reason=reason)
        self.tally.note(f"{row.action} for issue {row.ref.issue} given up: {reason}", failed=True)
        return self._close(row, RowStatus.DEAD)

    def postponed(self, row: OutboxRow, seconds: float, reason: str) -> RowStatus:
        """Surely not written: as it was before it was claimed, not before `seconds` from now."""
        self.ledger.postpone(row, seconds=seconds, reason=reason)
        return self._close(row, row.status)

    def unknown(self, row: OutboxRow, reason: str) -> RowStatus:
        """Maybe written: the look decides, once the settle time has passed."""
        self.ledger.unclear(row, settle=self.settle, reason=reason)
        self.tally.count("unclear")
        return self._close(row, RowStatus.UNKNOWN)

    def rests(self, row: OutboxRow) -> RowStatus:
        """Written once tonight and not to be seen: left alone until another night."""
        self.ledger.rest(row, self.night, reason="written once tonight, without proof")
        return self._close(row, RowStatus.UNKNOWN)

    def put_back(self, reason: str = "put back") -> None:
        """Rows still in hand go back untouched; one that another worker took is theirs."""
        for row in list(self._in_hand.values()):
            try:
                if row is self._under_way:
                    self.unknown(row, "interrupted while its request was under way")
                else:
                    self.postponed(row, 0.0, reason)
            except LeaseLost:
                self._close(row, row.status)

    def _close(self, row: OutboxRow, status: RowStatus) -> RowStatus:
        self._in_hand.pop(row.id, None)
        self._under_way = None if self._under_way is row else self._under_way
        return status
