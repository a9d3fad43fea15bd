"""What an HTTP answer of an OpenAI-compatible server means: bytes and headers in, values out, no I/O.

Error shapes that this reads, as servers send them: OpenAI's `{"error": {"message", "type", "param", "code"}}`;
vLLM's and Mistral's same fields without the wrapper; LM Studio's and Ollama's `{"error": "words"}`; FastAPI's
`{"detail": [{"type", "loc", "msg"}]}`; Gemini's list around the object; OpenRouter's `metadata`, and its error
inside a 200 or inside the first choice.
"""

from __future__ import annotations

import email.utils
import enum
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """One HTTP answer. The names of `headers` are lower case."""

    status: int
    content: bytes
    headers: Mapping[str, str]


class Form(enum.Enum):
    """What the body was written in."""

    JSON = "JSON"
    HTML = "a web page"
    GARBLED = "cut or garbled JSON"


@dataclass(frozen=True, kw_only=True, slots=True)
class Problem:
    """An error in the server's own words.

    `status` is the HTTP status, or the one that an error inside a 200 names; 0 where it names none.
    `wait` is how many seconds the server asks to wait. `flagged`: a moderation service objected to the text.
    """

    status: int
    code: str = ""
    kind: str = ""
    param: str = ""
    message: str = ""
    form: Form = Form.JSON
    flagged: bool = False
    wait: float | None = None
    location: str = ""

    @property
    def names(self) -> frozenset[str]:
        return frozenset({self.code, self.kind})

    @property
    def words(self) -> str:
        """Everything the error says, lower case, to look for names in. The request it may echo is not part of it."""
        return " ".join((self.code, self.kind, self.param, self.message)).lower()


def read(answer: Answer, now: datetime) -> Mapping[str, Any] | Problem:
    """Return the envelope of a usable answer as the server sent it, or the problem.

    JSON that is no object is an empty envelope: an answer, with nothing in it.
    """
    try:
        body = json.loads(answer.content)
    except (ValueError, RecursionError):
        return _not_json(answer, now)
    if 200 <= answer.status < 300:
        return _success(body)
    problem = _worded(body, answer.status, answer.headers, now)
    return _unshaped(body) if problem.code == "json_validate_failed" else problem


def _not_json(answer: Answer, now: datetime) -> Problem:
    html = "text/html" in answer.headers.get("content-type", "").lower() or answer.content.lstrip().startswith(b"<")
    success = 200 <= answer.status < 300
    return Problem(
        status=answer.status,
        form=Form.HTML if html else Form.GARBLED if success else Form.JSON,
        message="" if html or success else answer.content[:1000].decode(errors="replace"),
        wait=retry_after(answer.headers, now),
        location=answer.headers.get("location", ""),
    )


def _success(body: Any) -> Mapping[str, Any] | Problem:
    if not isinstance(body, dict):
        return {}
    error = _error_inside(body)
    if not error:
        return body
    code = error.get("code") if isinstance(error, dict) else None
    status = code if isinstance(code, int) and 400 <= code < 600 else 0
    return _worded({"error": error}, status, {}, datetime.now(UTC))


def _unshaped(body: Any) -> Mapping[str, Any]:
    """What the model said, as an envelope: Groq checks the shape itself and answers 400 with it inside the error."""
    content = _error_object(body).get("failed_generation")
    return {"choices": [{"message": {"content": content}, "finish_reason": "stop"}]}


def _error_inside(body: dict[str, Any]) -> Any:
    choices = body.get("choices")
    if not choices:
        return body.get("error")
    first = choices[0] if isinstance(choices, list) else None
    return first.get("error") if isinstance(first, dict) else None


def _worded(body: Any, status: int, headers: Mapping[str, str], now: datetime) -> Problem:
    error = _error_object(body)
    metadata = error.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    location = error.get("loc")
    param = error.get("param") or (".".join(str(p) for p in location) if isinstance(location, list) else "")
    message = error.get("message") or error.get("msg") or error.get("detail") or ""
    raw = metadata.get("raw")  # the words of the provider behind OpenRouter
    return Problem(
        status=status,
        code=_word(error.get("code")),
        kind=_word(error.get("type")),
        param=_word(param).removeprefix("body."),
        message=f"{message} {raw}" if isinstance(raw, str) else str(message),
        flagged="flagged_input" in metadata,
        wait=retry_after(headers, now),
        location=headers.get("location", ""),
    )


def _error_object(body: Any) -> dict[str, Any]:
    """The innermost object that carries the message."""
    if isinstance(body, list):
        body = body[0] if body else {}
    if isinstance(body, str):
        return {"message": body}
    if not isinstance(body, dict):
        return {}
    for key in ("error", "detail", "message"):
        inner = body.get(key)
        if isinstance(inner, (dict, list)):
            return _error_object(inner)
        if isinstance(inner, str) and key == "error":
            return {"message": inner, **body}
    return body


def _word(value: Any) -> str:
    return str(value) if isinstance(value, (str, int)) else ""


class Meaning(enum.Enum):
    """What a problem asks of us."""

    AGAIN = "may work when asked again"
    BROKEN = "no whole answer came through: as good as a broken connection"
    UNUSABLE = "no question can be answered"
    TOO_LONG = "this question is too long"
    FILTERED = "a filter objects to this question"
    REJECTED = "a request that the server does not take: the question or a parameter"


# Codes only; the words of a message never decide that the money is gone.
_NO_MONEY = frozenset({"insufficient_quota", "billing_not_active", "billing_hard_limit_reached"})
_FILTER = frozenset({"content_filter", "content_policy_violation"})
# OpenAI; llama.cpp; OpenAI for one over-long string; OpenRouter.
_TOO_LONG = frozenset(
    {"context_length_exceeded", "exceed_context_size_error", "string_above_max_length", "string_too_long"}
)
# vLLM, Ollama, LM Studio and others send no code. "must be at least 1, got -186" is how older vLLM says it.
_TOO_LONG_WORDS = (
    "context length",
    "context window",
    "context size",
    "prompt is too long",
    "input is too long",
    "reduce the length",
    "must be at least 1, got -",
)
_RETRIED = frozenset({0, 408, 409, 429})


def meaning(problem: Problem) -> Meaning:
    if problem.form is Form.GARBLED:
        return Meaning.BROKEN
    if out_of_money(problem):
        return Meaning.UNUSABLE
    if problem.flagged or problem.names & _FILTER:
        return Meaning.FILTERED
    if _too_long(problem):
        return Meaning.TOO_LONG
    if problem.status in _RETRIED or problem.status >= 500:
        return Meaning.AGAIN  # a gateway's own error page included
    rejected = problem.status in (400, 422) and problem.form is Form.JSON
    return Meaning.REJECTED if rejected else Meaning.UNUSABLE


def out_of_money(problem: Problem) -> bool:
    return bool(problem.names & _NO_MONEY)


def _too_long(problem: Problem) -> bool:
    if problem.status == 413 or problem.names & _TOO_LONG:
        return True
    return problem.status in (400, 422) and any(words in problem.words for words in _TOO_LONG_WORDS)


def retry_after(headers: Mapping[str, str], now: datetime) -> float | None:
    """Seconds that the server asks to wait: `retry-after-ms` or `Retry-After`, a number or a date to come."""
    milliseconds = _seconds(headers.get("retry-after-ms", ""))
    if milliseconds is not None:
        return milliseconds / 1000
    value = headers.get("retry-after", "")
    seconds = _seconds(value)
    return seconds if seconds is not None else _until(value, now)


def _seconds(value: str) -> float | None:
    try:
        number = float(value)
    except ValueError:
        return None
    return number if math.isfinite(number) and number >= 0 else None


def _until(value: str, now: datetime) -> float | None:
    try:
        at = email.utils.parsedate_to_datetime(value)
    except ValueError:
        return None
    aware = at if at.tzinfo else at.replace(tzinfo=UTC)
    left = (aware - now).total_seconds()
    return left if left > 0 else None
