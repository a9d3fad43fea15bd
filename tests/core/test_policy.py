"""Which labels may be set: only listed ones, only sure ones, never against a person's will."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from triagebot.core import policy
from triagebot.core.issue import Label
from triagebot.core.policy import Addable, Choice, LabelPolicy
from triagebot.core.verdict import Vote

OPEN = LabelPolicy(deny=())


def labels(*names: str) -> tuple[Label, ...]:
    return tuple(Label(name=name) for name in names)


def votes(*names: str, confidence: float = 0.9) -> list[Vote]:
    return [Vote(name=name, confidence=confidence) for name in names]


def names(choice: Choice) -> list[str]:
    return [vote.name for vote in choice.votes]


# --- usable


@pytest.mark.parametrize(
    "name", ["duplicate", "Security", "automerge", "release-2.0", "legal-approved", "🔒 security", ":lock: Security"]
)
def test_labels_that_start_automation_or_bury_an_issue_are_off_by_default(name: str) -> None:
    assert policy.usable(LabelPolicy(), labels(name, "bug")) == labels("bug")


def test_allow_narrows_and_deny_wins() -> None:
    only = LabelPolicy(allow=("area:*", "BUG"), deny=("area: secret*",))
    offered = labels("bug", "docs", "Area: UI", "area: secret plans")
    assert set(policy.usable(only, offered)) == set(labels("bug", "Area: UI"))


def test_the_order_of_the_repositorys_labels_is_not_the_order_of_the_question() -> None:
    names = ["bug", "docs", "✨ feature", "area/ui", "good first issue", "\ud83d"]
    asked = policy.usable(OPEN, labels(*names))
    assert {policy.usable(OPEN, labels(*order)) for order in itertools.permutations(names, 6)} == {asked}
    assert [label.name for label in asked] not in (names, sorted(names))


def test_a_name_with_brackets_can_be_written_as_it_is() -> None:
    assert policy.usable(LabelPolicy(allow=("[area] ui",)), labels("[area] ui", "ui")) == labels("[area] ui")


def test_a_composed_and_a_decomposed_name_are_one() -> None:
    assert policy.usable(LabelPolicy(deny=("caf\u00e9",)), labels("cafe\u0301")) == ()


# --- choose


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("✨ feature", "✨ feature"),
        (":sparkles: feature", "✨ feature"),
        ("feature", "✨ feature"),
        ("  Feature ✨", "✨ feature"),
        ("\u2728\ufe0f FEATURE", "✨ feature"),
        ("Good First Issue", "good first issue"),
        ("good first issue :tada::+1:", "good first issue"),
        ("C++", "C++"),
        ("cafe\u0301", "caf\u00e9"),
        ("1\ufe0f\u20e3 first", "first"),
        ("\U0001f44d\U0001f3fd docs", "docs"),
        ("🎈", "🎈"),
    ],
)
def test_a_vote_finds_its_label_under_the_repositorys_name(said: str, meant: str) -> None:
    repo = labels("✨ feature", "good first issue", "C++", "caf\u00e9", "first", "docs", "🎈")
    assert names(policy.choose(OPEN, repo, votes(said))) == [meant]


@pytest.mark.parametrize("said", ["urgent-p0", "good-first-issue", "good", "feat", "bug, docs", "✨", "", "🎈🎈"])
def test_any_other_name_is_dropped_and_reported(said: str) -> None:
    choice = policy.choose(OPEN, labels("good first issue", "✨ feature", "bug", "docs"), votes(said, "bug"))
    assert names(choice) == ["bug"]
    assert choice.dropped == (f"{said}: no such label",)


def test_an_ambiguous_name_is_dropped_but_an_exact_one_counts() -> None:
    repo = labels("✨ feature", "🚀 feature")
    assert policy.choose(OPEN, repo, votes("feature")).dropped == ("feature: could be any of 2 labels",)
    assert names(policy.choose(OPEN, repo, votes("🚀 feature"))) == ["🚀 feature"]


def test_unsure_votes_are_dropped_with_the_numbers() -> None:
    choice = policy.choose(OPEN, labels("bug"), votes("bug", confidence=0.4))
    assert choice == Choice((), ("bug: confidence 0.40 is below 0.60",))
    assert names(policy.choose(OPEN, labels("bug"), votes("bug", confidence=0.6))) == ["bug"]
    assert not policy.choose(OPEN, labels("bug"), votes("bug", confidence=float("nan"))).votes


def test_at_most_max_labels_the_surest_first_and_equals_in_their_order() -> None:
    said = [Vote(name=n, confidence=c) for n, c in [("a", 0.7), ("b", 0.9), ("c", 0.7), ("d", 0.8)]]
    choice = policy.choose(LabelPolicy(deny=(), max=3), labels("a", "b", "c", "d"), said)
    assert names(choice) == ["b", "d", "a"]
    assert choice.dropped == ("c: more than 3 labels",)


def test_one_label_for_each_group() -> None:
    grouped = LabelPolicy(deny=(), groups=(("kind/*",), ("P?",)))
    said = [Vote(name=n, confidence=c) for n, c in [("kind/bug", 0.7), ("kind/docs", 0.8), ("p1", 0.9), ("ui", 0.6)]]
    choice = policy.choose(grouped, labels("kind/bug", "kind/docs", "P1", "ui"), said)
    assert names(choice) == ["P1", "kind/docs", "ui"]
    assert choice.dropped == ("kind/bug: kind/docs is surer in its group",)


def test_one_label_named_twice_is_set_once() -> None:
    said = [Vote(name="Bug", confidence=0.7), Vote(name="bug", confidence=0.9, reason="x")]
    choice = policy.choose(OPEN, labels("bug"), said)
    assert choice == Choice((Vote(name="bug", confidence=0.9, reason="x"),), ("bug: named more than once",))


def test_a_dropped_name_is_one_short_visible_line() -> None:
    said = votes("x\n\u202e" + "y" * 100)
    assert policy.choose(OPEN, labels("bug"), said).dropped == (f"x {'y' * 48}: no such label",)


NAMES = st.text(st.sampled_from("aB:+ ✨🚀[*]\u0301-\ufe0f1"), max_size=8)


@given(
    st.lists(NAMES, max_size=6, unique=True),
    st.lists(st.builds(Vote, name=NAMES, confidence=st.floats()), max_size=8),
    st.integers(0, 4),
    st.lists(NAMES, max_size=2),
)
@settings(deadline=None)
def test_only_usable_labels_come_out(offered: list[str], said: list[Vote], most: int, globs: list[str]) -> None:
    rules = LabelPolicy(deny=tuple(globs), groups=(tuple(globs),), max=most)
    able = policy.usable(rules, labels(*offered))
    choice = policy.choose(rules, able, said)
    chosen = names(choice)
    assert set(chosen) <= {label.name for label in able} <= set(offered)
    assert len(chosen) == len(set(chosen)) <= most
    assert all(vote.confidence >= rules.min_confidence for vote in choice.votes)
    assert len(choice.votes) + len(choice.dropped) == len(said)


@given(NAMES)
@settings(deadline=None)
def test_plain_names_are_stable(name: str) -> None:
    assert policy.plain(policy.plain(name)) == policy.plain(name)


# --- addable


def addable(*chosen: str, rules: LabelPolicy = OPEN, on: tuple[str, ...] = (), off: tuple[str, ...] = ()) -> Addable:
    known = ("bug", "Docs", "kind/a", "kind/b", "kind/c")
    return policy.addable(rules, chosen, on_issue=on, taken_off=frozenset(off), known=known)


def test_what_is_missing_is_added_in_the_repositorys_spelling() -> None:
    assert addable("BUG", "docs", "Bug") == Addable(("bug", "Docs"), (), ())


def test_a_label_that_anybody_took_off_stays_off() -> None:
    assert addable("Docs", "bug", off=("docs",)) == Addable(("bug",), (), ("Docs: taken off by a person",))


def test_a_label_that_a_person_put_back_stands() -> None:
    assert addable("docs", on=("Docs",), off=("docs",)) == Addable((), ("Docs",), ())


def test_a_label_that_the_repository_lost_is_never_made_anew() -> None:
    assert addable("gone") == Addable((), (), ("gone: no longer a label of the repository",))
    assert addable("gone", on=("Gone",)) == Addable((), ("Gone",), ())


def test_a_group_that_the_issue_has_one_of_gets_no_second() -> None:
    rules = LabelPolicy(groups=(("kind/*",),))
    assert addable("kind/a", "bug", rules=rules, on=("kind/b",)) == Addable(
        ("bug",), (), ("kind/a: kind/b stands for its group",)
    )
    assert addable("kind/a", rules=rules, on=("KIND/A",)) == Addable((), ("kind/a",), ())
    assert addable("kind/a", "kind/c", rules=rules).add == ("kind/a",)
