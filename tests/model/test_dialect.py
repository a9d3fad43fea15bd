"""Parameters that a server refuses are learnt once, for all workers, and are nobody's fault."""

from __future__ import annotations

import logging
import threading

import pytest

from triagebot.core.faults import ModelUnusable
from triagebot.model.dialect import Dialect, Format, Speech, blames_settings, step
from triagebot.model.wire import Problem


def formats(stand):
    return [(body.get("response_format") or {}).get("type", "none") for body in stand.requests]


LADDERS = [
    ({"json_schema", "json_object"}, ["json_schema"]),
    ({"json_schema"}, ["json_schema"]),  # LM Studio
    ({"json_object"}, ["json_schema", "json_object"]),
    (set(), ["json_schema", "json_object", "none"]),
]


@pytest.mark.parametrize("wording", ["object", "string", "words", "500"])
@pytest.mark.parametrize(("accepted", "asked"), LADDERS)
def test_the_ladder_goes_down_as_far_as_the_server_wants(make_model, stand, question, clock, accepted, asked, wording):
    stand.formats, stand.wording = frozenset(accepted), wording
    model = make_model(attempts=1)
    assert model.ask(question).usage.requests == len(asked)  # it costs requests, but is no retry
    assert model.ask(question).usage.requests == 1  # remembered
    assert formats(stand) == [*asked, asked[-1]]
    assert clock.naps == []


def test_the_token_limit_changes_its_name_once(make_model, stand, question):
    stand.tokens = frozenset({"max_completion_tokens"})
    model = make_model(max_output_tokens=300)
    assert [model.ask(question).usage.requests for _ in range(2)] == [2, 1]
    assert [body.get("max_completion_tokens") for body in stand.requests] == [None, 300, 300]
    assert "max_tokens" not in stand.requests[-1]


def test_a_server_that_takes_neither_name_ends_the_night(make_model, stand, question):
    stand.tokens = frozenset()
    with pytest.raises(ModelUnusable, match="Extra inputs are not permitted"):
        make_model().ask(question)
    assert stand.count == 2


def test_a_temperature_that_is_not_taken_is_dropped_and_logged(make_model, stand, question, caplog):
    stand.temperature = False
    model = make_model()
    with caplog.at_level(logging.INFO, logger="triagebot.model"):
        assert [model.ask(question).usage.requests for _ in range(2)] == [2, 1]
    assert caplog.text.count("without temperature") == 1
    assert "temperature" not in stand.requests[-1]


def test_everything_refused_at_once_is_learnt_within_one_attempt(make_model, stand, question):
    stand.formats, stand.temperature = frozenset(), False
    stand.tokens = frozenset({"max_completion_tokens"})
    assert make_model(attempts=1).ask(question).usage.requests == 5


def test_workers_learn_together(make_model, stand, question):
    stand.formats = frozenset()
    model, used = make_model(attempts=1), []
    workers = [threading.Thread(target=lambda: used.append(model.ask(question).usage.requests)) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(used) == 4
    assert max(used) <= 3
    assert model.ask(question).usage.requests == 1


def test_a_worker_that_learns_late_does_not_undo_what_another_has_learnt():
    speech = Speech()
    assert speech.learn(BASE, Problem(status=400, param="response_format"))
    assert speech.learn(BASE, Problem(status=400, param="max_tokens", code="unsupported_parameter"))  # asks again
    assert speech.now == Dialect(format=Format.OBJECT)


BASE = Dialect()
REFUSED = [
    (Problem(status=400, param="response_format"), {"format": Format.OBJECT}),
    (Problem(status=422, message="json_object is what I know"), {"format": Format.OBJECT}),
    (Problem(status=500, message="unknown field response_format"), {"format": Format.OBJECT}),
    (Problem(status=400, param="max_tokens", code="unsupported_parameter"), {"tokens": "max_completion_tokens"}),
    (Problem(status=422, kind="extra_forbidden", param="max_tokens"), {"tokens": "max_completion_tokens"}),
    (Problem(status=400, message="Unrecognized request argument: max_tokens"), {"tokens": "max_completion_tokens"}),
    (Problem(status=400, param="temperature", code="unsupported_value"), {"temperature": False}),
    (Problem(status=400, message="`temperature` is deprecated for this model"), {"temperature": False}),
]


@pytest.mark.parametrize(("problem", "changed"), REFUSED)
def test_a_refusal_changes_what_it_names_and_nothing_else(problem, changed):
    after = step(BASE, problem)
    assert {name: getattr(after, name) for name in changed} == changed
    same = {"format", "tokens", "temperature"} - changed.keys()
    assert all(getattr(after, name) == getattr(BASE, name) for name in same)


@pytest.mark.parametrize(
    "problem",
    [
        Problem(status=400, message="max_tokens is too large: 500"),
        Problem(status=400, message="We do not support this."),
        Problem(status=500, message="max_tokens unsupported"),
        Problem(status=500, message="failed to build the grammar"),
        Problem(status=429, message="response_format"),
        Problem(status=401, message="response_format unsupported"),
    ],
)
def test_other_problems_teach_nothing(problem):
    assert step(BASE, problem) is None


def test_learning_ends():
    spoken = [Dialect(format=Format.TEXT, tokens="max_completion_tokens", swapped=True, temperature=False)]
    words = "unsupported: response_format max_tokens max_completion_tokens temperature"
    assert step(spoken[0], Problem(status=400, message=words)) is None


@pytest.mark.parametrize(
    ("problem", "blamed"),
    [
        (Problem(status=400, param="model"), True),
        (Problem(status=400, code="1500", kind="invalid_model", message="Invalid model: x"), True),
        (Problem(status=400, message="Model Not Exist"), True),
        (Problem(status=400, message="x/y is not a valid model ID"), True),
        (Problem(status=400, message="max_tokens is not supported"), True),
        (Problem(status=400, param="messages", message="Unsupported content"), False),
        (Problem(status=400, message="Unexpected character, not allowed"), False),
        (Problem(status=400, message="max_tokens is 500"), False),
    ],
)
def test_only_what_goes_out_with_every_question_is_blamed_on_the_settings(problem, blamed):
    assert blames_settings(problem) is blamed
