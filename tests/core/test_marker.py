"""The hidden line: written in one form, read strictly."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from triagebot.core import marker
from triagebot.core.marker import Marker, Unreadable

DIGESTS = st.text("0123456789abcdef", min_size=16, max_size=16)


@given(st.dates(min_value=date(1, 1, 1)), DIGESTS, st.text())
@settings(deadline=None)
def test_what_is_written_is_read(day: date, digest: str, rest: str) -> None:
    written = Marker(day, digest)
    assert marker.read(f"{written}\n{rest}") == written
    assert marker.read(str(written)) == written


def test_a_marker_with_windows_line_ends_is_read(mark: Marker) -> None:
    assert marker.read(f"{mark}\r\nwords") == mark


@given(DIGESTS)
@settings(deadline=None)
def test_a_marker_is_one_clean_html_comment(digest: str) -> None:
    inside = str(Marker(date(2026, 10, 19), digest)).removeprefix("<!--").removesuffix("-->")
    assert "--" not in inside
    assert ">" not in inside
    assert not set(inside) - set("abcdefghijklmnopqrstuvwxyz0123456789:. -")


@pytest.mark.parametrize(
    "body",
    [
        "",
        "plain words",
        "> <!-- triagebot v1 triage:2026-10-19:0123456789abcdef -->",
        "words first\n<!-- triagebot v1 triage:2026-10-19:0123456789abcdef -->",
        " <!-- triagebot v1 triage:2026-10-19:0123456789abcdef -->",
        "<!-- otherbot v1 triage:2026-10-19:0123456789abcdef -->",
    ],
)
def test_only_the_first_line_counts(body: str) -> None:
    assert marker.read(body) is None


@pytest.mark.parametrize(
    "line",
    [
        "<!-- triagebot v2 triage:2026-10-19:0123456789abcdef -->",
        "<!-- triagebot v1 triage:2026-10-19:0123456789ABCDEF -->",
        "<!-- triagebot v1 triage:2026-13-40:0123456789abcdef -->",
        "<!-- triagebot v1 triage:2026-10-19:0123456789abcdef --> and more",
        "<!-- triagebot v1 triage:2026-10-19:0123",
    ],
)
def test_our_prefix_in_words_that_cannot_be_read_is_said_so(line: str) -> None:
    assert marker.read(f"{line}\nrest") == Unreadable(line)
