"""The database's clock decides, whatever a host thinks that the time is."""

from __future__ import annotations

import time
from datetime import datetime, timedelta, tzinfo

import pytest

from tests.ledger.conftest import OpenAgain
from tests.ledger.pieces import COMMENT, REPO, answer, claim, night, refused, take_row, text
from triagebot.core.rows import Unclaimed
from triagebot.ledger import events, ledger, outbox, pace, records, runs, sqlite

US = ("api.github.com", "triagebot")
DAY = 86400.0


def test_a_worker_whose_own_clock_is_wrong_by_a_day_takes_and_keeps_no_lease_for_longer(
    open_again: OpenAgain, monkeypatch: pytest.MonkeyPatch
) -> None:
    right, wrong = (open_again(now=None) for _ in range(2))
    tonight, another = night(right), night(wrong)
    claim(right, text(), tonight)
    shipped = time.time

    class Tomorrow(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> datetime:
            return datetime.now(tz) + timedelta(days=1)

    monkeypatch.setattr(time, "time", lambda: shipped() + DAY)
    for room in (runs, outbox, pace, records, events, ledger, sqlite):
        monkeypatch.setattr(room, "datetime", Tomorrow, raising=False)
    assert refused(wrong, text(), another) is Unclaimed.HELD
    answer(wrong, text(issue=2), COMMENT, tonight=another)
    row = take_row(wrong, another)
    wrong.unclear(row, settle=60.0, reason="502")
    due = right.next_due(REPO, tonight)
    assert due is not None
    assert 50 < due <= 60
    wrong.close_gate(US, seconds=100)
    assert 90 < right.gate(US) <= 100
