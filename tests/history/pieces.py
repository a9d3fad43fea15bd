"""Builders for issues of the past."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from triagebot.core.past import Past

START = datetime(2026, 1, 1, tzinfo=UTC)


def past(number: int | None = 1, title: str = "It crashes", *labels: str, **more: Any) -> Past:
    """An issue of the day `number` of 2026, labelled `bug` where nothing else is said."""
    at = START + timedelta(days=(number or 0) % 10_000)
    return Past(**{"title": title, "body": "", "labels": labels or ("bug",), "number": number, "created_at": at} | more)
