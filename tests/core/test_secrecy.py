"""What a model said is kept without the secrets of this process, in whatever form it says them, and without keys."""

from __future__ import annotations

import base64

import pytest

from triagebot.core import secrecy

SECRET = "Tok_9f8e-7d6c5b4a?~ü"
FORMS = {
    "plain": SECRET,
    "in capitals": SECRET.upper(),
    "in thin spaces": "\u2060".join(SECRET),
    "in wide letters": SECRET.replace("T", "\uff34"),
    "in hexadecimal": SECRET.encode().hex(),
    "in base64 within other text": base64.b64encode(b"xy" + SECRET.encode() + b"z").decode(),
}
KEY = "ghp_" + 36 * "a"


@pytest.mark.parametrize("form", FORMS)
def test_words_that_say_a_secret_in_any_form_are_withheld_as_a_whole(form: str) -> None:
    words = f"it crashes; {FORMS[form]}, they say"
    assert secrecy.fit_to_keep(words, ("another-secret", SECRET)) == secrecy.WITHHELD
    assert secrecy.says_a_secret(words, ("another-secret", SECRET))


@pytest.mark.parametrize("shown", [8, 12, len(SECRET) - 1])
def test_the_beginning_of_a_secret_at_the_end_counts_for_words_may_have_been_cut(shown: int) -> None:
    assert secrecy.fit_to_keep(f"x {SECRET[:shown]}", [SECRET]) == secrecy.WITHHELD
    assert secrecy.fit_to_keep(f"{SECRET[:shown]} and more", [SECRET]) == f"{SECRET[:shown]} and more"


def test_what_was_withheld_still_says_that_there_was_a_secret() -> None:
    """The comment with these words must not be posted, though they no longer hold it."""
    assert secrecy.says_a_secret(f"one\n{secrecy.fit_to_keep(SECRET, [SECRET])}", [SECRET])


def test_a_key_of_anybody_goes_and_the_words_round_it_stay() -> None:
    assert secrecy.fit_to_keep(f"the key is {KEY}, see", [SECRET]) == "the key is [a key], see"
    assert secrecy.without_keys("\u200b".join(KEY)) == "[a key]"


@pytest.mark.parametrize(
    ("end", "left"), [("\n-----END RSA PRIVATE KEY-----\nsee", "it is [a key]\nsee"), ("", "it is [a key]")]
)
def test_a_private_key_goes_with_all_of_its_lines(end: str, left: str) -> None:
    block = f"-----BEGIN RSA PRIVATE KEY-----\nMIIEow\nabc={end}"
    assert secrecy.fit_to_keep(f"it is {block}", ()) == left


def test_what_an_app_is_given_and_what_it_signs_are_keys() -> None:
    signed = ".".join(("eyJhbGciOiJSUzI1NiJ9", "eyJpc3MiOiI3In0xxxxx", "c2lnbmF0dXJl"))
    told = f"sent ghs_7_{'t' * 30}.{'u' * 20} and {signed}, not ghs_x"
    assert secrecy.fit_to_keep(told, ()) == "sent [a key] and [a key], not ghs_x"


@pytest.mark.parametrize("words", ["it crashes", "", "Grüße, ﬁne ½", "sk-short", "ghp_", "[withheld]"])
def test_other_words_are_kept_as_they_are(words: str) -> None:
    assert secrecy.fit_to_keep(words, ["", "short", " " * 12, SECRET]) == words
    assert not secrecy.says_a_secret(words, ["", "short", " " * 12, SECRET])
