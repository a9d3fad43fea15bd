"""Lists as GraphQL has them: bounded by the caller, and paged by cursors that hold still when rows come and go."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

MOST = 100


class Refusal(Exception):
    """A GraphQL error of GitHub's own; `type` is its word for the kind (NOT_FOUND, FORBIDDEN ...)."""

    def __init__(self, message: str, type: str) -> None:
        super().__init__(message)
        self.type = type


@dataclass(frozen=True, kw_only=True, slots=True)
class Bounds:
    """The arguments that every connection takes."""

    first: int | None = None
    last: int | None = None
    after: str | None = None
    before: str | None = None

    def check(self, field: str) -> None:
        """Raises `Refusal` in GitHub's words unless one end is bounded, at 100 at the most."""
        if self.first is None and self.last is None:
            raise Refusal(
                f"You must provide a `first` or `last` value to properly paginate the `{field}` connection.",
                "MISSING_PAGINATION_BOUNDARIES",
            )
        for name, asked in (("first", self.first), ("last", self.last)):
            if asked is not None and not 0 <= asked <= MOST:
                exceeds = f"on the `{field}` connection exceeds the `{name}` limit of {MOST} records."
                raise Refusal(f"Requesting {asked} records {exceeds}", "EXCESSIVE_PAGINATION")


def connection(
    rows: Iterable[Any], bounds: Bounds, *, field: str, key: Callable[[Any], list[Any]], descending: bool = False
) -> dict[str, Any]:
    """One page of `rows`, ordered by `key`: a list of plain JSON values, different for each row."""
    bounds.check(field)
    ordered = sorted(((key(row), row) for row in rows), key=lambda pair: pair[0], reverse=descending)
    after, before = _key(bounds.after), _key(bounds.before)
    kept = [
        pair
        for pair in ordered
        if (after is None or (pair[0] < after if descending else pair[0] > after))
        and (before is None or (pair[0] > before if descending else pair[0] < before))
    ]
    part = kept[: bounds.first] if bounds.first is not None else kept
    part = part[max(0, len(part) - bounds.last) :] if bounds.last is not None else part
    info = {
        "hasNextPage": bool(part) and part[-1] is not ordered[-1],
        "hasPreviousPage": bool(part) and part[0] is not ordered[0],
        "startCursor": _cursor(part[0][0]) if part else None,
        "endCursor": _cursor(part[-1][0]) if part else None,
    }
    return {"nodes": [row for _, row in part], "totalCount": len(ordered), "pageInfo": info}


def _cursor(key: list[Any]) -> str:
    return base64.b64encode(f"cursor:v2:{json.dumps(key)}".encode()).decode()


def _key(cursor: str | None) -> list[Any] | None:
    if cursor is None:
        return None
    try:
        read = json.loads(base64.b64decode(cursor).decode().removeprefix("cursor:v2:"))
    except ValueError:
        read = None
    if not isinstance(read, list):
        raise Refusal(f"`{cursor}` does not appear to be a valid cursor.", "INVALID_CURSOR_ARGUMENTS")
    return read
