"""The one retry layer: which failures, how often, how long, and what is left of them in the log and the count."""

from __future__ import annotations

import logging

import pytest

from triagebot.core.faults import ModelUnreachable, ModelUnusable, QuestionRefused
from triagebot.core.verdict import Usage

PASSING = ["500", "503", "502-html", "408", "409", "429", "quota-words", "drop", "cut-json", "cut-body", "empty"]
INSIDE_200 = ["error-502", "error-words", "choice-error"]


@pytest.mark.parametrize("attempts", [1, 3])
def test_a_server_that_always_fails_gets_exactly_as_many_requests_as_attempts(make_model, stand, question, attempts):
    stand.fault("500", times=None)
    with pytest.raises(ModelUnreachable, match=f"after {attempts} attempts") as caught:
        make_model(attempts=attempts).ask(question)
    assert stand.count == attempts == caught.value.requests


@pytest.mark.parametrize("name", PASSING + INSIDE_200)
def test_a_passing_failure_is_asked_again_and_counted(make_model, stand, question, name):
    stand.fault(name, times=2)
    reply = make_model(attempts=3).ask(question)
    assert stand.count == reply.usage.requests == 3
    assert reply.envelope["choices"][0]["message"]["content"].startswith('{"labels"')


@pytest.mark.parametrize("name", ["400", "401", "403", "404", "410", "quota", "context-length", "filtered", "html"])
def test_a_final_failure_is_asked_once(make_model, stand, question, clock, name):
    stand.fault(name, times=None)
    with pytest.raises((ModelUnreachable, ModelUnusable, QuestionRefused)) as caught:
        make_model(attempts=3).ask(question)
    assert stand.count == caught.value.requests == 1
    assert clock.naps == []


def test_a_judged_answer_is_never_asked_again(make_model, stand, question):
    stand.fault("refusal", times=None)
    assert make_model(attempts=3).ask(question).usage == Usage(requests=1, tokens_in=22, tokens_out=24)


def test_waits_grow_and_are_spread(make_model, stand, question, clock):
    stand.fault("500", times=None)
    with pytest.raises(ModelUnreachable):
        make_model(attempts=4).ask(question)
    assert [int(nap) for nap in clock.naps] == [1, 2, 4]
    assert any(nap != int(nap) for nap in clock.naps)


@pytest.mark.parametrize(
    ("headers", "waited"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0"}, 0.0),
        ({"retry-after-ms": "1500"}, 1.5),
        ({"retry-after": "Mon, 19 Oct 2026 00:00:12 GMT"}, 12.0),
        ({"retry-after": "150"}, 150.0),
    ],
)
def test_the_wait_that_the_server_asks_for_is_kept_to(make_model, stand, question, clock, headers, waited):
    stand.fault("429", headers=headers)
    make_model().ask(question)
    assert clock.naps == [waited]


@pytest.mark.parametrize("value", ["-1", "soon", "nan", "Mon, 19 Oct 2020 00:00:00 GMT"])
def test_a_wait_that_says_nothing_counts_as_absent(make_model, stand, question, clock, value):
    stand.fault("503", headers={"retry-after": value})
    make_model().ask(question)
    assert 1 <= clock.naps[0] <= 2


def test_a_wait_beyond_the_deadline_ends_the_retries_at_once_and_is_named(make_model, stand, question, clock):
    stand.fault("429", times=None, headers={"retry-after": "3600"})
    with pytest.raises(ModelUnreachable, match=r"wait 3600 s \(Retry-After\) and 180 s are left") as caught:
        make_model(deadline=180.0).ask(question)
    assert caught.value.requests == stand.count == 1
    assert clock.naps == []


def test_a_retry_whose_wait_would_pass_the_deadline_is_not_made(make_model, stand, question, clock):
    stand.fault("500", times=None)
    with pytest.raises(ModelUnreachable, match="within 5 s"):
        make_model(attempts=100, deadline=5.0).ask(question)
    assert stand.count == 3  # after waits of 1..2 and 2..3 s, one of 4..5 s does not fit
    assert sum(clock.naps) < 5


def test_every_retry_is_logged_with_its_number_and_wait(make_model, stand, question, caplog):
    stand.fault("429", times=2, headers={"retry-after": "2"})
    with caplog.at_level(logging.WARNING, logger="triagebot.model"):
        make_model(attempts=3).ask(question)
    assert [record.getMessage().rpartition(": ")[2] for record in caplog.records] == [
        "retry 1 of 2 in 2.0 s",
        "retry 2 of 2 in 2.0 s",
    ]


def test_a_night_that_stops_sends_nothing_more(make_model, stand, question):
    stand.fault("500", times=None)
    with pytest.raises(ModelUnreachable, match="the night is stopping") as caught:
        make_model(stopping=lambda: stand.count >= 1).ask(question)
    assert stand.count == caught.value.requests == 1


def test_a_sleep_that_raises_ends_the_question(make_model, stand, question, clock):
    """The night may interrupt a wait by its own means."""

    def interrupted(seconds: float) -> None:
        raise KeyboardInterrupt

    clock.sleep = interrupted
    stand.fault("500", times=None)
    with pytest.raises(KeyboardInterrupt):
        make_model().ask(question)
    assert stand.count == 1


def test_text_that_cannot_be_encoded_is_never_sent_nor_retried(make_model, stand, question, clock):
    broken = type(question)(system="s", user="a\ud83db", labels=("bug",))
    with pytest.raises(QuestionRefused) as caught:
        make_model().ask(broken)
    assert (stand.count, caught.value.requests, caught.value.outcome, clock.naps) == (0, 0, "refused", [])
