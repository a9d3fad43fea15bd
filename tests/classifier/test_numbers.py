"""The arithmetic: held-out margins, probabilities, and the bar at which nine of ten are right."""

from __future__ import annotations

import numpy
import pytest
from scipy import sparse

from triagebot.classifier import reading, ridge, shape
from triagebot.classifier.calibration import NEVER, Calibration, sure_at


def test_held_out_margins_are_those_of_a_fit_without_the_example() -> None:
    made = numpy.random.default_rng(0)
    rows = sparse.csr_matrix(made.normal(size=(24, 6)).astype(numpy.float32))
    truth = made.random((24, 2)) < 0.4
    home = numpy.array([0] * 14 + [1] * 5 + [2] * 5)
    held_out = ridge.fit(rows, home, truth).held_out
    for left_out in range(14):
        rest = numpy.delete(numpy.arange(24), left_out)
        fitted = ridge.fit(rows[rest], home[rest], truth[rest])
        margin = rows[[left_out]] @ fitted.weights + fitted.level
        assert margin[0] == pytest.approx(held_out[left_out], abs=1e-4)


def test_issues_of_the_own_repository_weigh_more() -> None:
    """The same text, labelled one way at home and the other way elsewhere: home decides."""
    rows = sparse.csr_matrix(numpy.ones((2, 1), dtype=numpy.float32))
    fitted = ridge.fit(rows, numpy.array([0, 1]), numpy.array([[True], [False]]))
    assert fitted.weights[0, 0] + fitted.level[0] > 0.2


def table(*confidence: float) -> numpy.typing.NDArray[numpy.float64]:
    return numpy.array([[value, 1 - value] for value in confidence])


def right(*answers: bool) -> numpy.typing.NDArray[numpy.bool_]:
    return numpy.array([[answer, not answer] for answer in answers])


def test_the_bar_is_the_lowest_at_which_nine_of_ten_are_right() -> None:
    confidence = [0.99 - index / 100 for index in range(20)]
    answers = [True] * 9 + [False] + [True] * 5 + [False] * 5  # 14 of 15 are right, 14 of 16 are not enough
    assert sure_at(table(*confidence), right(*answers)) == pytest.approx(confidence[14])


def test_equals_stand_or_fall_together() -> None:
    answers = [True] * 10 + [False] * 3
    assert sure_at(table(*[0.9] * 13), right(*answers)) == NEVER
    assert sure_at(table(*[0.9] * 10, *[0.8] * 3), right(*answers)) == pytest.approx(0.9)


def test_a_few_right_answers_are_luck() -> None:
    assert sure_at(table(*[0.9] * 9), right(*[True] * 9)) == NEVER


def test_probabilities_are_those_that_the_held_out_margins_bore_out() -> None:
    made = numpy.random.default_rng(1)
    chance = made.random(4_000)
    margins = (numpy.log(chance / (1 - chance)) * 0.2)[:, None]
    truth = (made.random(4_000) < chance)[:, None]
    found = Calibration(margins, truth, groups=(), whole=False).probabilities(margins)[:, 0]
    assert abs(found - chance).max() < 0.05


def test_a_text_is_read_in_bounds() -> None:
    text = reading.read("t" * 5_000, "first words " + "x" * 3_000_000 + " last words")
    assert len(text.title) == 300
    assert len(text.body) < 8_000
    assert text.body.startswith("first words")


def test_of_a_long_body_both_ends_are_read() -> None:
    body = reading.read("", "first words " + "x" * 50_000 + " last words").body
    assert body.startswith("first words")
    assert body.endswith("last words")


def test_hidden_words_are_not_read() -> None:
    assert reading.read("a", "seen<!-- hidden --> words").body == reading.read("a", "seen words").body


def test_names_addresses_and_numbers_are_all_alike() -> None:
    one = reading.read("", "ask @ada-l, see https://a.test/x and #12, commit 0123abc9, 3.11 `code`")
    two = reading.read("", "ask @bob/team, see http://b.test and #9, commit fedcba98, 14.2 `other`")
    assert one.prose == two.prose
    assert "ada" not in one.prose


def test_the_shape_has_as_many_numbers_as_it_says_and_none_runs_away() -> None:
    for title, body in (("", ""), ("How?", "```\ncode\n```\nI see 1.2"), ("x" * 300, "9\n" * 4_000)):
        numbers = shape.measure(reading.read(title, body))
        assert numbers.shape == (shape.NUMBERS,)
        assert numpy.isfinite(numbers).all()
        assert numbers.max() < 15
