"""How a text is cut so that a JSON string of it stays within a budget."""

from __future__ import annotations

import bisect
import json

_HEAD = 0.7  # the share of a cut text that its start gets: reports say what is wrong first, logs end with it


def sent(text: str) -> int:
    """Characters of `text` as it is sent, JSON escapes included."""
    return len(json.dumps(text, ensure_ascii=False)) - 2


def fit(text: str, room: int) -> str:
    """Cut `text` so that no more than `room` characters are sent for it: as much as fits of both its ends."""
    if len(text) <= room and sent(text) <= room:
        return text
    sizes = range(min(len(text), max(room, 0)))
    best = bisect.bisect_right(sizes, room, key=lambda size: sent(_cut(text, size))) - 1
    return _cut(text, best) if best > 0 else ""


def _cut(text: str, size: int) -> str:
    """Keep `size` characters of `text`, and say how many are missing."""
    head = round(size * _HEAD)
    tail = text[len(text) - (size - head) :]
    return f"{text[:head]}\n[... {len(text) - size} characters left out ...]\n{tail}"
