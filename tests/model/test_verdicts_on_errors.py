"""Whose failure an error is: the night's, the issue's, or nobody's yet."""

from __future__ import annotations

import threading

import pytest

from triagebot.core.faults import ModelFault, ModelUnreachable, ModelUnusable, QuestionRefused

UNUSABLE = {
    "401": "No key was sent: set OPENAI_API_KEY",
    "402": "no quota or credit",
    "403": "OPENAI_API_KEY",
    "404": r"the model 'm-1' exists there \(TRIAGEBOT_MODEL\), and OPENAI_BASE_URL",
    "404-html": "check OPENAI_BASE_URL",
    "410": "TRIAGEBOT_MODEL",
    "quota": "no quota or credit",
    "html": "a web page. That is no API: check OPENAI_BASE_URL",
    "error-401": "401: 'No auth credentials found'",
    "redirect": "redirects to https://elsewhere.example/v1/chat/completions",
    "400-parameter": "500 is too many",
}


@pytest.mark.parametrize("name", UNUSABLE)
def test_what_no_question_can_get_past_ends_the_night_with_the_mend(make_model, stand, question, name):
    stand.fault(name)
    model = make_model()
    with pytest.raises(ModelUnusable, match=UNUSABLE[name]) as first:
        model.ask(question)
    with pytest.raises(ModelUnusable) as later:  # the server has recovered; the night has not
        model.ask(question)
    assert str(later.value) == str(first.value)
    assert (stand.count, first.value.requests, later.value.requests) == (1, 1, 0)


def test_a_base_url_without_its_version_is_named_as_the_likely_cause(make_model, base_url, question):
    with pytest.raises(ModelUnusable, match=r"It usually ends in /v1\."):
        make_model(base_url=base_url.removesuffix("/v1")).ask(question)


@pytest.mark.parametrize(
    ("name", "outcome"),
    [
        ("context-length", "too-long"),
        ("context-words", "too-long"),
        ("413", "too-long"),
        ("filtered", "filtered"),
        ("flagged", "filtered"),
    ],
)
def test_what_the_text_is_to_blame_for_belongs_to_the_issue(make_model, stand, question, name, outcome):
    stand.fault(name)
    model = make_model()
    with pytest.raises(QuestionRefused) as caught:
        model.ask(question)
    assert (caught.value.outcome, caught.value.requests) == (outcome, 1)
    assert model.ask(question).usage.requests == 1  # the next issue is asked


@pytest.mark.parametrize("name", ["400", "400-parameter"])
def test_once_a_question_was_answered_a_400_is_about_the_question(make_model, stand, question, name):
    model = make_model()
    model.ask(question)
    stand.fault(name)
    with pytest.raises(QuestionRefused) as caught:
        model.ask(question)
    assert caught.value.outcome == "refused"


def test_before_any_answer_a_400_proves_nothing_and_is_not_final(make_model, stand, question):
    stand.fault("400")
    model = make_model()
    with pytest.raises(ModelUnreachable, match="has answered none yet"):
        model.ask(question)
    assert model.ask(question).usage.requests == 1


def test_words_in_a_message_never_decide_that_the_quota_is_gone(make_model, stand, question):
    stand.fault("quota-words", times=None)
    with pytest.raises(ModelUnreachable):
        make_model(attempts=2).ask(question)
    assert stand.count == 2


def test_a_wrong_key_that_the_server_repeats_stays_out_of_the_sentence(make_model, plain_server, question):
    from triagebot.model import words
    from triagebot.model.endpoint import Endpoint
    from triagebot.model.wire import Problem

    endpoint = Endpoint(name="m", api_key="sk-0123456789")
    sentence = words.unusable(Problem(status=401, message="Bad key:\nsk-0123456789\x1b[31m"), endpoint)
    assert "'Bad key: *** [31m'" in sentence


# --- the breaker
@pytest.mark.parametrize("name", ["drop", "cut-json", "cut-body"])
def test_five_broken_connections_in_a_row_end_the_night(make_model, stand, question, name):
    """Counted over requests, retries included: 3 of the first question and 2 of the second."""
    stand.fault(name, times=None)
    model = make_model(attempts=3)
    with pytest.raises(ModelUnreachable):
        model.ask(question)
    with pytest.raises(ModelUnusable, match=r"failed 5 times in a row.*OPENAI_BASE_URL") as caught:
        model.ask(question)
    with pytest.raises(ModelUnusable) as later:
        model.ask(question)
    assert (stand.count, caught.value.requests, later.value.requests) == (5, 2, 0)


def test_any_http_answer_starts_the_count_anew(make_model, stand, question):
    stand.fault("drop", times=4)
    stand.fault("500", times=1)
    stand.fault("drop", times=4)
    assert make_model(attempts=20, deadline=1e6).ask(question).usage.requests == 10


def test_four_workers_share_one_breaker(make_model, stand, question):
    stand.fault("drop", times=None)
    model, faults = make_model(attempts=3), []

    def work() -> None:
        for _ in range(5):
            try:
                model.ask(question)
            except ModelFault as fault:
                faults.append(fault)

    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert 5 <= stand.count <= 5 + 3  # those that were on their way when the fifth failed
    assert len(faults) == 20
    assert sum(isinstance(fault, ModelUnusable) for fault in faults) >= 18
    assert sum(fault.requests for fault in faults) == stand.count


def test_nothing_was_sent_where_no_connection_was_made(make_model, question, unused_port):
    model = make_model(base_url=f"http://127.0.0.1:{unused_port}/v1", attempts=10, deadline=1e6)
    with pytest.raises(ModelUnusable, match="failed 5 times in a row, last with: ConnectError") as caught:
        model.ask(question)
    assert caught.value.requests == 0
