"""Whatever an endpoint sends, judging it returns, and nothing is made up."""

from __future__ import annotations

import json
import math
import time
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from triagebot.core import text, verdict
from triagebot.core.verdict import Answer, Outcome, Unusable, Usage, Verdict, Vote

BUG = Answer((Vote(name="bug", confidence=1.0),))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
WORDS = st.sampled_from(
    ["choices", "message", "content", "refusal", "finish_reason", "text", "type", "usage", "labels"]
)
ENVELOPE_LIKE = st.recursive(
    JSON, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=4), max_leaves=12
)
FRAGMENTS = st.lists(
    st.sampled_from(
        [
            '{"labels":',
            '["bug"]',
            '{"name":"bug","confidence":0.9}',
            "```json\n",
            "```",
            "<think>",
            "</think>",
            "NaN",
            "1e999",
            "\ud83d",
            "prose ",
            *'{}[]"\\,\n ',
        ]
    ),
    max_size=14,
).map("".join)


def envelope(content: object, *, finish: object = "stop", **message: object) -> dict[str, Any]:
    return {"choices": [{"message": {"content": content} | message, "finish_reason": finish}]}


def kind(answer: Answer | Unusable) -> str:
    return answer.kind if isinstance(answer, Unusable) else "answer"


# --- what the envelope says


@pytest.mark.parametrize(
    "sent",
    [
        {},
        {"choices": None},
        {"choices": []},
        {"choices": "none"},
        {"choices": [None]},
        {"choices": [{"message": None}]},
        {"choices": [{"message": "words"}]},
        {"error": {"message": "upstream"}},
        envelope('{"labels": ["bug"]}', finish="content_filter"),
    ],
)
def test_an_answer_that_was_withheld_is_filtered_for_good(sent: dict[str, Any]) -> None:
    answer = verdict.judge(sent)
    assert isinstance(answer, Unusable)
    assert (answer.kind, answer.final) == ("filtered", Outcome.FILTERED)


@pytest.mark.parametrize(
    "sent",
    [
        envelope(None, refusal="I would rather not"),
        envelope('{"labels": ["bug"]}', refusal="I would rather not"),
        envelope(None, finish="length", refusal="I would rather"),
        envelope([{"type": "refusal", "refusal": "I would rather not"}]),
    ],
)
def test_a_refusal_is_final_and_never_quoted(sent: dict[str, Any]) -> None:
    answer = verdict.judge(sent)
    assert isinstance(answer, Unusable)
    assert (answer.kind, answer.final) == ("refused", Outcome.REFUSED)
    assert "rather" not in answer.reason


def test_the_finish_reason_is_looked_at_before_the_content() -> None:
    """A whole object can stand at the start of an answer that goes on to change it."""
    answer = verdict.judge(envelope('{"labels": ["bug"]}', finish="length"))
    assert isinstance(answer, Unusable)
    assert (answer.kind, answer.final) == ("truncated", None)


@pytest.mark.parametrize(
    "sent",
    [
        envelope(None),
        envelope(""),
        envelope(" \n"),
        envelope("", reasoning_content='{"labels": ["bug"]}'),
        envelope([]),
        envelope([{"type": "image"}]),
        envelope(17),
        envelope('<think>{"labels": ["bug"]}</think>'),
        envelope('<think>so {"labels": ["bug"]} it is'),
        envelope('◁think▷so {"labels": ["bug"]} it is'),
        envelope('<|START_THINKING|>so {"labels": ["bug"]} it is'),
        envelope('<|channel|>analysis<|message|>so {"labels": ["bug"]} it is'),
        envelope('<|channel|>commentary to=functions.label <|constrain|>json<|message|>{"labels": ["bug"]}<|call|>'),
        envelope(None, refusal=""),
    ],
)
def test_no_words_outside_reasoning_deserve_a_second_try(sent: dict[str, Any]) -> None:
    answer = verdict.judge(sent)
    assert isinstance(answer, Unusable)
    assert (answer.kind, answer.final) == ("empty", None)


def test_content_in_parts_is_one_text() -> None:
    parts = [{"type": "text", "text": '{"labels": '}, {"type": "text", "text": '["bug"]}'}, {"type": "other"}, "x"]
    assert verdict.judge(envelope(parts)) == BUG


# --- what the content says


@pytest.mark.parametrize(
    "content",
    [
        '{"labels": ["bug"]}',
        ' \n{"labels":["bug"]}\n',
        '["bug"]',
        '[{"name": "bug"}]',
        '{"labels": [{"name": " bug "}]}',
        '```json\n{"labels":["bug"]}\n```',
        '```json\n{"labels":["bug"]}',
        '```\n["bug"]\n```\nDone.',
        'Sure:\n```json\n{"labels":["bug"]}\n```\nI did not take {"labels":["docs"]}.',
        'Looking at this...\n["bug"]',
        'First {"labels":["docs"]}, no: {"labels":["bug"]}. Done {ok}.',
        '{"labels": ["bug"]} (see [1], [ ] and ["docs"])',
        '```\n{"labels":["docs"]}\n```\nbetter:\n```\n{"labels":["bug"]}\n```',
        '{not json} {"labels":["bug"]}',
        '<think>maybe {"labels":["docs"]}</think>{"labels":["bug"]}',
        '<THINKING budget="2">x</THINKING>\n["bug"]',
        '[THINK]{"labels":["docs"]}[/THINK]["bug"]',
        'no opening {"labels":["docs"]}</think>{"labels":["bug"]}',
        '<think>say <think> a lot</think> then</think>{"labels":["bug"]}',
        '{"labels":["bug"]}<think>was that right? {"labels":["docs"]}',
        '\ufeff{"labels":["bug"]}',
        '◁think▷{"labels":["docs"]}◁/think▷["bug"]',
        '<|START_THINKING|>{"labels":["docs"]}<|END_THINKING|><|START_RESPONSE|>["bug"]<|END_RESPONSE|>',
        '<|begin_of_thought|>{"labels":["docs"]}<|end_of_thought|>\n["bug"]',
        '<reason>{"labels":["docs"]}</reason>["bug"]',
        '<|channel|>analysis<|message|>{"labels":["docs"]}<|end|><|start|>assistant<|channel|>final<|message|>["bug"]',
        '{"labels":["docs"]}<|channel|>final <|constrain|>json<|message|>["bug"]<|return|>',
        '["bug"]<|end|>',
        '<analysis>{"labels":["docs"]}</analysis>["bug"]',
    ],
)
def test_one_label_is_found_however_it_is_wrapped(content: str) -> None:
    assert verdict.judge(envelope(content)) == BUG


@pytest.mark.parametrize(
    "content",
    [
        '{"labels":[{"name":"bug","reason":"prints <think> in the reply"}]}',
        '<think>short</think>{"labels":[{"name":"bug","reason":"prints <think> in the reply"}]}',
    ],
)
def test_an_answer_about_reasoning_tags_is_not_taken_for_reasoning(content: str) -> None:
    vote = Vote(name="bug", confidence=1.0, reason="prints <think> in the reply")
    assert verdict.judge(envelope(content)) == Answer((vote,))


def test_a_fence_within_a_reason_ends_nothing() -> None:
    content = '```json\n{"labels":[{"name":"bug","reason":"a ``` in the readme"}]}\n```'
    assert verdict.judge(envelope(content)) == Answer((Vote(name="bug", confidence=1.0, reason="a ``` in the readme"),))


@pytest.mark.parametrize(
    "content",
    [
        '{"labels": ["bu',
        '{"labels": ["bug"], "note": "cut',
        '{"labels": ["bug"]',
        '{"labels": ["bug"],',
        '{"labels": ["bug"],}',
        '{"labels": [{"name": "bug"}, {"name": "do',
        '{"answer": {"labels": ["bug"]}, "more": [1,',
        'A draft {"labels": ["docs"]} and then {"labels": ["bug", "do',
        '```json\n{"labels": ["bug"',
    ],
)
def test_nothing_is_repaired_that_was_cut_off(content: str) -> None:
    assert kind(verdict.judge(envelope(content))) == "unparseable"


@pytest.mark.parametrize(
    "content",
    [
        "no JSON at all",
        '{"labels": "bug"}',
        '{"labels": null}',
        '{"label": ["bug"]}',
        '{"labels": [1, null]}',
        '{"labels": [""]}',
        '{"labels": [{"name": "bug", "confidence": "high"}]}',
        '"bug"',
        "17",
        "null",
        "An open task: [ ] and nothing more",
        '{"answer": {"labels": ["bug"]}}',
        'maybe {"labels": ["bug"]} </think> I cannot say',
        '{"labels": ["bug"]} <think>or</think> not </think> I cannot say',
    ],
)
def test_another_shape_is_no_answer(content: str) -> None:
    answer = verdict.judge(envelope(content))
    assert isinstance(answer, Unusable)
    assert (answer.kind, answer.final) == ("unparseable", None)


@pytest.mark.parametrize("content", ['{"labels": []}', "[]", "```json\n[]\n```", 'So: {"labels": []}'])
def test_an_empty_list_says_that_nothing_fits(content: str) -> None:
    assert verdict.judge(envelope(content)) == Answer(())


def test_names_stay_whole() -> None:
    answer = verdict.judge(envelope('{"labels": ["good first issue", "area: db,cache"]}'))
    assert isinstance(answer, Answer)
    assert [vote.name for vote in answer.votes] == ["good first issue", "area: db,cache"]


@pytest.mark.parametrize(
    ("said", "meant"),
    [("0", 0.0), ("1", 1.0), ("0.75", 0.75), ("90", 0.9), ("100", 1.0), ("1e-3", 0.001)],
)
def test_confidence_is_a_share_or_a_percentage(said: str, meant: float) -> None:
    answer = verdict.judge(envelope(f'{{"labels": [{{"name": "bug", "confidence": {said}}}]}}'))
    assert isinstance(answer, Answer)
    assert answer.votes[0].confidence == pytest.approx(meant)


@pytest.mark.parametrize("said", ["true", "null", '"0.9"', "-0.1", "101", "NaN", "Infinity", "1e999", "[]", "9" * 5000])
def test_a_vote_with_no_usable_confidence_does_not_count(said: str) -> None:
    answer = verdict.judge(envelope(f'{{"labels": [{{"name": "docs", "confidence": {said}}}, "bug"]}}'))
    assert answer == BUG


def test_the_surest_of_equal_names_counts_once() -> None:
    votes = [{"name": "bug", "confidence": c, "reason": str(c)} for c in (0.4, 0.8, 0.6)]
    assert verdict.judge(envelope(json.dumps(votes))) == Answer((Vote(name="bug", confidence=0.8, reason="0.8"),))


def test_an_answer_is_bounded() -> None:
    items = [{"name": f"{n}-" + "x" * 500, "reason": "y" * 5000} for n in range(80)]
    answer = verdict.judge(envelope(json.dumps({"labels": items})))
    assert isinstance(answer, Answer)
    assert len(answer.votes) == 50
    assert {len(vote.name) for vote in answer.votes} == {100}
    assert {len(vote.reason) for vote in answer.votes} == {500}


def test_normalising_a_name_does_not_lengthen_it_past_its_bound() -> None:
    answer = verdict.judge(envelope(json.dumps(["\u0958" * 100])))
    assert isinstance(answer, Answer)
    assert len(answer.votes[0].name) == 100


def test_words_are_canonical_and_clean_by_construction() -> None:
    content = r'{"labels": [{"name": "b\u0000\ud83d", "reason": "e\u0301\r\nz "}]}'
    vote = Vote(name="b\ufffd\ufffd", confidence=1.0, reason="\u00e9\nz")
    assert verdict.judge(envelope(content)) == Answer((vote,))


@pytest.mark.parametrize(
    "unit", ["{", "[", '{"', '["', '{"a":', "[[", '[{"a":[', "{}", "```", "<think>", "{\n", '["a",']
)
def test_a_megabyte_of_openings_costs_little(unit: str) -> None:
    started = time.process_time()
    assert kind(verdict.judge(envelope(unit * (1_000_000 // len(unit))))) in {"unparseable", "empty"}
    assert time.process_time() - started < 5


def test_an_answer_behind_too_many_wrong_openings_is_not_searched_for() -> None:
    assert kind(verdict.judge(envelope('{"x}' * 2 + '{"x" ' * 5000 + '{"labels":["bug"]}'))) == "unparseable"


@given(ENVELOPE_LIKE)
@settings(deadline=None)
@example({"choices": {"0": 1}})
def test_judging_is_total_for_any_json(sent: Any) -> None:
    assert isinstance(verdict.judge(sent), Answer | Unusable)
    verdict.tokens(sent)


@given(JSON, JSON, JSON)
@settings(deadline=None)
def test_judging_is_total_for_any_message(content: Any, finish: Any, refusal: Any) -> None:
    assert isinstance(verdict.judge(envelope(content, finish=finish, refusal=refusal)), Answer | Unusable)


@given(FRAGMENTS | st.binary().map(lambda raw: raw.decode(errors="surrogateescape")) | JSON.map(json.dumps))
@settings(deadline=None, max_examples=300)
def test_any_content_gives_bounded_canonical_votes_or_a_reason(content: str) -> None:
    answer = verdict.judge(envelope(content))
    if isinstance(answer, Unusable):
        assert answer.reason
        return
    for vote in answer.votes:
        assert 0 <= vote.confidence <= 1
        assert math.isfinite(vote.confidence)
        assert 0 < len(vote.name) <= 100
        assert text.canonical(vote.name) == vote.name
        assert text.canonical(vote.reason) == vote.reason


# --- what it cost


@pytest.mark.parametrize(
    ("usage", "counted"),
    [
        ({"prompt_tokens": 812, "completion_tokens": 31}, (812, 31)),
        ({"prompt_tokens": 0}, (0, None)),
        ({"prompt_tokens": -1, "completion_tokens": True}, (None, None)),
        ({"prompt_tokens": 10**12, "completion_tokens": "31"}, (None, None)),
        (None, (None, None)),
        ([], (None, None)),
    ],
)
def test_tokens_are_what_the_server_says_or_unknown(usage: object, counted: tuple[int | None, int | None]) -> None:
    assert verdict.tokens({"usage": usage}) == counted


def test_unknown_tokens_are_not_zero() -> None:
    known = Usage(requests=1, tokens_in=5)
    assert known + Usage(requests=2) == Usage(requests=3, tokens_in=5)
    assert known + Usage(requests=1, tokens_in=6, tokens_out=1) == Usage(requests=2, tokens_in=11, tokens_out=1)


def test_a_verdict_survives_the_ledger() -> None:
    kept = Verdict(
        outcome=Outcome.LABELLED,
        labels=(Vote(name="✨ feature", confidence=0.9, reason="asks for a new view"),),
        dropped=("urgent-p0: no such label",),
        model="m",
        prompt="f00",
    )
    assert Verdict.from_json(kept.to_json()) == kept
