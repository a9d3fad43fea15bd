"""A courier of a drill: the delivering half of a real night, on the real ledger and a tracker that only counts."""

from __future__ import annotations

import time
from collections.abc import Sequence

from triagebot.core.prompt import Question
from triagebot.core.rows import Night
from triagebot.core.verdict import Reply
from triagebot.nightly import place
from triagebot.nightly.night import Parts, Shift
from triagebot.nightly.ports import Ledger, Tracker
from triagebot.nightly.report import Tally
from triagebot.nightly.settings import Orders, Pace, Settings, Texts
from triagebot.nightly.stop import Stop, SystemClock

_DEADLINE = 3600.0


def deliver(ledger: Ledger, night: Night, tracker: Tracker) -> Sequence[str]:
    """Send what the outbox holds; returns what the night has to say of it. The night is neither opened nor closed."""
    stop, tally = Stop(), Tally()
    settings = Settings(
        texts=Texts(system="", comment=lambda values: f"{values['marker']}\nThis is a drill."),
        pace=Pace(settle=0.0, per_second=None, per_hour=None),
    )
    parts = Parts(ledger=ledger, tracker=tracker, model=_NoModel(), clock=SystemClock(stop), stop=stop)
    here = place.find(tracker, settings.labels)
    Shift(parts, settings, Orders(triage=False), tally, here, night, time.monotonic() + _DEADLINE).work()
    return tally.notes


class _NoModel:
    """Delivering asks nothing."""

    def ask(self, question: Question) -> Reply:
        raise AssertionError(f"a drill asks no model, yet was to ask about {len(question.labels)} labels")
