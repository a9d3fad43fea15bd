"""Examples: balanced, clipped, the likest one last, and never at the cost of the issue itself."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from triagebot.core import examples
from triagebot.core.past import Past


def past(number: int, *labels: str, title: str = "It crashes", body: str = "") -> Past:
    return Past(title=title, body=body, labels=labels, number=number)


def numbers(chosen: tuple[Past, ...]) -> list[int | None]:
    return [each.number for each in chosen]


# --- the choice


def test_the_commonest_label_does_not_swamp_the_rest() -> None:
    ranked = [past(n, "bug") for n in range(8)] + [past(8, "question"), past(9, "docs")]
    assert sorted(numbers(examples.choose(ranked, 4))) == [0, 1, 8, 9]


def test_no_more_than_half_have_the_same_labels_even_if_there_are_no_others() -> None:
    ranked = [past(n, "bug") for n in range(8)]
    assert numbers(examples.choose(ranked, 4)) == [1, 0]
    assert numbers(examples.choose(ranked, 5)) == [2, 1, 0]
    assert numbers(examples.choose(ranked, 1)) == [0]


def test_a_label_that_is_always_in_company_does_not_swamp_either() -> None:
    ranked = [past(0, "bug", "a"), past(1, "bug", "b"), past(2, "bug", "c"), past(3, "question"), past(4, "docs")]
    assert sorted(numbers(examples.choose(ranked, 3))) == [0, 3, 4]


def test_the_likest_of_each_label_is_taken_and_the_likest_of_all_stands_last() -> None:
    ranked = [past(0, "bug"), past(1, "bug"), past(2, "question"), past(3, "question"), past(4, "bug")]
    assert numbers(examples.choose(ranked, 2)) == [2, 0]
    assert numbers(examples.choose(ranked, 4)) == [3, 2, 1, 0]


def test_what_has_no_label_is_no_example() -> None:
    assert examples.choose([past(0), past(1, "bug")], 4) == (past(1, "bug"),)
    assert examples.choose([], 4) == ()


@given(
    st.lists(st.lists(st.sampled_from(["bug", "docs", "x"]), max_size=3, unique=True), max_size=30), st.integers(0, 9)
)
@settings(deadline=None)
def test_the_choice_keeps_its_promises(labels: list[list[str]], count: int) -> None:
    ranked = [past(n, *names) for n, names in enumerate(labels)]
    chosen = examples.choose(ranked, count)
    assert len(chosen) <= count
    assert numbers(chosen) == sorted(numbers(chosen), reverse=True)
    sets = [frozenset(each.labels) for each in chosen]
    assert all(sets.count(one) <= -(-count // 2) for one in sets)


# --- as data


def test_an_example_is_its_title_body_and_labels() -> None:
    assert examples.as_data([past(1, "bug", "docs", body="A body")], 12_000) == [
        {"title": "It crashes", "body": "A body", "labels": ["bug", "docs"]}
    ]


def test_long_texts_are_clipped_and_say_so() -> None:
    [shown] = examples.as_data([past(1, "bug", title="t" * 300, body="START" + "b" * 9000 + "END")], 12_000)
    assert len(shown["title"]) <= examples.TITLE
    assert len(shown["body"]) <= examples.BODY
    assert shown["body"].startswith("START")
    assert "characters left out" in shown["body"]


@pytest.mark.parametrize(("room", "count"), [(12_000, 20), (3_000, 6), (500, 1), (400, 0), (0, 0), (-5, 0)])
def test_where_the_budget_is_small_the_likest_are_kept(room: int, count: int) -> None:
    chosen = [past(n, "bug", title=f"{n}", body="b" * 1000) for n in range(20)]
    shown = examples.as_data(chosen, room)
    assert [each["title"] for each in shown] == [f"{n}" for n in range(20 - count, 20)]


@given(
    st.lists(st.tuples(st.text(max_size=400), st.text(max_size=900), st.text(min_size=1, max_size=60)), max_size=8),
    st.integers(min_value=0, max_value=9000),
)
@settings(deadline=None)
def test_they_never_take_more_than_a_third(texts: list[tuple[str, str, str]], room: int) -> None:
    chosen = [past(n, label, title=title, body=body) for n, (title, body, label) in enumerate(texts)]
    shown = examples.as_data(chosen, room)
    assert len(json.dumps(shown, ensure_ascii=False)) <= max(room // 3, 0) + 2
