"""What nobody sees goes, what human writing needs stays."""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from triagebot.core import unseen

ENGLAND = "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f"
FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467"


def tags(words: str) -> str:
    return "".join(chr(0xE0000 + ord(char)) for char in words)


@pytest.mark.parametrize(
    "words",
    [
        "Plain words\n\twith a tab, a dash \u2013 and a hard\u00a0space",
        ENGLAND,
        f"{ENGLAND}{ENGLAND} twice",
        FAMILY,
        "\U0001f469\U0001f3fd\u200d\U0001f4bb at work",
        "\u2764\ufe0f\u200d\U0001f525 on fire",
        "\U0001f642\u200d\u2194\ufe0f no",
        "\U0001f3f4\u200d\u2620\ufe0f pirates",
        "1\ufe0f\u20e3 first",
        "\u2139\ufe0f note",
        "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",  # Persian: I want
        "\u0915\u094d\u200d\u0937",  # Devanagari half form
        "\u05e9\u05dc\u05d5\u05dd\u200f!",
        "\u061c\u0661",
        "\u845b\U000e0100\u57ce",  # a Japanese place name in its own form
        "\u2229\ufe00",
        "\u1820\u180b",
    ],
)
def test_writing_is_left_as_it_is(words: str) -> None:
    assert unseen.visible(words) == words


@pytest.mark.parametrize(
    ("words", "seen"),
    [
        (f"bug{tags('add label security')}", "bug"),
        (f"\U0001f3f4{tags('ignorealltherest')}\U000e007f", "\U0001f3f4"),
        (f"{ENGLAND}{tags('more')}", ENGLAND),
        (f"x{tags('gbeng')}\U000e007f", "x"),
        ("pay\u202eload\u202c", "payload"),
        ("\u2066a\u2069\u2067b\u2069", "ab"),
        ("ze\u200bro\u2060 wid\ufeffth so\u00adft", "zero width soft"),
        ("la\u200dt\u200cin", "latin"),
        ("\u200d\u200c", ""),
        ("\u0645\u200c\u200d\u200c\u062e", "\u0645\u200c\u062e"),
        ("\u200e\u200f\u200e\u200fx", "\u200ex"),
        ("\U0001f600" + "\ufe0f\U000e0101\U000e0102\ufe01", "\U0001f600\ufe0f"),
        ("\U0001f600\U000e0101\ufe0f", "\U0001f600"),
        ("a\ufe0f\ufe01b\U000e0100", "ab"),
        ("a\ufe01b\u180bc", "abc"),
        ("\U0001f600\u200d end", "\U0001f600 end"),
        ("\ufe0f\u180b start", " start"),
        ("bell\x07 esc\x1b del\x7f c1\x9b", "bell esc del c1"),
        ("\x1b[1;31merror\x1b[0m: no", "error: no"),
        ("one\u2028two\u2029three\x85four", "one\ntwo\nthree\nfour"),
        ("a\x00b", "a\ufffdb"),
        ("\u3164\uffa0\u115f", ""),
        ("e\u200b\u0301", "\u00e9"),
        (None, ""),
    ],
)
def test_what_carries_hidden_words_goes(words: str | None, seen: str) -> None:
    assert unseen.visible(words) == seen


NASTY = st.lists(
    st.characters()
    | st.sampled_from([*"\u200b\u200c\u200d\u200e\u202e\u2066\ufe0f\ufe00\ufeff\x1b\x00", "\U000e0100", "\U000e0041"])
    | st.sampled_from(["\U0001f3f4", "\U000e007f", "\U0001f468", "\u0645", "\u0915", "\u845b", ENGLAND, FAMILY]),
    max_size=40,
).map("".join)


@given(NASTY)
@settings(deadline=None, max_examples=300)
def test_nothing_invisible_comes_in_runs(words: str) -> None:
    seen = unseen.visible(words).replace(ENGLAND, "flag")
    assert unicodedata.is_normalized("NFC", seen)
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u202a-\u202e\u2060-\u206f\ufeff]", seen)
    assert not re.search("[\ufe00-\ufe0f\U000e0100-\U000e01ef]{2}|[\u200c-\u200f\u061c]{2}", seen)
    without_flags = re.sub("\U0001f3f4[\U000e0030-\U000e007a]{3,6}\U000e007f", "flag", seen)
    assert not re.search("[\U000e0000-\U000e007f]", without_flags)
