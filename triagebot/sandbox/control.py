"""Paths under /_sandbox by which another process sees and steers a served hub: state, requests, faults, actions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from triagebot.sandbox import faults, shapes
from triagebot.sandbox.arming import On
from triagebot.sandbox.hub import Hub
from triagebot.sandbox.repository import Repository
from triagebot.sandbox.state import Comment, Issue

_ON_ISSUES = ("open_issue", "edit_issue", "close", "reopen", "lock", "unlock", "delete_issue", "transfer_issue")
_ON_COMMENTS = ("comment", "edit_comment", "delete_comment", "react")
_ON_LABELS = ("label", "unlabel", "add_label", "remove_label", "rename_label")
ACTIONS = frozenset((*_ON_ISSUES, *_ON_COMMENTS, *_ON_LABELS, "rename"))


def routes(hub: Hub) -> list[Route]:
    steering = _Control(hub)
    return [
        Route("/_sandbox/state", steering.state, methods=["GET"]),
        Route("/_sandbox/requests", steering.requests, methods=["GET"]),
        Route("/_sandbox/faults", steering.add_fault, methods=["POST"]),
        Route("/_sandbox/faults", steering.clear_faults, methods=["DELETE"]),
        Route("/_sandbox/actions", steering.act, methods=["POST"]),
    ]


class _Control:
    def __init__(self, hub: Hub) -> None:
        self._hub = hub

    async def state(self, _request: Request) -> JSONResponse:
        """Everything that is stored, by repository and issue."""
        with self._hub.lock:
            return JSONResponse({repo.full_name: _repository(repo) for repo in self._hub.repositories()})

    async def requests(self, _request: Request) -> JSONResponse:
        """What reached the server, first to last."""
        told = ("method", "path", "operation", "is_write", "login", "status", "carried_out", "fault")
        return JSONResponse([{name: getattr(seen, name) for name in told} for seen in self._hub.requests])

    async def add_fault(self, request: Request) -> JSONResponse:
        """Body: {"kind": name of a maker in sandbox.faults, "on": {"method", "path", "operation"}, "args": {...},
        "times": 1, "skip": 0}."""
        sent: Mapping[str, Any] = await request.json()
        maker = faults.MAKERS.get(sent["kind"])
        if maker is None:
            return _unknown(sent["kind"], faults.MAKERS)
        fault = maker(On(**sent.get("on", {})), **sent.get("args", {}))
        self._hub.faults.add(fault, times=sent.get("times", 1), skip=sent.get("skip", 0))
        return JSONResponse({"added": fault.name}, status_code=201)

    async def clear_faults(self, _request: Request) -> JSONResponse:
        self._hub.faults.clear()
        return JSONResponse({})

    async def act(self, request: Request) -> JSONResponse:
        """Body: {"repo": "octo/demo", "do": "close", "args": [7], "kwargs": {"by": "somebody"}}."""
        sent: Mapping[str, Any] = await request.json()
        if sent["do"] not in ACTIONS:
            return _unknown(sent["do"], ACTIONS)
        act = getattr(self._hub.repository(sent["repo"]), sent["do"])
        made = act(*sent.get("args", ()), **sent.get("kwargs", {}))
        told = {"id": made.id} | ({"number": made.number} if isinstance(made, Issue) else {}) if made else {}
        return JSONResponse(told, status_code=201)


def _unknown(asked: str, known: Mapping[str, Any] | frozenset[str]) -> JSONResponse:
    return JSONResponse({"message": f"{asked!r} is none of {', '.join(sorted(known))}."}, status_code=422)


def _repository(repo: Repository) -> dict[str, Any]:
    return {
        "id": repo.id,
        "labels": [label.name for label in repo.labels()],
        "issues": {str(issue.number): _issue(issue) for issue in repo.issues()},
    }


def _issue(issue: Issue) -> dict[str, Any]:
    return {
        "title": issue.title,
        "body": issue.body,
        "state": issue.state,
        "locked": issue.locked,
        "labels": issue.labels,
        "comments": [_comment(each) for each in issue.comments],
        "events": [{"kind": event.kind, "actor": event.actor.login, "label": event.label} for event in issue.events],
    }


def _comment(comment: Comment) -> dict[str, Any]:
    return {
        "id": comment.id,
        "author": comment.author.login,
        "body": comment.body,
        "created_at": shapes.time(comment.created_at),
        "editor": comment.editor.login if comment.editor else None,
        "minimized": comment.minimized,
        "reactions": len(comment.reactions),
    }
