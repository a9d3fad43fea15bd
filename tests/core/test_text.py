"""Canonical text: one form for what people save in many."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from triagebot.core import text

ANY_TEXT = st.text(st.characters() | st.sampled_from("\r\n\t \x00\ud83d\udc00e\u0301\u2028\x85"), max_size=60)


@pytest.mark.parametrize(
    ("raw", "canonical"),
    [
        (None, ""),
        ("", ""),
        ("one\r\ntwo\rthree\n", "one\ntwo\nthree"),
        ("end  \t\nnext \u00a0\n\n\n", "end\nnext"),
        ("  kept indent", "  kept indent"),
        ("a\x00b", "a\ufffdb"),
        ("half \ud83d of a pair", "half \ufffd of a pair"),
        ("cafe\u0301", "caf\u00e9"),
    ],
)
def test_canonical_form(raw: str | None, canonical: str) -> None:
    assert text.canonical(raw) == canonical


@given(ANY_TEXT)
@settings(deadline=None)
def test_canonical_is_idempotent(raw: str) -> None:
    once = text.canonical(raw)
    assert text.canonical(once) == once


@given(ANY_TEXT)
@settings(deadline=None)
def test_canonical_text_can_be_stored_and_encoded(raw: str) -> None:
    once = text.canonical(raw)
    once.encode()
    assert "\x00" not in once
    assert "\r" not in once
    assert unicodedata.is_normalized("NFC", once)
    assert all(line == line.rstrip() for line in once.split("\n"))
