"""What a classifier says after it was trained, on histories of a few dozen issues."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.classifier.pieces import WORDING, history, labelled, wordings
from triagebot.classifier import classifier
from triagebot.classifier.classifier import Classifier

KINDS = ("bug", "feature", "question")
UNSEEN = {kind: wordings(kind, 30)[16:] for kind in WORDING}


@pytest.fixture(scope="module")
def three_kinds() -> Classifier:
    return classifier.train(history(*KINDS), allowed=KINDS)


@pytest.fixture(scope="module")
def several_labels() -> Classifier:
    """Crashes carry two labels, questions one, notes none."""
    past = labelled(wordings("bug", 16), "bug", "urgent") + history("feature", "question", "")
    return classifier.train(past, allowed=("bug", "urgent", "feature", "question"))


@pytest.mark.parametrize("kind", KINDS)
def test_unseen_issues_get_the_label_of_their_kind(three_kinds: Classifier, kind: str) -> None:
    assert [max(scores, key=lambda name: scores[name]) for scores in three_kinds.scores(UNSEEN[kind])] == [kind] * 14


def test_where_each_issue_has_one_label_the_probabilities_add_up_to_one(three_kinds: Classifier) -> None:
    assert three_kinds.one_of
    assert three_kinds.labels == KINDS
    assert [sum(scores.values()) for scores in three_kinds.scores(UNSEEN["bug"])] == pytest.approx([1.0] * 14)


def test_where_issues_have_several_labels_each_is_judged_by_itself(several_labels: Classifier) -> None:
    assert not several_labels.one_of
    for scores in several_labels.scores(UNSEEN["bug"]):
        assert min(scores["bug"], scores["urgent"]) > 0.6
        assert max(scores["feature"], scores["question"]) < 0.3


def test_issues_without_a_label_teach_to_say_nothing(several_labels: Classifier) -> None:
    assert max(max(scores.values()) for scores in several_labels.scores(UNSEEN[""])) < 0.3


def test_labels_of_a_group_never_add_up_to_more_than_one() -> None:
    mixed = [(a[0], f"{a[1]} {b[1]}") for a, b in zip(wordings("bug", 20), wordings("feature", 20), strict=True)]
    past = labelled(mixed, "bug", "feature") + history(*KINDS)
    free = classifier.train(past, allowed=KINDS).scores(mixed)
    grouped = classifier.train(past, allowed=KINDS, groups=[("bug", "feature")]).scores(mixed)
    assert max(scores["bug"] + scores["feature"] for scores in free) > 1.1
    assert max(scores["bug"] + scores["feature"] for scores in grouped) <= 1.0 + 1e-9


def test_votes_are_scores_with_reasons_surest_first(three_kinds: Classifier) -> None:
    title, body = UNSEEN["bug"][0]
    votes = three_kinds.votes(f"How do I configure it? {title}", f"{body} I wonder, is it in the manual?")
    assert {vote.name for vote in votes} >= {"bug", "question"}
    assert [vote.confidence for vote in votes] == sorted((vote.confidence for vote in votes), reverse=True)
    sure = three_kinds.votes(title, body)[0]
    assert (sure.name, sure.confidence) == ("bug", three_kinds.scores([(title, body)])[0]["bug"])
    assert '"traceback"' in sure.reason


def test_reasons_are_words_and_name_nobody() -> None:
    loud = "crashed by @octo-person at https://example.test/deadbeef see #42 deadbeefcafe1234 v2.13.0 0xffff9999"
    past = labelled([(f"{title} {loud}", f"{loud} {body}") for title, body in wordings("bug", 20)], "bug")
    trained = classifier.train(past + history("feature", each=20), allowed=("bug", "feature"))
    reasons = [vote.reason for text in (past[0], past[7]) for vote in trained.votes(text.title, text.body)]
    assert any("crash" in reason for reason in reasons)
    for reason in reasons:
        assert len(reason) < 100
        assert re.fullmatch(r'words: "[a-z]{2,20}"(, "[a-z]{2,20}"){0,4}|form and layout', reason)
        assert not re.search(r"octo|person|example|https|deadbeef|cafe|mention|url|num", reason)


def test_the_least_confidence_is_one_that_pays_on_held_out_issues(three_kinds: Classifier) -> None:
    assert 1 / 3 < three_kinds.sure_at < 1


def test_a_history_that_contradicts_itself_never_makes_sure() -> None:
    texts = wordings("bug", 20)
    trained = classifier.train(labelled(texts, "bug") + labelled(texts, "feature"), allowed=("bug", "feature"))
    assert trained.sure_at == pytest.approx(1.01)
    assert trained.scores(texts[:1])[0] == pytest.approx({"bug": 0.5, "feature": 0.5})


ODD = {
    "empty": ("", ""),
    "one giant token": ("x" * 100_000, "y" * 1_000_000),
    "only emoji": ("🔥🔥", "👩‍💻 🚀" * 50),
    "Chinese": ("编辑器崩溃了", "每次启动时都会崩溃。" * 20),
    "three megabytes": ("crash", "It crashed: an exception. " * 120_000),
    "backticks": ("`" * 300, "```\n`" * 10_000),
    "brackets": ("![" * 150, "![" * 100_000),
    "colons and stars": ("**" * 150, "**a:" * 50_000),
    "NUL and half a character": ("\x00", "\ud83d\x00"),
    "CRLF": ("crash\r\n", "### Version\r\n\r\n_No response_\r\n"),
}


@pytest.mark.parametrize("name", ODD)
def test_odd_texts_are_judged_like_any_other(three_kinds: Classifier, name: str) -> None:
    scores = three_kinds.scores([ODD[name]])[0]
    assert sum(scores.values()) == pytest.approx(1.0)
    assert all(0 <= score <= 1 for score in scores.values())
    assert {vote.name for vote in three_kinds.votes(*ODD[name])} <= set(KINDS)


def test_a_history_of_odd_texts_can_be_learnt() -> None:
    past = labelled(list(ODD.values()) * 2 + [("", "")] * 10, "odd") + labelled([(".", "?")] * 30, "even")
    trained = classifier.train(past, allowed=("odd", "even"))
    assert trained.scores([(".", "?")])[0]["even"] > 0.6


def test_a_history_without_a_word_teaches_no_more_than_how_often_a_label_is_set() -> None:
    past = labelled([("", "")] * 30, "often") + labelled([("", "")] * 15, "seldom")
    scores = classifier.train(past, allowed=("often", "seldom")).scores([("", ""), ("crash", "It crashed.")])
    assert all(score["often"] > score["seldom"] for score in scores)


def test_no_text_no_score(three_kinds: Classifier) -> None:
    assert three_kinds.scores([]) == []


def test_many_texts_at_once_are_the_same_as_one_by_one(three_kinds: Classifier) -> None:
    texts = [text for kind in KINDS for text in UNSEEN[kind]] * 8
    assert three_kinds.scores(texts) == [three_kinds.scores([text])[0] for text in texts]


def test_threads_may_share_a_classifier(several_labels: Classifier) -> None:
    texts = [text for kind in WORDING for text in UNSEEN[kind]]
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda text: several_labels.votes(*text), texts))
    assert together == [several_labels.votes(*text) for text in texts]


_ASKED = """
from tests.classifier.test_classifier import KINDS, UNSEEN, history
from triagebot.classifier import classifier
trained = classifier.train(history(*KINDS), allowed=KINDS, others=history("bug", "docs", repo="a/b"))
print(trained.sure_at, [trained.votes(*text) for kind in UNSEEN for text in UNSEEN[kind]])
"""


def test_two_processes_say_the_same_to_the_last_bit() -> None:
    seeds = ("1", "2")
    said = [
        subprocess.run(
            [sys.executable, "-c", _ASKED],
            env=os.environ | {"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
            timeout=120,
        ).stdout
        for seed in seeds
    ]
    assert said[0] == said[1] != ""


def test_the_room_can_be_named_without_paying_for_its_library() -> None:
    asked = "import sys, triagebot.classifier; print('sklearn' in sys.modules, 'numpy' in sys.modules)"
    told = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True, timeout=60)
    assert told.stdout.split() == ["False", "False"]
