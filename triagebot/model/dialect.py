"""Which optional parameters this server takes: learnt from its refusals, kept for the night.

The ladder of `response_format` only goes down (json_schema, json_object, none), and the name of the token limit
changes once, so learning ends: LM Studio stays on json_schema, others end at json_object or at none.
"""

from __future__ import annotations

import enum
import logging
import re
import threading
from dataclasses import dataclass, replace
from typing import Any

from triagebot.core.prompt import Question
from triagebot.model.endpoint import Endpoint
from triagebot.model.wire import Problem

log = logging.getLogger("triagebot.model")


class Format(enum.Enum):
    """The rungs of the ladder, best first."""

    SCHEMA = "json_schema"
    OBJECT = "json_object"
    TEXT = "none"


@dataclass(frozen=True, kw_only=True, slots=True)
class Dialect:
    """What is sent beside the messages.

    `max_tokens` comes first: who does not know it says so, while some servers ignore
    `max_completion_tokens` silently and the answer then has no limit.
    """

    format: Format = Format.SCHEMA
    tokens: str = "max_tokens"
    swapped: bool = False
    temperature: bool = True

    def parameters(self, endpoint: Endpoint, question: Question) -> dict[str, Any]:
        """The arguments of one chat completion request."""
        sent: dict[str, Any] = {
            "model": endpoint.name,
            "messages": [
                {"role": "system", "content": question.system},
                {"role": "user", "content": question.user},
            ],
            self.tokens: endpoint.max_output_tokens,
        }
        if self.temperature and endpoint.temperature is not None:
            sent["temperature"] = endpoint.temperature
        if self.format is Format.SCHEMA:
            sent["response_format"] = {"type": "json_schema", "json_schema": _schema(question.labels)}
        elif self.format is Format.OBJECT:
            sent["response_format"] = {"type": "json_object"}
        return sent


def _schema(labels: tuple[str, ...]) -> dict[str, Any]:
    vote = _object(name={"type": "string", "enum": [*labels]}, confidence={"type": "number"}, reason={"type": "string"})
    return {"name": "triage", "strict": True, "schema": _object(labels={"type": "array", "items": vote})}


def _object(**properties: dict[str, Any]) -> dict[str, Any]:
    # Strict mode wants every property required and nothing else allowed.
    return {
        "type": "object",
        "properties": properties,
        "required": [*properties],
        "additionalProperties": False,
    }


_FORMAT_NAMES = ("response_format", "json_schema", "json_object")
_FORMAT_WORDS = (*_FORMAT_NAMES, "response format", "structured output", "guided_json", "grammar")
_REFUSALS = frozenset({"unsupported_parameter", "unsupported_value", "unknown_parameter", "extra_forbidden"})
_REFUSAL_WORDS = re.compile(
    r"unsupported|not support|n't support|unrecogni[sz]ed|unknown|unexpected|not permitted|not allowed"
    r"|forbidden|deprecated|only the default|no longer"
)


_OURS = ("max_tokens", "max_completion_tokens", "temperature", *_FORMAT_NAMES)
# Mistral, DeepSeek and OpenRouter answer 400, not 404, to a model that they do not have.
_NO_MODEL = re.compile(
    r"\b(?:invalid|unknown|unsupported|not a valid) model|\bmodel\b.{0,80}\bnot (?:exist|found|valid)"
)


def blames_settings(problem: Problem) -> bool:
    """Whether a rejected request is about what we send with every question.

    Narrow on purpose: this ends the night, and one issue's text must not be able to do that.
    """
    if problem.param in (*_OURS, "model") or "invalid_model" in problem.names:
        return True
    named = any(name in problem.words for name in _OURS)
    return (named and _refused(problem)) or _NO_MODEL.search(problem.words) is not None


def _refused(problem: Problem) -> bool:
    """Whether it says that a parameter is not taken at all (rather than that its value is bad)."""
    return bool(problem.names & _REFUSALS or _REFUSAL_WORDS.search(problem.words))


def step(used: Dialect, problem: Problem) -> Dialect | None:
    """The dialect to use after this refusal of `used`; `None` where the problem is not about the dialect."""
    if _refuses_format(used, problem):
        return replace(used, format=Format.OBJECT if used.format is Format.SCHEMA else Format.TEXT)
    if problem.status not in (400, 422) or not _refused(problem):
        return None
    if used.tokens in problem.words and not used.swapped:
        other = "max_completion_tokens" if used.tokens == "max_tokens" else "max_tokens"
        return replace(used, tokens=other, swapped=True)
    if used.temperature and "temperature" in problem.words:
        return replace(used, temperature=False)
    return None


def _refuses_format(used: Dialect, problem: Problem) -> bool:
    if used.format is Format.TEXT:
        return False
    if problem.status in (400, 422):
        return any(word in problem.words for word in _FORMAT_WORDS)
    # Some servers fall over what they do not know.
    return problem.status >= 500 and any(name in problem.words for name in _FORMAT_NAMES)


class Speech:
    """The dialect of the night, shared by all workers."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._now = Dialect()

    @property
    def now(self) -> Dialect:
        with self._lock:
            return self._now

    def learn(self, used: Dialect, problem: Problem) -> bool:
        """Whether the problem was about the dialect, so that asking again in the current one makes sense."""
        better = step(used, problem)
        if better is None:
            return False
        with self._lock:
            if self._now != used:  # another worker has learnt something in the meantime
                return True
            self._now = better
        log.info(
            "the model's server refused a parameter (%d): from now on response_format is %s, the limit %s, %s",
            problem.status,
            better.format.value,
            better.tokens,
            "with temperature" if better.temperature else "without temperature",
        )
        return True
