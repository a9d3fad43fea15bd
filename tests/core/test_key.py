"""The idempotency key: same words, same key."""

from __future__ import annotations

import hashlib
from datetime import date

from hypothesis import given, settings
from hypothesis import strategies as st

from triagebot.core import key

LINES = st.lists(st.text(st.characters(exclude_characters="\r\n")), max_size=5)


def test_the_digest_is_the_start_of_a_sha256_over_canonical_json() -> None:
    by_hand = hashlib.sha256('["Crash","on \u201cstart\u201d"]'.encode()).hexdigest()
    assert key.digest("Crash", "on \u201cstart\u201d") == by_hand[:16]


def test_a_null_body_is_an_empty_body() -> None:
    assert key.digest("t", None) == key.digest("t", "")


def test_title_and_body_cannot_run_into_each_other() -> None:
    assert len({key.digest("ab", ""), key.digest("a", "b"), key.digest("", "ab"), key.digest('a","b', "")}) == 4


@given(st.text(), LINES)
@settings(deadline=None)
def test_the_digest_does_not_depend_on_line_ends(title: str, lines: list[str]) -> None:
    """The web form saves CRLF, the API LF: an edit that changes nothing makes no new key."""
    digests = {key.digest(title, end.join(lines)) for end in ("\n", "\r\n", "\r", " \n", "\t\r\n")}
    assert len(digests) == 1


def test_the_key_names_the_day_and_the_words() -> None:
    ref = key.Ref(repo_id=7, issue=3, day=date(2026, 10, 19), digest="0123456789abcdef")
    assert ref.key == "triage:2026-10-19:0123456789abcdef"
