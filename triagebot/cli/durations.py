"""Durations as people write them: `20s`, `15m`, `26h`, `30d`; the same on the command line and in the file."""

from __future__ import annotations

import re

_UNITS = {"d": 86_400, "h": 3_600, "m": 60, "s": 1}

_WRITTEN = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,3})?)([smhd])")

LONGEST = 3650 * 86_400.0
"""Ten years in seconds: further than any setting means, and within what a date can be moved by."""


def parse(written: str) -> float:
    """Return the seconds that `written` stands for. Raises `ValueError` with a sentence about what is allowed."""
    found = _WRITTEN.fullmatch(written.strip())
    seconds = float(found[1]) * _UNITS[found[2]] if found else None
    if seconds is None or seconds > LONGEST:
        raise ValueError(f"{written[:40]!r} is not a duration: write 20s, 15m, 26h or 30d (at most 3650d)")
    return seconds


def spoken(seconds: float) -> str:
    """How long something took, for people: the two largest units, as in `3m 12s` or `2h 5m`."""
    left, parts = round(seconds), list[str]()
    for unit, size in _UNITS.items():
        if left >= size:
            parts.append(f"{left // size}{unit}")
            left %= size
    return " ".join(parts[:2]) or "0s"


def format(seconds: float) -> str:
    """Write `seconds` in the largest unit that holds it exactly, so that `parse` gives the same back."""
    for unit, size in _UNITS.items():
        if seconds and seconds % size == 0:
            return f"{int(seconds // size)}{unit}"
    return f"{seconds:.3f}".rstrip("0").rstrip(".") + "s"
