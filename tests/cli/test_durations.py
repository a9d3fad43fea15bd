"""Durations: one way to write them, everywhere."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from triagebot.cli import durations


@pytest.mark.parametrize(
    ("written", "seconds"),
    [("20s", 20), ("15m", 900), ("26h", 93_600), ("30d", 2_592_000), ("0m", 0), ("0.5s", 0.5), (" 5h ", 18_000)],
)
def test_a_duration_is_a_number_and_a_unit(written: str, seconds: float) -> None:
    assert durations.parse(written) == seconds


@pytest.mark.parametrize(
    "written", ["", "15", "m", "-5m", "1h30m", "5 m", "5M", "1e3s", "٣s", "1.s", "3651d", "99999999999s", "5m\nx"]
)
def test_anything_else_is_refused_in_a_sentence_that_shows_the_way(written: str) -> None:
    with pytest.raises(ValueError, match="write 20s, 15m, 26h or 30d"):
        durations.parse(written)


def test_the_sentence_stays_short_whatever_was_written() -> None:
    with pytest.raises(ValueError, match="is not a duration") as told:
        durations.parse("x" * 100_000)
    assert len(str(told.value)) < 150


@pytest.mark.parametrize(
    ("seconds", "written"),
    [(0, "0s"), (20, "20s"), (90, "90s"), (5400, "90m"), (93_600, "26h"), (86_400, "1d"), (0.25, "0.25s")],
)
def test_seconds_are_written_in_the_largest_unit_that_holds_them(seconds: float, written: str) -> None:
    assert durations.format(seconds) == written


@given(st.integers(min_value=0, max_value=int(durations.LONGEST)))
def test_what_is_written_reads_back_the_same(seconds: int) -> None:
    assert durations.parse(durations.format(seconds)) == seconds
