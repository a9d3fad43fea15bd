"""How answers are read: every error shape seen in the field, and what each one asks of us."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from triagebot.model.wire import Answer, Form, Meaning, Problem, meaning, read, retry_after

NOW = datetime(2026, 10, 19, tzinfo=UTC)


def problem(status: int, body: object, **headers: str) -> Problem:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    found = read(Answer(status=status, content=content, headers=headers), NOW)
    assert isinstance(found, Problem)
    return found


SHAPES = [
    ({"error": {"message": "m", "type": "t", "param": "p", "code": "c"}}, ("c", "t", "p", "m")),
    ({"object": "error", "message": "m", "type": "t", "param": None, "code": 400}, ("400", "t", "", "m")),
    ({"error": "m"}, ("", "", "", "m")),
    ({"error": "m", "type": "t"}, ("", "t", "", "m")),
    ({"detail": [{"type": "t", "loc": ["body", "p"], "msg": "m", "input": "echo"}]}, ("", "t", "p", "m")),
    ({"message": {"detail": [{"type": "t", "loc": ["body", "p"], "msg": "m"}]}, "code": None}, ("", "t", "p", "m")),
    ({"detail": "m"}, ("", "", "", "m")),
    ([{"error": {"code": 400, "message": "m", "status": "INVALID"}}], ("400", "", "", "m")),
    ({"error": {"message": "m", "code": 400, "metadata": {"raw": "deep"}}}, ("400", "", "", "m deep")),
    ("m", ("", "", "", "m")),
    (b"m", ("", "", "", "m")),
    ([], ("", "", "", "")),
    (None, ("", "", "", "")),
    ({"error": {"message": 5, "type": [1], "param": {"a": 1}, "code": 1.5}}, ("", "", "", "5")),
]


@pytest.mark.parametrize(("body", "expected"), SHAPES)
def test_every_error_shape_is_read(body, expected):
    found = problem(400, body)
    assert (found.code, found.kind, found.param, found.message) == expected


def test_a_request_that_the_server_echoes_is_no_part_of_its_words():
    """Else the text of an issue could teach us that json_schema is refused."""
    body = {
        "detail": [{"type": "missing", "loc": ["body"], "msg": "Field required", "input": {"x": "response_format"}}]
    }
    assert "response_format" not in problem(422, body).words


MEANINGS = [
    (Problem(status=200, form=Form.GARBLED), Meaning.BROKEN),
    (Problem(status=200, form=Form.HTML), Meaning.UNUSABLE),
    (Problem(status=400, form=Form.HTML), Meaning.UNUSABLE),
    (Problem(status=502, form=Form.HTML), Meaning.AGAIN),
    (Problem(status=0, message="?"), Meaning.AGAIN),
    (Problem(status=0, code="insufficient_quota"), Meaning.UNUSABLE),
    (Problem(status=429, kind="insufficient_quota"), Meaning.UNUSABLE),
    (Problem(status=429, message="insufficient_quota"), Meaning.AGAIN),
    (Problem(status=429, message="maximum context length"), Meaning.AGAIN),
    (Problem(status=500, code="content_filter"), Meaning.FILTERED),
    (Problem(status=403, flagged=True), Meaning.FILTERED),
    (Problem(status=400, message="max_tokens must be at least 1, got -186"), Meaning.TOO_LONG),
    (Problem(status=400, kind="exceed_context_size_error"), Meaning.TOO_LONG),
    (Problem(status=400, message="no"), Meaning.REJECTED),
    (Problem(status=422, message="no"), Meaning.REJECTED),
    *((Problem(status=status), Meaning.AGAIN) for status in (408, 409, 429, 500, 502, 503, 504, 529)),
    *((Problem(status=status), Meaning.UNUSABLE) for status in (301, 307, 401, 402, 403, 404, 405, 407, 410, 451)),
]


@pytest.mark.parametrize(("given", "expected"), MEANINGS)
def test_what_a_problem_asks_of_us(given, expected):
    assert meaning(given) is expected


@pytest.mark.parametrize("content", [b'{"choices": [', b"", b"\xff\xfe\xfa", b"data: {}", b"[" * 100_000])
def test_a_success_that_is_no_json_is_a_broken_connection(content):
    assert meaning(problem(200, content)) is Meaning.BROKEN


@pytest.mark.parametrize("content", [b"<!doctype html><p>Hi", b"\n <html>"])
def test_a_web_page_is_known_without_its_header(content):
    assert problem(200, content).form is Form.HTML


def test_an_error_beside_an_answer_does_not_hide_the_answer():
    body = {"error": None, "choices": [{"message": {"content": "x"}}]}
    assert read(Answer(status=200, content=json.dumps(body).encode(), headers={}), NOW) == body
    both = body | {"error": {"message": "late"}}
    assert read(Answer(status=200, content=json.dumps(both).encode(), headers={}), NOW) == both


def test_an_answer_that_the_server_itself_found_ill_formed_is_still_an_answer():
    body = {"error": {"code": "json_validate_failed", "message": "Failed", "failed_generation": '{"labels": ['}}
    found = read(Answer(status=400, content=json.dumps(body).encode(), headers={}), NOW)
    assert found["choices"][0]["message"]["content"] == '{"labels": ['


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "0"}, 0.0),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after": "Mon, 19 Oct 2026 00:01:00 GMT"}, 60.0),
        ({"retry-after": "Mon, 19 Oct 2026 00:01:00 -0000"}, 60.0),
        ({"retry-after": "Mon, 19 Oct 2025 00:01:00 GMT"}, None),
        ({"retry-after": "-5"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "later"}, None),
        ({"retry-after": ""}, None),
        ({}, None),
    ],
)
def test_the_wait_that_is_asked_for(headers, seconds):
    assert retry_after(headers, NOW) == seconds
