"""What is learnt from which examples, and when a history is refused."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import pytest

from tests.classifier.pieces import history, labelled, wordings
from triagebot.classifier import classifier, lessons
from triagebot.core.faults import Misconfigured, TooLittleHistory
from triagebot.core.past import Past


def plan(
    past: Sequence[Past], *allowed: str, groups: Sequence[Sequence[str]] = (), others: Sequence[Past] = ()
) -> lessons.Plan:
    return lessons.plan(past, allowed=allowed, groups=groups, others=others)


def test_a_label_is_learnt_from_its_least_number_of_examples_on() -> None:
    past = history("bug", each=30) + history("docs", each=lessons.LEAST_PER_LABEL)
    assert plan(past, "bug", "docs").labels == ("bug", "docs")
    assert plan([*past[:-1], *history("", each=10)], "bug", "docs").labels == ("bug",)


def test_a_label_that_every_issue_carries_tells_nothing() -> None:
    past = [Past(title=t, body=b, labels=("all", kind)) for kind in ("bug", "docs") for t, b in wordings(kind, 20)]
    assert plan(past, "all", "bug").labels == ("bug",)


def test_labels_that_are_not_allowed_are_not_learnt() -> None:
    assert plan(history("bug", "docs", each=20), "bug", "wontfix").labels == ("bug",)


def test_too_few_issues_are_refused_in_one_sentence_that_says_what_to_do() -> None:
    past = history("bug", "docs", each=lessons.LEAST_IN_ALL // 2)
    assert plan(past, "bug", "docs").own == lessons.LEAST_IN_ALL
    with pytest.raises(TooLittleHistory) as refused:
        classifier.train(past[1:], allowed=("bug", "docs"))
    sentence = str(refused.value)
    assert isinstance(refused.value, Misconfigured)
    for said in ("39 issues", "at least 40", "at least 10", "2 of the 2 allowed labels", "model.name", "--history"):
        assert said in sentence
    assert "\n" not in sentence
    assert sentence.count(". ") == 0


@pytest.mark.parametrize("past", [[], history("", each=40), history("bug", each=40)], ids=["none", "bare", "one"])
def test_a_history_that_tells_nothing_apart_is_refused(past: list[Past]) -> None:
    with pytest.raises(TooLittleHistory):
        classifier.train(past, allowed=("bug",))


def test_one_of_means_that_each_issue_carries_exactly_one_allowed_label() -> None:
    past = history("bug", "docs", each=20)
    assert plan(past, "bug", "docs").one_of
    assert plan([*past, Past(title="t", body="", labels=("bug", "other"))], "bug", "docs").one_of
    assert not plan([*past, Past(title="t", body="", labels=("bug", "docs"))], "bug", "docs").one_of
    assert not plan([*past, Past(title="t", body="", labels=())], "bug", "docs").one_of


def test_a_rare_label_leaves_room_beside_those_that_are_learnt() -> None:
    """Where one issue of three carries a label that is too rare to learn, the rest must not share its part."""
    past = history("bug", "docs", each=20) + history("question", each=9)
    made = plan(past, "bug", "docs", "question")
    assert made.one_of
    assert made.labels == ("bug", "docs")
    assert not made.whole


def test_labels_that_never_meet_exclude_each_other() -> None:
    past = history("bug", "docs", "", each=20)
    assert plan(past, "bug", "docs").groups == ((0, 1),)
    assert plan([*past, Past(title="t", body="", labels=("bug", "docs"))], "bug", "docs").groups == ()


def test_a_repository_teaches_only_the_labels_that_it_uses() -> None:
    others = history("bug", "docs", each=5, repo="a/a") + history("question", each=5, repo="b/b")
    made = plan(history("bug", "question", each=20), "bug", "question", others=others)
    taught = {made.labels[column]: lesson.examples for lesson in made.lessons for column in lesson.labels}
    homes = {name: {made.examples[row].repo for row in rows} for name, rows in taught.items()}
    assert homes == {"bug": {"", "a/a"}, "question": {"", "b/b"}}


def test_other_repositories_names_are_matched_in_any_case() -> None:
    others = [Past(title="t", body="b", labels=("BUG",), repo="a/a")]
    made = plan(history("bug", "docs", each=20), "bug", "docs", others=others)
    assert [lesson.truth[-1].tolist() for lesson in made.lessons if 40 in lesson.examples] == [[True]]


def test_other_repositories_help_with_words_that_the_own_one_has_not_used() -> None:
    past = history("bug", "feature", each=20)
    foreign = [("Segmentation fault", f"core dumped, signal eleven in module {n}") for n in range(30)]
    wishes = [("Enhancement", f"an option for colours in module {n}") for n in range(30)]
    others = labelled(foreign, "Bug", repo="a/a") + labelled(wishes, "feature", repo="a/a")
    asked = [("Segmentation fault", "core dumped on start, signal eleven")]
    alone = classifier.train(past, allowed=("bug", "feature")).scores(asked)[0]["bug"]
    helped = classifier.train(past, allowed=("bug", "feature"), others=others).scores(asked)[0]["bug"]
    assert helped > max(alone + 0.1, 0.6)


def test_of_a_long_history_the_newest_are_kept() -> None:
    days = [Past(title="", body="", labels=(), created_at=datetime(2026, 1, day, tzinfo=UTC)) for day in (3, 1, 2)]
    numbers = [Past(title="", body="", labels=(), number=number) for number in (7, 9, 8)]
    assert [issue.created_at and issue.created_at.day for issue in lessons._newest(days, 2)] == [2, 3]
    assert [issue.number for issue in lessons._newest(numbers, 2)] == [8, 9]


def test_of_many_others_every_nth_is_kept() -> None:
    others = [Past(title="", body="", labels=(), number=number) for number in range(10)]
    assert [issue.number for issue in lessons._spread(others, 4)] == [0, 3, 6, 9]
    assert lessons._spread(others, 0) == []
    assert lessons._spread([], 4) == []
