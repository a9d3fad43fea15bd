"""What comes back: the envelope as the server sent it, and what it took."""

from __future__ import annotations

import json

import pytest

from triagebot.core.verdict import Usage
from triagebot.sandbox import model_faults


def test_the_question_goes_out_whole_and_alone(make_model, stand, question):
    make_model(name="m-1", max_output_tokens=77, temperature=0.5).ask(question)
    sent = stand.requests[0]
    assert [m["role"] for m in sent["messages"]] == ["system", "user"]
    assert [m["content"] for m in sent["messages"]] == [question.system, question.user]
    assert (sent["model"], sent["max_tokens"], sent["temperature"]) == ("m-1", 77, 0.5)
    assert sorted(sent) == ["max_tokens", "messages", "model", "response_format", "temperature"]


def test_a_temperature_of_none_is_left_to_the_server(make_model, stand, question):
    make_model(temperature=None).ask(question)
    assert "temperature" not in stand.requests[0]


def test_the_schema_allows_the_labels_of_the_question_and_nothing_else(make_model, stand, question):
    make_model().ask(question)
    schema = stand.requests[0]["response_format"]["json_schema"]
    vote = schema["schema"]["properties"]["labels"]["items"]
    assert schema["strict"] is True
    assert vote["properties"]["name"]["enum"] == ["bug", "docs"]
    assert vote["required"] == ["name", "confidence", "reason"]
    assert vote["additionalProperties"] is schema["schema"]["additionalProperties"] is False


@pytest.mark.parametrize("name", sorted(model_faults.SHAPES.keys() - {"choice-error"}))
def test_an_odd_envelope_arrives_as_it_was_sent(make_model, stand, question, name):
    make_model().ask(question)
    stand.fault(name)
    reply = make_model().ask(question)
    whole = make_model().ask(question).envelope
    expected = json.loads(json.dumps(model_faults.SHAPES[name](json.loads(json.dumps(whole)))))
    assert {**reply.envelope, "id": ""} == {**expected, "id": ""}
    assert stand.count == 3


@pytest.mark.parametrize("name", ["list", "word"])
def test_json_that_is_no_object_is_an_answer_with_nothing_in_it(make_model, stand, question, name):
    stand.fault(name)
    reply = make_model().ask(question)
    assert (reply.envelope, reply.usage, reply.model) == ({}, Usage(requests=1), "m-1")


def test_unknown_usage_is_not_zero(make_model, stand, question):
    stand.fault("no-usage")
    assert make_model().ask(question).usage == Usage(requests=1, tokens_in=None, tokens_out=None)


def test_the_model_is_the_one_that_the_server_names(make_model, plain_server, question):
    reply = make_model(base_url=f"{plain_server.url}/v1").ask(question)
    assert (reply.model, reply.usage) == ("bare", Usage(requests=1, tokens_in=7, tokens_out=3))
