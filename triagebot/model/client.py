"""Asks one question and returns the reply unjudged; owns the only retry layer, and it is around the call alone."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import tenacity

from triagebot.core import verdict
from triagebot.core.faults import ModelFault, ModelUnreachable, ModelUnusable, QuestionRefused
from triagebot.core.prompt import Question
from triagebot.core.verdict import Reply, Usage
from triagebot.model import dialect, words
from triagebot.model.endpoint import Endpoint
from triagebot.model.health import LIMIT, Health
from triagebot.model.transport import Broken, Line
from triagebot.model.wire import Meaning, Problem, meaning, read

log = logging.getLogger("triagebot.model")

_BACKOFF = tenacity.wait_exponential_jitter(initial=1, max=20, jitter=1)


class _Again(Exception):
    """A failure that another try may mend; `wait` is what the server asked for, in seconds.

    `limited` is a rate limit, which is nobody's failure.
    """

    def __init__(self, reason: str, *, wait: float | None = None, limited: bool = False) -> None:
        super().__init__(reason)
        self.wait = wait
        self.limited = limited


@dataclass(slots=True)
class _Errand:
    """One question on its way. `sent` counts the requests that left this machine."""

    question: Question
    started: float
    attempts: int = 0
    sent: int = 0


class _PastDeadline(tenacity.stop.stop_base):
    """Stops where the wait for the next try would not end before the deadline; asks the clock we were given."""

    def __init__(self, left: Callable[[], float]) -> None:
        self._left = left

    def __call__(self, retry_state: tenacity.RetryCallState) -> bool:
        return retry_state.upcoming_sleep >= self._left()


def _utc() -> datetime:
    return datetime.now(UTC)


def _never() -> bool:
    return False


class OpenAIModel:
    """A `Model` behind an OpenAI-compatible endpoint. One object serves all workers of a night.

    It remembers for its life which parameters the server refused, and that the endpoint is unusable: then
    every later question gets `ModelUnusable` without a request. `sleep` may return early or raise when the
    night stops; `stopping` is asked before each request.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        sleep: Callable[[float], None] = time.sleep,
        monotonic: Callable[[], float] = time.monotonic,
        now: Callable[[], datetime] = _utc,
        stopping: Callable[[], bool] = _never,
    ) -> None:
        self._endpoint = endpoint
        self._sleep = sleep
        self._monotonic = monotonic
        self._now = now
        self._stopping = stopping
        self._line = Line(endpoint)
        self._speech = dialect.Speech()
        self._health = Health()

    @property
    def rung(self) -> str:
        """The `response_format` that the server takes, as far as is known: json_schema, json_object or none."""
        return self._speech.now.format.value

    def close(self) -> None:
        """Close the connections; nothing can be asked afterwards."""
        self._line.close()

    def ask(self, question: Question) -> Reply:
        """Ask, and ask again where that may help, within `attempts` and `deadline`.

        Raises `ModelUnusable`, `ModelUnreachable` or `QuestionRefused`, each with the number of requests sent.
        """
        errand = _Errand(question, self._monotonic())
        retrying = tenacity.Retrying(
            stop=tenacity.stop_after_attempt(self._endpoint.attempts) | _PastDeadline(lambda: self._left(errand)),
            wait=_wait,
            retry=tenacity.retry_if_exception_type(_Again),
            sleep=self._sleep,
            before_sleep=self._log_retry,
            reraise=True,
        )
        try:
            return retrying(self._attempt, errand)
        except _Again as last:
            told = self._gave_up(last, errand)
            raise ModelUnreachable(told, requests=errand.sent, blameless=last.limited) from last

    # --- one attempt
    def _attempt(self, errand: _Errand) -> Reply:
        """One request, and one more for every parameter that the server turns out to refuse."""
        errand.attempts += 1
        while True:
            used = self._speech.now
            answer = self._exchange(used, errand)
            if not isinstance(answer, Problem):
                self._health.proved()
                return _reply(answer, self._endpoint, errand)
            self._handle(answer, used, errand)

    def _exchange(self, used: dialect.Dialect, errand: _Errand) -> Mapping[str, Any] | Problem:
        seconds = self._seconds_left(errand)
        try:
            answer = self._line.send(used.parameters(self._endpoint, errand.question), seconds)
        except Broken as broken:
            errand.sent += broken.sent
            raise self._broken(broken, errand) from broken
        except UnicodeError as error:
            # Canonical text cannot do this; asking again cannot mend it.
            raise QuestionRefused(f"The question cannot be sent: {error}.", outcome="refused") from error
        errand.sent += 1
        found = read(answer, self._now())
        if isinstance(found, Problem) and meaning(found) is Meaning.BROKEN:
            raise self._failure(words.said(found, self._endpoint), errand)
        self._health.answered()
        return found

    def _left(self, errand: _Errand) -> float:
        return self._endpoint.deadline - (self._monotonic() - errand.started)

    def _seconds_left(self, errand: _Errand) -> float:
        """The time for the next request; raises where none should be made."""
        ended = self._health.verdict
        if ended is not None:
            raise ModelUnusable(ended, requests=errand.sent)
        left = self._left(errand)
        if self._stopping() or left <= 0:
            why = "the night is stopping" if left > 0 else f"the deadline of {self._endpoint.deadline:g} s has passed"
            told = f"No answer from {self._endpoint.shown}: {why}."
            raise ModelUnreachable(told, requests=errand.sent, blameless=self._stopping())
        return min(self._endpoint.timeout, left)

    # --- what went wrong
    def _broken(self, broken: Broken, errand: _Errand) -> Exception:
        if broken.insecure:
            return self._unusable(words.insecure(str(broken), self._endpoint), errand)
        return self._failure(words.plain(str(broken), secret=self._endpoint.api_key), errand)

    def _failure(self, reason: str, errand: _Errand) -> Exception:
        if self._health.failed():
            return self._unusable(words.dead(reason, LIMIT, self._endpoint), errand)
        return _Again(reason)

    def _unusable(self, reason: str, errand: _Errand) -> ModelUnusable:
        return ModelUnusable(self._health.close(reason), requests=errand.sent)

    def _handle(self, problem: Problem, used: dialect.Dialect, errand: _Errand) -> None:
        """Return where the dialect has changed, so that the same attempt may go on; raise otherwise."""
        meant = meaning(problem)
        if meant in (Meaning.REJECTED, Meaning.AGAIN) and self._speech.learn(used, problem):
            return
        said = words.said(problem, self._endpoint)
        match meant:
            case Meaning.AGAIN:
                raise _Again(said, wait=problem.wait, limited=problem.status == 429)
            case Meaning.TOO_LONG:
                raise QuestionRefused(
                    f"The question is too long for {self._endpoint.name}: {said}.",
                    outcome="too-long",
                    requests=errand.sent,
                )
            case Meaning.FILTERED:
                raise QuestionRefused(
                    f"A filter objects to the question: {said}.", outcome="filtered", requests=errand.sent
                )
            case Meaning.REJECTED:
                raise self._rejected(problem, said, errand)
            case _:
                raise self._unusable(words.unusable(problem, self._endpoint), errand)

    def _rejected(self, problem: Problem, said: str, errand: _Errand) -> ModelFault:
        """Tell a question that the server refuses from settings that it refuses.

        Once any question was answered, a 400 is about this one. Before that it proves nothing: where it blames the
        settings, no question can be asked; else the try fails and nothing final is recorded for the issue.
        """
        if self._health.proven:
            return QuestionRefused(
                f"The endpoint refuses this question: {said}.", outcome="refused", requests=errand.sent
            )
        if dialect.blames_settings(problem):
            return self._unusable(words.unusable(problem, self._endpoint), errand)
        return ModelUnreachable(
            f"The endpoint {self._endpoint.shown} refuses this question and has answered none yet: {said}.",
            requests=errand.sent,
        )

    # --- retrying
    def _log_retry(self, state: tenacity.RetryCallState) -> None:
        log.warning(
            "model request failed (%s): retry %d of %d in %.1f s",
            state.outcome.exception() if state.outcome else "",
            state.attempt_number,
            self._endpoint.attempts - 1,
            state.upcoming_sleep,
        )

    def _gave_up(self, last: _Again, errand: _Errand) -> str:
        left = self._left(errand)
        if errand.attempts >= self._endpoint.attempts:
            why = f"after {errand.attempts} attempts"
        elif last.wait is not None:
            why = f"as it asks to wait {last.wait:g} s (Retry-After) and {max(0.0, left):.0f} s are left"
        else:
            why = f"within {self._endpoint.deadline:g} s"
        return f"No usable answer from {self._endpoint.shown} {why}; the last one: {str(last).rstrip('.')}."


def _wait(state: tenacity.RetryCallState) -> float:
    error = state.outcome.exception() if state.outcome else None
    asked = error.wait if isinstance(error, _Again) else None
    return asked if asked is not None else _BACKOFF(state)


def _reply(envelope: Mapping[str, Any], endpoint: Endpoint, errand: _Errand) -> Reply:
    tokens_in, tokens_out = verdict.tokens(envelope)
    model = envelope.get("model")
    return Reply(
        envelope=envelope,
        usage=Usage(requests=errand.sent, tokens_in=tokens_in, tokens_out=tokens_out),
        model=model if isinstance(model, str) and model else endpoint.name,
    )
