"""Pages of a list as REST has them: `per_page`, `page`, and a Link header that leads on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

DEFAULT, MOST = 30, 100


def page(rows: Sequence[Any], query: Mapping[str, str], url: str) -> tuple[Sequence[Any], str]:
    """One page of `rows`, and the Link header ("" where there is but one page) in the order of the recorded ones."""
    size = min(_number(query.get("per_page"), DEFAULT), MOST)
    number, last = _number(query.get("page"), 1), max(1, -(-len(rows) // size))
    others = {"prev": number - 1, "next": number + 1, "last": last, "first": 1}
    if number == 1:
        del others["prev"], others["first"]
    if number >= last:
        del others["next"], others["last"]
    rest = {name: value for name, value in query.items() if name != "page"}
    links = [f'<{url}?{urlencode({**rest, "page": str(to)})}>; rel="{name}"' for name, to in others.items()]
    return rows[(number - 1) * size : number * size], ", ".join(links)


def _number(text: str | None, default: int) -> int:
    return int(text) if text and text.isdigit() and int(text) > 0 else default
