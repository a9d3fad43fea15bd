"""The embedded model finds labels and issue in requests of any reasonable make."""

from __future__ import annotations

import pytest

from triagebot.sandbox import model_rule


@pytest.mark.parametrize(
    ("system", "labels"),
    [
        ("Labels:\n- `bug`: broken\n- area: db -- storage\n* docs", ["bug", "area", "docs"]),
        ('[\n{"name": "area: db"},\n{"name": "bug", "description": "x"}\n]\n- one rule', ["area: db", "bug"]),
        ('["bug", "docs"]', ["bug", "docs"]),
        ('{"labels": [{"name": "an example of an answer"}]}', []),
        ("Nothing here.", []),
    ],
)
def test_without_a_schema_the_labels_come_from_json_lines_else_from_bullets(system, labels):
    assert model_rule.labels_of({"messages": [{"role": "system", "content": system}]}) == labels


def test_the_confidence_grows_with_the_words_and_ends_below_certainty():
    def sure(title: str, body: str) -> float:
        return model_rule.answer(["bug"], title, body)["labels"][0]["confidence"]

    assert (sure("", "an error"), sure("A bug", "an error")) == (0.6, 0.8)
    assert sure("bug error crash", "fails broken wrong") == 0.95


def test_a_label_far_behind_the_best_is_not_named():
    answer = model_rule.answer(["bug", "docs"], "It crashes with an error", "See the docs")
    assert [vote["name"] for vote in answer["labels"]] == ["bug"]


@pytest.mark.parametrize(
    ("content", "issue"),
    [
        ('{"title": "T", "body": "B", "more": 1}', ("T", "B")),
        ('Here it is:\n{"title": "T", "body": null}\nThanks', ("T", "")),
        ('{"issue": {"title": "T", "body": "B"}}', ("T", "B")),
        ([{"type": "text", "text": '{"title": "T"}'}], ("T", "")),
        ("just text", ("", "just text")),
        ("{broken", ("", "{broken")),
        (None, ("", "")),
    ],
)
def test_the_issue_is_found_in_whatever_the_user_message_holds(content, issue):
    sent = {"messages": [{"role": "user", "content": "old"}, {"role": "user", "content": content}]}
    assert model_rule.issue_of(sent) == issue
