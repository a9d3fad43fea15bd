"""What the views see of an issue."""

from __future__ import annotations

from collections.abc import Callable

import numpy
import pytest

from tests.classifier.pieces import history
from triagebot.classifier import reading, views
from triagebot.classifier.reading import Text


def seen(view: Callable[[Text], object], title: str = "", body: str = "") -> list[str]:
    tokens = view(reading.read(title, body))
    return [token for token in tokens if token]  # type: ignore[attr-defined]


def test_words_are_counted_alone_and_in_pairs_with_question_marks() -> None:
    assert list(views.words("Why? No idea", 2)) == ["", "why", "?", "no", "idea", "why ?", "? no", "no idea"]


def test_what_is_too_long_for_a_word_is_none() -> None:
    assert list(views.words("a " + "x" * 41 + " b", 2)) == ["", "a", "b", "a b"]


def test_the_start_of_a_title_tells_tag_prefix_and_first_words() -> None:
    assert seen(views.start_of_title, "[Feature Request]: dark mode") == [
        "starts feature",
        "starts feature request",
        "starts feature request dark",
        "starts feature request dark mode",
        "ends mode",
        "tag feature request",
    ]
    assert "prefix net" in seen(views.start_of_title, "net: timeout is lost")


FORMS = {
    "### Issue type\n\nBug\n\n### OS\n\nSome long answer that says more than a word of a list": [
        "heading issue type",
        "answer issue type = bug",
        "heading os",
    ],
    "**Steps to reproduce**\n\n1. run": ["heading steps to reproduce", "answer steps to reproduce = 1 run"],
    "Type: <b>Bug</b>": ["key type", "pair type = bug"],
    "- OS Version: Windows 10": ["key os version", "pair os version = windows 10"],
    "Nothing of the kind.": [],
}


@pytest.mark.parametrize("body", FORMS)
def test_a_form_is_its_headings_and_its_short_answers(body: str) -> None:
    assert seen(views.form, body=body) == FORMS[body]


def test_rows_are_of_one_length_on_the_average_and_the_words_keep_their_columns() -> None:
    texts = [reading.read(issue.title, issue.body) for issue in history("bug", "feature", "question")]
    fitted = views.Views()
    rows = fitted.fit(texts)
    assert 0.9 < rows.multiply(rows).sum(axis=1).mean() <= 1.01
    again = fitted.rows(texts)
    assert abs(rows - again).max() == 0
    column = {term: at for at, term in fitted.spoken().items()}
    for term in ("traceback", "manual"):
        holds = numpy.array([term in text.prose for text in texts])
        assert (rows[:, [column[term]]].toarray()[:, 0] > 0).tolist() == holds.tolist()
