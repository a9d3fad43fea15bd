"""What the embedded model can do wrong, by name, in the words that real servers use.

The wording of each refusal follows a server seen in the field: OpenAI (object with code and param), LM Studio
(a bare string), Groq (an object without param), FastAPI servers such as Mistral's (a list of details).
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

Completion = dict[str, Any]


@dataclass(frozen=True, kw_only=True, slots=True)
class Answered:
    """An HTTP answer: `body` is sent as JSON unless it is bytes."""

    status: int = 200
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def content(self) -> bytes:
        return self.body if isinstance(self.body, bytes) else json.dumps(self.body).encode()


def error(status: int, message: str, **fields: Any) -> Answered:
    """An error as OpenAI words it."""
    shape = {"message": message, "type": "invalid_request_error", "param": None, "code": None}
    return Answered(status=status, body={"error": shape | fields})


HTML = b"<!DOCTYPE html><html><head><title>Welcome</title></head><body><h1>Nothing to see</h1></body></html>"


def page(status: int) -> Answered:
    return Answered(status=status, body=HTML, headers={"content-type": "text/html; charset=utf-8"})


def refused_format(name: str, wording: str) -> Answered:
    """A refusal of the response format `name`; `wording` is object, string, words or 500."""
    other = "json_object" if name == "json_schema" else "json_schema"
    words = f"Invalid parameter: 'response_format' of type '{name}' is not supported with this model."
    return {
        "object": error(400, words, param="response_format"),
        "string": Answered(status=400, body={"error": f"'response_format.type' must be '{other}' or 'text'"}),
        "words": error(400, f"This model does not support response format `{name}`."),
        "500": error(500, f"NotImplementedError: {name}", type="server_error"),
    }[wording]


def refused_parameter(name: str, instead: str = "") -> Answered:
    """A parameter that this server does not know."""
    if name == "max_completion_tokens":
        detail = {"type": "extra_forbidden", "loc": ["body", name], "msg": "Extra inputs are not permitted", "input": 1}
        return Answered(status=422, body={"detail": [detail]})
    if name == "temperature":
        words = (
            "Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) is supported."
        )
        return error(400, words, param=name, code="unsupported_value")
    words = f"Unsupported parameter: '{name}' is not supported with this model. Use '{instead}' instead."
    return error(400, words, param=name, code="unsupported_parameter")


def _limit(code: str | None = "rate_limit_exceeded", kind: str = "requests") -> Answered:
    return error(429, "Rate limit reached for requests. Your quota resets soon.", type=kind, code=code)


STATUS: Mapping[str, Answered] = {
    "400": error(400, "We could not parse what you sent."),
    "400-parameter": error(400, "Invalid value: 500 is too many.", param="max_tokens", code="invalid_value"),
    "401": error(401, "Incorrect API key provided.", code="invalid_api_key"),
    "402": error(402, "Insufficient Balance", type="unknown_error"),
    "403": error(403, "You are not allowed to sample from this model."),
    "404": error(404, "The model `nope` does not exist.", code="model_not_found"),
    "404-html": page(404),
    "408": error(408, "Request timed out.", type="server_error"),
    "409": error(409, "The resource is busy.", type="server_error"),
    "410": error(410, "This model has been shut down.", code="model_shut_down"),
    "413": error(413, "Request too large."),
    "429": _limit(),
    "quota": _limit("insufficient_quota", "insufficient_quota"),
    "quota-words": _limit(),
    "500": error(500, "The server had an error.", type="server_error"),
    "502-html": page(502),
    "503": error(503, "Overloaded.", type="server_error"),
    "context-length": error(
        400, "This model's maximum context length is 8192 tokens.", param="messages", code="context_length_exceeded"
    ),
    "context-words": Answered(
        status=400,
        body={
            "object": "error",
            "message": "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens.",
            "type": "BadRequestError",
            "param": None,
            "code": 400,
        },
    ),
    "filtered": error(
        400, "The prompt triggered the content management policy.", param="prompt", code="content_filter"
    ),
    "flagged": Answered(
        status=403,
        body={"error": {"code": 403, "message": "Flagged", "metadata": {"flagged_input": "x", "reasons": []}}},
    ),
    "format-object": refused_format("json_schema", "object"),
    "format-string": refused_format("json_schema", "string"),
    "format-words": refused_format("json_schema", "words"),
    "format-500": refused_format("json_schema", "500"),
    "max-tokens": refused_parameter("max_tokens", "max_completion_tokens"),
    "redirect": Answered(status=307, body={}, headers={"location": "https://elsewhere.example/v1/chat/completions"}),
    "html": page(200),
    "empty": Answered(body=b""),
    "list": Answered(body=[]),
    "word": Answered(body="x"),
    "error-502": Answered(body={"error": {"code": 502, "message": "Provider returned error"}}),
    "error-401": Answered(body={"error": {"code": 401, "message": "No auth credentials found"}}),
    "error-words": Answered(body={"error": {"message": "Something went wrong", "code": "oops"}}),
}


def _choice(**fields: Any) -> Callable[[Completion], Any]:
    def changed(completion: Completion) -> Completion:
        completion["choices"][0] |= fields
        return completion

    return changed


def _message(*, finish: str | None = None, **fields: Any) -> Callable[[Completion], Any]:
    def changed(completion: Completion) -> Completion:
        completion["choices"][0]["message"] |= fields
        completion["choices"][0]["finish_reason"] = finish or completion["choices"][0]["finish_reason"]
        return completion

    return changed


def _content(change: Callable[[str], str], *, finish: str | None = None) -> Callable[[Completion], Any]:
    def changed(completion: Completion) -> Completion:
        text = completion["choices"][0]["message"]["content"]
        changed: Completion = _message(content=change(text), finish=finish)(completion)
        return changed

    return changed


def _reasoning_only(completion: Completion) -> Completion:
    text = completion["choices"][0]["message"]["content"]
    changed: Completion = _message(content="", reasoning_content=text)(completion)
    return changed


def _without(name: str) -> Callable[[Completion], Any]:
    return lambda completion: {key: value for key, value in completion.items() if key != name}


# A whole answer, changed before it is sent.
SHAPES: Mapping[str, Callable[[Completion], Any]] = {
    "choices-empty": lambda completion: completion | {"choices": []},
    "choices-null": lambda completion: completion | {"choices": None},
    "choices-missing": _without("choices"),
    "no-usage": lambda completion: completion | {"usage": None},
    "message-null": _choice(message=None),
    "choice-error": _choice(error={"code": 502, "message": "The provider broke off"}, finish_reason="error"),
    "content-null": _message(content=None),
    "refusal": _message(content=None, refusal="I can't help with that."),
    "length": _content(lambda text: text[: len(text) // 2], finish="length"),
    "content-filter": _message(content=None, finish="content_filter"),
    "think": _content(lambda text: '<think>Maybe {"labels": [{"name": "draft"}]}?</think>\n' + text),
    "fence": _content(lambda text: f"```json\n{text}\n```"),
    "open-fence": _content(lambda text: f"```json\n{text}"),
    "prose": _content(lambda text: f"Let me look at this issue.\n\n{text}"),
    "reasoning-only": _reasoning_only,
    "garbage": _content(lambda _: "I would say it is a bug."),
}

# What happens to the connection: never an answer; no answer at all; half of the JSON as a whole answer; half of
# the promised bytes; blanks without end.
CONNECTION = frozenset({"hang", "drop", "cut-json", "cut-body", "trickle"})
NAMES = frozenset(STATUS) | frozenset(SHAPES) | CONNECTION


@dataclass(kw_only=True, slots=True)
class Fault:
    """A fault to play on the next requests: pass over `skip` of them, then on `times` (`None`: for good).

    `headers` are added to the answer of a fault that has one (a Retry-After, say).
    """

    name: str
    times: int | None = 1
    skip: int = 0
    headers: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.name not in NAMES:
            raise ValueError(f"The embedded model knows no fault {self.name!r}; it knows {', '.join(sorted(NAMES))}.")

    @property
    def spent(self) -> bool:
        return self.times is not None and self.times <= 0

    def strikes(self) -> bool:
        """Count one request; whether this is one to play the fault on."""
        if self.skip > 0:
            self.skip -= 1
            return False
        if self.times is not None:
            self.times -= 1
        return True

    def answer(self, completion: Completion) -> Answered:
        """The HTTP answer of a fault that gives one."""
        if self.name in SHAPES:
            answered = Answered(body=SHAPES[self.name](copy.deepcopy(completion)))
        elif self.name == "cut-json":
            whole = json.dumps(completion).encode()
            answered = Answered(body=whole[: len(whole) // 2])
        else:
            answered = STATUS[self.name]
        return Answered(status=answered.status, body=answered.body, headers={**answered.headers, **self.headers})
