"""A night's day as people write it. It becomes part of every key, and a slip in it stands in the ledger for good."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta

from triagebot.core.faults import Misconfigured

_WRITTEN = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_FIRST = date(2000, 1, 1)
_AHEAD = timedelta(days=1)  # somewhere it is tomorrow already


def parse(written: str, *, source: str, today: date | None = None) -> date:
    """The day; `source` is the flag that it came from, `today` the UTC date. Raises `Misconfigured`."""
    try:
        day = date.fromisoformat(written) if _WRITTEN.fullmatch(written) else None
    except ValueError:  # 30 February
        day = None
    if day is None:
        raise Misconfigured(f"{source} is {written[:40]!r}; write a day as in 2026-12-01.")
    latest = (today or datetime.now(UTC).date()) + _AHEAD
    if not _FIRST <= day <= latest:
        raise Misconfigured(f"{source} is {written}; write a day from {_FIRST} to {latest}, which is tomorrow in UTC.")
    return day
