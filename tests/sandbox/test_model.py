"""The embedded model speaks OpenAI's shapes, answers by a rule anybody can predict, and fails on demand."""

from __future__ import annotations

import http.client
import json
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from triagebot.core import prompt, verdict
from triagebot.core.issue import Label
from triagebot.sandbox import model_faults, model_rule, server
from triagebot.sandbox.model import Stand, app

LABELS = ("bug", "enhancement", "question", "documentation", "area: parser")
SYSTEM = (Path(__file__).parents[2] / "prompts" / "system.md").read_text(encoding="utf-8")


@pytest.fixture
def stand() -> Stand:
    return Stand()


@pytest.fixture
def url(stand: Stand) -> Iterator[str]:
    with server.serve(app(stand)) as served:
        yield served


def body(title: str = "It crashes", text: str = "", **fields: Any) -> dict[str, Any]:
    question = prompt.compose(SYSTEM, [Label(name=name) for name in LABELS], title, text, input_chars=9000)
    messages = [{"role": "system", "content": question.system}, {"role": "user", "content": question.user}]
    return {"model": "local", "messages": messages} | fields


def schema(*labels: str) -> dict[str, Any]:
    wrapped = {"type": "object", "properties": {"name": {"type": "string", "enum": [*labels]}}}
    return {"type": "json_schema", "json_schema": {"name": "x", "schema": wrapped}}


def post(url: str, sent: Any, path: str = "/v1/chat/completions") -> tuple[int, Any, dict[str, str]]:
    data = sent if isinstance(sent, bytes) else json.dumps(sent).encode()
    try:
        with urllib.request.urlopen(urllib.request.Request(url + path, data), timeout=10) as answer:
            return answer.status, answer.read(), dict(answer.headers)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read(), dict(error.headers)


def get(url: str, path: str) -> Any:
    with urllib.request.urlopen(url + path, timeout=10) as answer:
        return json.loads(answer.read())


def chosen(url: str, sent: dict[str, Any]) -> list[str]:
    status, content, _ = post(url, sent)
    assert status == 200
    answer = verdict.judge(json.loads(content))
    assert isinstance(answer, verdict.Answer)
    return [vote.name for vote in answer.votes]


# --- answers
@pytest.mark.parametrize(
    ("title", "text", "labels"),
    [
        ("App crashes with KeyError on start", "Traceback (most recent call last)", ["bug"]),
        ("Add support for TOML", "It would be nice", ["enhancement"]),
        ("How can I change the colour?", "", ["question"]),
        ("Typo in the README", "", ["documentation"]),
        ("The parser is here", "", ["area: parser"]),
        ("Hello", "World", []),
        ("", "", []),
    ],
)
def test_the_rule_is_what_it_says(url, title, text, labels):
    assert chosen(url, body(title, text)) == labels


def test_the_same_question_gets_the_same_answer_with_its_words_as_the_reason(url):
    contents = [json.loads(post(url, body())[1])["choices"][0]["message"]["content"] for _ in range(2)]
    assert contents[0] == contents[1]
    assert json.loads(contents[0])["labels"] == [
        {"name": "bug", "confidence": 0.7, "reason": 'It says "crashes".'},
    ]


def test_the_enum_of_the_schema_is_what_counts_where_there_is_one(url):
    assert chosen(url, body(response_format=schema("kind/bug", "kind/feature"))) == ["kind/bug"]


def test_without_a_schema_the_labels_come_from_the_system_text():
    assert model_rule.labels_of(body()) == [*LABELS]


def test_usage_is_counted_and_the_limit_cuts(url):
    whole = json.loads(post(url, body())[1])
    assert whole["usage"]["completion_tokens"] == len(whole["choices"][0]["message"]["content"]) // 4
    assert whole["usage"]["total_tokens"] == sum(list(whole["usage"].values())[:2])
    cut = json.loads(post(url, body(max_tokens=5))[1])["choices"][0]
    assert (cut["finish_reason"], len(cut["message"]["content"])) == ("length", 20)


def test_a_script_replaces_the_rule(stand, url):
    stand.script = lambda sent: sent["model"]
    assert json.loads(post(url, body())[1])["choices"][0]["message"]["content"] == "local"


def test_another_way_of_answering_takes_the_place_of_the_rule(stand, url):
    stand.answer = lambda labels, title, text: {"labels": [{"name": f"{next(iter(labels))} {title} {text}"}]}
    assert chosen(url, body("A title", "a body")) == ["bug A title a body"]


def test_latency_is_waited_for(stand, url):
    stand.latency = 0.1
    started = time.monotonic()
    post(url, body())
    assert time.monotonic() - started >= 0.1


# --- what it can do
@pytest.mark.parametrize("wording", ["object", "string", "words", "500"])
@pytest.mark.parametrize("kind", ["json_schema", "json_object"])
def test_a_format_that_is_not_known_is_refused_by_name(stand, url, kind, wording):
    stand.formats, stand.wording = frozenset(), wording
    status, content, _ = post(url, body(response_format={"type": kind}))
    assert status == (500 if wording == "500" else 400)
    assert b"response_format" in content or kind.encode() in content
    assert post(url, body())[0] == post(url, body(response_format={"type": "text"}))[0] == 200


def test_parameters_can_be_unknown(stand, url):
    stand.tokens, stand.temperature = frozenset({"max_tokens"}), False
    assert post(url, body(max_tokens=9))[0] == 200
    assert post(url, body(max_completion_tokens=9))[0] == 422
    assert post(url, body(temperature=0))[0] == 400


def test_keys_and_models_can_be_checked(stand, url):
    stand.api_key = "right"
    assert post(url, body())[0] == 401
    stand.api_key, stand.models = None, frozenset({"other"})
    assert (post(url, body())[0], post(url, body(model="other"))[0]) == (404, 200)
    assert [entry["id"] for entry in get(url, "/v1/models")["data"]] == ["other"]


def test_a_path_that_is_no_api_is_a_web_page(url):
    status, content, headers = post(url, body(), "/chat/completions")
    assert (status, content[:9], headers["content-type"]) == (404, b"<!DOCTYPE", "text/html; charset=utf-8")


def test_a_body_that_is_no_json_is_a_400(url):
    assert post(url, b"{")[0] == 400


# --- faults
@pytest.mark.parametrize("name", sorted(model_faults.STATUS))
def test_a_status_fault_is_sent_as_written(stand, url, name):
    stand.fault(name, headers={"retry-after": "3"})
    status, content, headers = post(url, body()) if name != "redirect" else raw_post(url)
    expected = model_faults.STATUS[name]
    assert (status, content, headers["retry-after"]) == (expected.status, expected.content, "3")
    assert post(url, body())[0] == 200


def raw_post(url: str) -> tuple[int, bytes, dict[str, str]]:
    connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=10)
    connection.request("POST", "/v1/chat/completions", json.dumps(body()))
    answer = connection.getresponse()
    content = answer.read()
    connection.close()
    return answer.status, content, {name.lower(): value for name, value in answer.getheaders()}


JUDGED = {
    "choices-empty": "filtered",
    "choices-null": "filtered",
    "choices-missing": "filtered",
    "message-null": "filtered",
    "content-filter": "filtered",
    "content-null": "empty",
    "reasoning-only": "empty",
    "refusal": "refused",
    "length": "truncated",
    "garbage": "unparseable",
}


@pytest.mark.parametrize("name", sorted(model_faults.SHAPES))
def test_a_changed_answer_is_judged_as_it_should_be(stand, url, name):
    stand.fault(name)
    judged = verdict.judge(json.loads(post(url, body())[1]))
    kind = judged.kind if isinstance(judged, verdict.Unusable) else None
    assert kind == JUDGED.get(name)


def test_a_fault_waits_for_its_turn_and_ends(stand, url):
    stand.fault("500", skip=1, times=2)
    stand.fault("429")
    assert [post(url, body())[0] for _ in range(5)] == [200, 500, 500, 429, 200]


def test_a_fault_for_good_ends_when_it_is_cleared(stand, url):
    stand.fault("500", times=None)
    assert [post(url, body())[0] for _ in range(3)] == [500, 500, 500]
    stand.clear()
    assert post(url, body())[0] == 200


@pytest.mark.parametrize(
    ("name", "error"), [("drop", http.client.RemoteDisconnected), ("cut-body", http.client.IncompleteRead)]
)
def test_a_connection_can_break(stand, url, name, error):
    stand.fault(name)
    with pytest.raises((error, ConnectionResetError)):
        post(url, body())
    assert post(url, body())[0] == 200


def test_half_of_the_json_can_come_as_a_whole_answer(stand, url):
    stand.fault("cut-json")
    status, content, _ = post(url, body())
    assert status == 200
    with pytest.raises(json.JSONDecodeError):
        json.loads(content)


@pytest.mark.parametrize("name", ["hang", "trickle"])
def test_a_request_hangs_until_it_is_released(stand, url, name):
    stand.fault(name)
    answers: list[Any] = []
    thread = threading.Thread(target=lambda: answers.append(post(url, body())))
    thread.start()
    assert stand.wait_for(1)
    thread.join(0.1)
    assert (thread.is_alive(), answers) == (True, [])
    stand.release()
    thread.join(10)
    assert answers[0][0] == 200
    assert json.loads(answers[0][1])["object"] == "chat.completion"


def test_a_hanging_request_does_not_hold_up_the_others_nor_the_end(stand):
    stand.fault("hang")
    with server.serve(app(stand)) as url:
        connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=10)
        connection.request("POST", "/v1/chat/completions", json.dumps(body()))
        assert stand.wait_for(1)
        assert post(url, body())[0] == 200
    connection.close()


def test_an_unknown_fault_is_refused_with_the_list(stand):
    with pytest.raises(ValueError, match="knows no fault 'nope'; it knows 400"):
        stand.fault("nope")


# --- looking in from another process
def test_requests_are_recorded_whole(stand, url):
    sent = body(max_tokens=9)
    stand.fault("500")
    for _ in range(2):
        post(url, sent)
    assert stand.requests == (sent, sent)
    assert get(url, "/_sandbox/requests") == {"count": 2, "requests": [sent, sent]}
    assert stand.headers[0]["content-type"] == "application/x-www-form-urlencoded"


def test_faults_can_be_asked_for_over_http(url):
    fault = {"name": "429", "times": 1, "skip": 0, "headers": {"retry-after": "1"}}
    assert post(url, fault, "/_sandbox/faults")[0] == 204
    status, _, headers = post(url, body())
    assert (status, headers["retry-after"]) == (429, "1")
    assert post(url, {"name": "nope"}, "/_sandbox/faults")[0] == 400
    assert post(url, {"what": 1}, "/_sandbox/faults")[0] == 400
    assert post(url, b"[]", "/_sandbox/faults")[0] == 400


def test_many_at_once_are_all_counted(stand, url):
    threads = [threading.Thread(target=post, args=(url, body())) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert stand.count == len(stand.requests) == 12


def test_waiting_for_a_request_that_never_comes_ends(stand):
    assert stand.wait_for(1, seconds=0.05) is False
