"""An embedded OpenAI-compatible model: `/v1/chat/completions` and `/v1/models`, with faults on demand.

How it answers is written in `model_rule` and `learnt`, what it can do wrong in `model_faults`.
`/_sandbox/requests` and `/_sandbox/faults` let another process look and steer.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from triagebot.sandbox import model_faults, model_rule, server
from triagebot.sandbox.model_faults import Answered, Fault

Body = dict[str, Any]
Script = Callable[[Body], str]
Answering = Callable[[Iterable[str], str, str], dict[str, Any]]
"""Makes the answer from the names of the labels, the title and the body of an issue."""

_POLL_SECONDS = 0.01


@dataclass(kw_only=True)
class Stand:
    """One embedded model: what it can do, what it was asked, and what it is to do wrong. Thread-safe.

    `latency` is in seconds. `formats` are the response formats it takes, `tokens` the names of the token limit,
    `temperature` whether it takes one; `wording` is how it refuses a format (object, string, words, 500).
    `models=None` answers to any name; `api_key=None` to any key. `answer` is the rule, or `learnt.answer`; `script`
    makes the content of an answer from the request's body, instead.
    """

    answer: Answering = model_rule.answer
    latency: float = 0.0
    formats: frozenset[str] = frozenset({"json_schema", "json_object", "text"})
    tokens: frozenset[str] = frozenset({"max_tokens", "max_completion_tokens"})
    temperature: bool = True
    wording: str = "object"
    models: frozenset[str] | None = None
    api_key: str | None = None
    script: Script | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)
    _requests: list[Body] = field(default_factory=list, repr=False)
    _headers: list[Mapping[str, str]] = field(default_factory=list, repr=False)
    _faults: list[Fault] = field(default_factory=list, repr=False)
    _released: threading.Event = field(default_factory=threading.Event, repr=False)
    _arrived: threading.Condition = field(default_factory=threading.Condition, repr=False)

    @property
    def requests(self) -> tuple[Body, ...]:
        """The bodies of all chat requests, oldest first, those that met a fault included."""
        with self._lock:
            return tuple(self._requests)

    @property
    def headers(self) -> tuple[Mapping[str, str], ...]:
        """The headers of the same requests, names in lower case."""
        with self._lock:
            return tuple(self._headers)

    @property
    def count(self) -> int:
        with self._lock:
            return len(self._requests)

    def wait_for(self, count: int, seconds: float = 10.0) -> bool:
        """Wait until `count` requests have arrived; False when they did not within `seconds`."""
        with self._arrived:
            return self._arrived.wait_for(lambda: self.count >= count, seconds)

    def fault(
        self, name: str, *, times: int | None = 1, skip: int = 0, headers: Mapping[str, str] | None = None
    ) -> None:
        """Queue a fault (`model_faults.NAMES`); queued faults are played one after the other."""
        with self._lock:
            self._faults.append(Fault(name=name, times=times, skip=skip, headers=headers or {}))

    def clear(self) -> None:
        """Forget the faults that are still queued."""
        with self._lock:
            self._faults.clear()

    def release(self) -> None:
        """Let hanging requests go on to their ordinary answer, and later ones not hang at all."""
        self._released.set()

    @property
    def released(self) -> bool:
        return self._released.is_set()

    def record(self, body: Body, headers: Mapping[str, str]) -> Fault | None:
        """Note a request; returns the fault that it meets."""
        with self._lock:
            self._requests.append(body)
            self._headers.append(headers)
            struck = self._struck()
        with self._arrived:
            self._arrived.notify_all()
        return struck

    def _struck(self) -> Fault | None:
        if not self._faults:
            return None
        first = self._faults[0]
        strikes = first.strikes()
        if first.spent:
            self._faults.pop(0)
        return first if strikes else None


def app(stand: Stand) -> Starlette:
    """The ASGI application of a stand; serve it with `sandbox.server.serve`."""
    desk = _Desk(stand)
    return Starlette(
        routes=[
            Route("/v1/chat/completions", desk.complete, methods=["POST"]),
            Route("/v1/models", desk.models),
            Route("/_sandbox/requests", desk.requests),
            Route("/_sandbox/faults", desk.faults, methods=["POST"]),
            Route("/{path:path}", desk.nothing, methods=["GET", "POST"]),
        ]
    )


class _Desk:
    """The endpoints of one stand."""

    def __init__(self, stand: Stand) -> None:
        self._stand = stand

    async def complete(self, request: Request) -> Response:
        try:
            body = json.loads(await request.body())
        except ValueError:
            return _send(model_faults.error(400, "The body of your request is no JSON."))
        headers = {name.lower(): value for name, value in request.headers.items()}
        fault = self._stand.record(body, headers)
        await asyncio.sleep(self._stand.latency)
        if fault is not None:
            return await _play(self._stand, fault, body, request)
        return _send(_refusal(self._stand, body, headers) or Answered(body=_completion(self._stand, body)))

    async def models(self, _: Request) -> Response:
        names = sorted(self._stand.models or {"local"})
        listed = [{"id": name, "object": "model", "created": 0, "owned_by": "triagebot"} for name in names]
        return JSONResponse({"object": "list", "data": listed})

    async def requests(self, _: Request) -> Response:
        """`{"count": n, "requests": [bodies]}`."""
        bodies = self._stand.requests
        return JSONResponse({"count": len(bodies), "requests": bodies})

    async def faults(self, request: Request) -> Response:
        """Queue a fault: `{"name": "429", "times": 2, "skip": 1, "headers": {"retry-after": "1"}}`."""
        try:
            self._stand.fault(**json.loads(await request.body()))
        except (TypeError, ValueError) as error:
            return JSONResponse({"error": str(error)}, status_code=400)
        return Response(status_code=204)

    async def nothing(self, _: Request) -> Response:
        return _send(model_faults.page(404))  # what a base URL without its /v1 meets in the field


def _send(answered: Answered) -> Response:
    headers = {"content-type": "application/json"} | dict(answered.headers)
    return Response(answered.content, status_code=answered.status, headers=headers)


async def _play(stand: Stand, fault: Fault, body: Body, request: Request) -> Response:
    completion = _completion(stand, body)
    if fault.name == "drop":
        await server.cut(request.scope)
        return Response()
    if fault.name == "hang":
        async for _ in _until_released(stand, request):
            pass
        return _send(Answered(body=completion))
    if fault.name in ("trickle", "cut-body"):
        headers = {"content-length": "100000"} if fault.name == "cut-body" else {}
        pieces = _half(completion, request) if headers else _blanks(stand, completion, request)
        return StreamingResponse(pieces, media_type="application/json", headers=headers)
    return _send(fault.answer(completion))


async def _until_released(stand: Stand, request: Request) -> AsyncIterator[None]:
    while not stand.released and not await request.is_disconnected():
        yield
        await asyncio.sleep(_POLL_SECONDS)


async def _blanks(stand: Stand, completion: Body, request: Request) -> AsyncIterator[bytes]:
    async for _ in _until_released(stand, request):
        yield b"\n"
    yield json.dumps(completion).encode()


async def _half(completion: Body, request: Request) -> AsyncIterator[bytes]:
    whole = json.dumps(completion).encode()
    yield whole[: len(whole) // 2]
    await server.cut(request.scope)


def _refusal(stand: Stand, body: Body, headers: Mapping[str, str]) -> Answered | None:
    if stand.api_key is not None and headers.get("authorization") != f"Bearer {stand.api_key}":
        return model_faults.STATUS["401"]
    if stand.models is not None and body.get("model") not in stand.models:
        words = f"The model `{body.get('model')}` does not exist or you do not have access to it."
        return model_faults.error(404, words, code="model_not_found")
    kind = (body.get("response_format") or {}).get("type", "text")
    if kind not in stand.formats | {"text"}:
        return model_faults.refused_format(kind, stand.wording)
    for name in sorted({"max_tokens", "max_completion_tokens"} - stand.tokens):
        if name in body:
            return model_faults.refused_parameter(name, next(iter(stand.tokens), ""))
    if not stand.temperature and "temperature" in body:
        return model_faults.refused_parameter("temperature")
    return None


def _completion(stand: Stand, body: Body) -> Body:
    if stand.script is not None:
        content = stand.script(body)
    else:
        chosen = stand.answer(model_rule.labels_of(body), *model_rule.issue_of(body))
        content = json.dumps(chosen, ensure_ascii=False)
    limit = body.get("max_tokens") or body.get("max_completion_tokens") or len(content)
    kept = content[: 4 * limit]
    asked = sum(len(model_rule.message(body, role)) for role in ("system", "user"))
    tokens = {"prompt_tokens": asked // 4, "completion_tokens": len(kept) // 4}
    message = {"role": "assistant", "content": kept, "refusal": None}
    return {
        "id": f"chatcmpl-{stand.count}",
        "object": "chat.completion",
        "created": 0,
        "model": body.get("model"),
        "choices": [{"index": 0, "message": message, "finish_reason": "stop" if kept == content else "length"}],
        "usage": tokens | {"total_tokens": sum(tokens.values())},
    }
