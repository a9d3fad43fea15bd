"""The words that are shown as the reason for a label."""

from __future__ import annotations

import pytest

from triagebot.classifier import reasons


def test_the_words_that_added_most_come_first_and_pairs_count_for_both_their_words() -> None:
    spoke = {"crash": 0.4, "start crash": 0.2, "start": 0.1, "stack trace": 0.5}
    assert reasons.told(spoke) == 'words: "crash", "stack", "trace", "start"'


def test_equals_are_told_in_the_order_of_the_alphabet() -> None:
    assert reasons.told({"cc": 0.1, "aa": 0.1, "bb": 0.1}) == 'words: "aa", "bb", "cc"'


def test_five_words_are_told_at_most() -> None:
    assert reasons.told({f"{letter}x": 1.0 for letter in "abcdefgh"}) == 'words: "ax", "bx", "cx", "dx", "ex"'


def test_long_words_leave_room_for_fewer() -> None:
    told = reasons.told({f"{letter * 20}": 1.0 for letter in "abcdefgh"})
    assert told.count('"') == 6
    assert len(told) < 100


@pytest.mark.parametrize("word", ["the", "x", "num", "mention", "url", "v2", "a_b", "?", "", "y" * 21, "0xff"])
def test_what_tells_a_reader_nothing_is_not_told(word: str) -> None:
    assert reasons.told({word: 1.0, "crash": 0.1}) == 'words: "crash"'


def test_what_speaks_against_a_label_is_no_reason_for_it() -> None:
    assert reasons.told({"crash": -0.3, "start crash": 0.2, "start": -0.2}) == "form and layout"


def test_words_of_any_script_and_short_forms_are_words() -> None:
    assert reasons.told({"编辑器": 0.3, "doesn't": 0.2, "größe": 0.1}) == 'words: "编辑器", "doesn\'t", "größe"'
