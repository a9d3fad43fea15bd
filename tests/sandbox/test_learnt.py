"""The embedded model as it is served to people: what it learns from is fit for it, and its answers are its own."""

from __future__ import annotations

import json
import re
import threading
import urllib.request
from collections import Counter
from typing import Any

import pytest

from triagebot.cli import sandboxes
from triagebot.core import prompt, verdict
from triagebot.core.issue import Label
from triagebot.core.past import Past
from triagebot.sandbox import learnt, model_rule, samples

NAMES = tuple(samples.LABELS)


# --- what it learns from


def test_the_history_holds_enough_of_each_label_and_some_of_none() -> None:
    counts = Counter(label for issue in learnt.history() for label in issue.labels or ("",))
    assert counts.keys() == {"", "good first issue", *NAMES}
    assert min(counts[name] for name in NAMES) >= 20
    assert counts[""] >= 10
    assert max(counts, key=counts.__getitem__) == "bug"


def test_the_history_was_over_before_the_samples_began() -> None:
    dates = [issue.created_at for issue in learnt.history() if issue.created_at]
    assert len(dates) == len(learnt.history())
    assert dates == sorted(dates)
    assert dates[-1] < min(issue.created_at for issue in samples.samples() if issue.created_at)


def test_no_sample_is_given_away_by_the_history() -> None:
    """No six words on end that somebody wrote on a sample stand in it, nor the whole of a shorter one."""
    known = f" {' '.join(_written(issue.title, issue.body) for issue in learnt.history())} "
    for sample in samples.samples():
        words = _written(sample.title, sample.body or "").split()
        runs = [" ".join(words[n : n + 6]) for n in range(max(1, len(words) - 5))]
        assert [run for run in runs if run and f" {run} " in known] == [], sample.number


def _written(title: str, body: str) -> str:
    """The words of a text, without those that a form or a program wrote."""
    own = re.sub(r"```.*?```|<!--.*?-->|_No response_|^#+ .*?$", "", body, flags=re.DOTALL | re.MULTILINE)
    return " ".join(re.findall(r"\w+", f"{title} {own}".casefold()))


# --- what it answers


def named(labels: tuple[str, ...], title: str, body: str = "") -> dict[str, float]:
    return {label["name"]: label["confidence"] for label in learnt.answer(labels, title, body)["labels"]}


FORM = "### Steps\n\n1. open a note\n\n### Expected\n\nIt opens\n\n### Actual\n\n```\nTypeError: 'NoneType'\n```\n"


GERMAN = ("Server startet nicht mehr nach dem Update", "Beim Start kommt eine Meldung, danach ist er weg.")


def test_it_finds_most_of_what_people_set_on_issues_that_it_has_not_seen_and_little_else() -> None:
    found = [({*named(NAMES, issue.title, issue.body or "")}, {*issue.labels}) for issue in samples.samples()]
    right, wrong = (
        sum(len(chosen) for chosen in kind) for kind in zip(*((a & b, a - b) for a, b in found), strict=True)
    )
    assert right >= 13, "half of the 26"
    assert wrong <= 4


def test_its_words_come_from_the_history_and_not_from_the_rule() -> None:
    """The rule knows the words of English only."""
    assert model_rule.answer(NAMES, *GERMAN) == {"labels": []}
    assert [*named(NAMES, *GERMAN)] == ["bug"]


def test_a_label_is_taken_for_its_concept_by_its_stem() -> None:
    plain = named(("bug", "question"), "Crash when a note is opened", FORM)
    assert plain["bug"] > 0.6
    assert named(("kind/question", "kind/bug"), "Crash when a note is opened", FORM) == {"kind/bug": plain["bug"]}


def test_a_label_of_no_concept_keeps_the_rule() -> None:
    answer = learnt.answer(("area: parser", "area: web", "bug"), "The parser is here", "")
    ruled = model_rule.answer(("area: parser",), "The parser is here", "")
    assert [label for label in answer["labels"] if label["name"] != "bug"] == ruled["labels"]


def test_what_is_less_likely_than_not_is_left_out() -> None:
    assert named(NAMES, ".") == {}
    for issue in samples.samples():
        assert all(sure >= 0.5 for sure in named(NAMES, issue.title, issue.body or "").values())


def test_the_surest_comes_first_and_three_are_enough() -> None:
    names = ("type: bug", "crash", "defect", "regression", "area: opened")
    answer = learnt.answer(names, "Crash when a note is opened", FORM)["labels"]
    sure = [label["confidence"] for label in answer]
    assert len(answer) == 3
    assert sure == sorted(sure, reverse=True)


def test_an_issue_gets_the_same_answer_whole_and_as_a_bot_cuts_it() -> None:
    """The demo asks by itself what is due; the bot asks with text that is cleaned and cut."""
    for issue in samples.samples():
        labels = [Label(name=name) for name in NAMES]
        question = prompt.compose("{{labels}}", labels, issue.title, issue.body or "", input_chars=12_000)
        seen = model_rule.issue_of({"messages": [{"role": "user", "content": question.user}]})
        assert learnt.answer(NAMES, *seen) == learnt.answer(NAMES, issue.title, issue.body or ""), issue.number


# --- when it learns


def test_many_who_ask_at_once_make_it_learn_once(monkeypatch: pytest.MonkeyPatch) -> None:
    trainings: list[int] = []
    second = threading.Event()

    def train(past: list[Past], **_: Any) -> object:
        trainings.append(len(past))
        if len(trainings) > 1:
            second.set()
        second.wait(0.2)  # as long as a second one would have to come in
        return object()

    monkeypatch.setattr(learnt.classifier, "train", train)
    monkeypatch.setattr(learnt, "_trained", learnt.functools.cache(learnt._trained.__wrapped__))
    threads = [threading.Thread(target=learnt.trained) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert trainings == [len(learnt.history())]


def test_it_is_what_the_command_serves_and_has_learnt_before_it_can_be_asked() -> None:
    with sandboxes._served_model(0) as url:
        assert learnt._trained.cache_info().currsize == 1
        content = json.dumps(dict(zip(("title", "body"), GERMAN, strict=True)))
        messages = [{"role": "system", "content": '["kind/bug", "kind/doc"]'}, {"role": "user", "content": content}]
        sent = json.dumps({"model": "stand-in", "messages": messages}).encode()
        with urllib.request.urlopen(f"{url}/chat/completions", sent, timeout=10) as answered:
            judged = verdict.judge(json.load(answered))
    assert isinstance(judged, verdict.Answer)
    assert [(vote.name, bool(vote.reason)) for vote in judged.votes] == [("kind/bug", True)]
