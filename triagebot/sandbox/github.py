"""The embedded GitHub as a web app: requests come in, faults meet them, answers (or none) go out."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from email.utils import format_datetime
from typing import Any
from urllib.parse import parse_qsl

from starlette.applications import Starlette
from starlette.routing import Route

from triagebot.sandbox import control, graph, refusals, rest
from triagebot.sandbox.arming import Armed, Then
from triagebot.sandbox.exchange import Answer, Call, Exchange, Seen
from triagebot.sandbox.hub import Hub
from triagebot.sandbox.server import Receive, Scope, Send, cut
from triagebot.sandbox.state import Token


def app(hub: Hub) -> Starlette:
    """Serve `hub` with `sandbox.server.serve`; dropping connections needs that server."""
    return Starlette(routes=[*control.routes(hub), Route("/{path:path}", _Front(hub))])


class _Front:
    def __init__(self, hub: Hub) -> None:
        self._hub = hub

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        call = await _read(scope, receive)
        token = self._hub.token(call.headers.get("authorization", "").rpartition(" ")[2])
        seen = self._hub.saw(call, token)
        if self._hub.on_request is not None:
            await _aside(self._hub.on_request, call)
        armed = self._hub.faults.take(call)
        visit = _Visit(self._hub, call, token, seen, armed)
        answer = await visit.answer(receive)
        for observer in self._hub.observers:  # before the client goes on: what it meets, observers know
            observer(Exchange(call=call, answer=answer, fault=seen.fault))
        if answer is None:
            await cut(scope)
        elif armed is not None and armed.fault.then is Then.DROP_HALFWAY:
            await _send_half(answer, send)
            await cut(scope)
        else:
            seen.status = answer.status
            await _send(answer, send)


class _Visit:
    """One request on its way through faults and handlers."""

    def __init__(self, hub: Hub, call: Call, token: Token | None, seen: Seen, armed: Armed | None) -> None:
        self._hub = hub
        self._call = call
        self._token = token
        self._seen = seen
        self._armed = armed
        seen.fault = armed.fault.name if armed else None

    async def answer(self, receive: Receive) -> Answer | None:
        """What to send; `None` where the connection shall be cut (or has been, by the client)."""
        if self._armed is None:
            return await self._carry_out()
        fault, armed = self._armed.fault, self._armed
        if fault.then in (Then.HANG, Then.HANG_ON):
            truth = await self._carry_out() if fault.stored else None
            there = await _hang(armed, receive, patient=fault.then is Then.HANG_ON)
            return truth or await self._carry_out() if there else None
        truth = await self._carry_out() if fault.stored else self._dress(Answer())
        return None if fault.then is Then.DROP else self._dress(fault.instead(truth))

    async def _carry_out(self) -> Answer:
        with self._hub.lock:
            answer = self._dress(_handle(self._hub, self._call, self._token))
            self._seen.carried_out = True
        if self._hub.on_stored is not None and self._call.is_write and answer.status < 300:
            await _aside(self._hub.on_stored, self._call)
        return answer

    def _dress(self, answer: Answer) -> Answer:
        """Add the headers that every answer of GitHub has."""
        headers = {
            "date": format_datetime(self._hub.moment(), usegmt=True),
            "x-github-media-type": "github.v3; format=json",
            "x-github-request-id": "0000:0000:0000000",
        }
        if self._token is not None:
            headers |= self._hub.limits.headers(self._call, self._token) | dict(self._token.headers)
        return answer.under(headers)


def _handle(hub: Hub, call: Call, token: Token | None) -> Answer:
    if (answer := hub.apps.handle(call)) is not None:
        return answer
    if token is None:
        sent = "authorization" in call.headers
        return refusals.bad_credentials() if sent else refusals.refuse(401, "Requires authentication")
    handler = graph.handle if call.is_graphql and call.method == "POST" else rest.handle
    return hub.limits.charge(call, token) or handler(hub, call, token)


async def _hang(armed: Armed, receive: Receive, *, patient: bool) -> bool:
    """Wait until released; `False` if the client left first, which a patient wait does not mind."""
    waits: list[asyncio.Task[Any]] = [asyncio.create_task(armed.released())]
    if not patient:
        waits.append(asyncio.create_task(_as_coroutine(receive())))  # the body is read: only a disconnect can come
    try:
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        return not any(left.done() for left in waits[1:])
    finally:
        for wait in waits:
            wait.cancel()


async def _as_coroutine(awaitable: Awaitable[Any]) -> Any:
    return await awaitable


async def _aside(hook: Callable[[Call], None], call: Call) -> None:
    """Run a hook in a thread of its own: it may block for as long as it likes, and never keeps the process alive."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[None] = loop.create_future()

    def run() -> None:
        try:
            hook(call)
        finally:
            loop.call_soon_threadsafe(done.set_result, None)

    threading.Thread(target=run, name="sandbox-hook", daemon=True).start()
    await done


async def _read(scope: Scope, receive: Receive) -> Call:
    body = b""
    while True:
        message = await receive()
        body += message.get("body", b"")
        if not message.get("more_body"):
            break
    headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
    return Call(
        method=scope["method"],
        path=scope["path"],
        base=f"{scope['scheme']}://{headers.get('host', 'localhost')}",
        query=dict(parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)),
        headers=headers,
        body=body,
    )


async def _send(answer: Answer, send: Send) -> None:
    await _send_head(answer, send)
    await send({"type": "http.response.body", "body": answer.body})


async def _send_half(answer: Answer, send: Send) -> None:
    """Promise the whole body, send half of it."""
    await _send_head(answer, send)
    await send({"type": "http.response.body", "body": answer.body[: len(answer.body) // 2], "more_body": True})


async def _send_head(answer: Answer, send: Send) -> None:
    headers = dict(answer.headers) | ({} if answer.status == 204 else {"content-length": str(len(answer.body))})
    raw = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": answer.status, "headers": raw})
