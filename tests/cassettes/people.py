"""What people do between two nights: they open, edit and close issues, over the same API in both worlds."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import requests
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Mount, Route

from triagebot.sandbox import github, model, server
from triagebot.sandbox.hub import TOKEN, Hub

LABELS = {
    "bug": "Something is broken",
    "documentation": "The docs are wrong or missing",
    "enhancement": "A wish for something new",
    "performance": "It works, but slowly",
    "question": "Somebody asks how",
}
MOMENT = datetime(2026, 12, 1, 2, 23, tzinfo=UTC)
"""When everything in the sandbox happens, so that recording again changes only what has changed."""


@dataclass(frozen=True, kw_only=True)
class World:
    """Where a recording is made. `patience` is how many seconds reads may lag behind what people did."""

    github_url: str
    token: str = field(repr=False)
    repo: str
    model_url: str
    model_key: str = field(default="", repr=False)
    model: str
    patience: float = 0.0
    hub: Hub | None = None
    stand: model.Stand | None = None

    @property
    def heard(self) -> int | None:
        """How many requests were answered so far, where somebody counts."""
        return len(self.hub.requests) + self.stand.count if self.hub and self.stand else None

    @property
    def env(self) -> dict[str, str]:
        """The variables for the program."""
        return {
            "GITHUB_API_URL": self.github_url,
            "GITHUB_TOKEN": self.token,
            "OPENAI_BASE_URL": self.model_url,
            "OPENAI_API_KEY": self.model_key,
            "TRIAGEBOT_MODEL": self.model,
        }

    def prepare(self) -> None:
        """Make the labels. Ends the recording where the repository is in use."""
        if self._ask("GET", "issues?state=open"):
            raise SystemExit(f"{self.repo} has open issues; a recording wants a scratch repository of its own.")
        known = {label["name"] for label in self._ask("GET", "labels?per_page=100")}
        for name in sorted(LABELS.keys() - known):
            self._ask("POST", "labels", {"name": name, "description": LABELS[name]})

    def open(self, title: str, body: str) -> int:
        number: int = self._ask("POST", "issues", {"title": title, "body": body})["number"]
        return number

    def edit(self, number: int, **changes: str) -> None:
        self._ask("PATCH", f"issues/{number}", changes)

    def settle(self) -> None:
        """Wait until what people did can be read."""
        time.sleep(self.patience)

    def _ask(self, method: str, path: str, body: object = None) -> Any:
        url = f"{self.github_url}/repos/{self.repo}/{path}"
        headers = {"Authorization": f"Bearer {self.token}", "Accept": "application/vnd.github+json"}
        with requests.Session() as session:
            session.trust_env = self.hub is None
            answer = session.request(method, url, headers=headers, json=body, timeout=30)
        answer.raise_for_status()
        return answer.json()


@contextmanager
def sandbox(token: str = TOKEN, model_key: str = "") -> Iterator[World]:
    """The embedded parts, with what the bot never does, and so the sandbox does not know, added."""
    hub, stand = Hub(now=lambda: MOMENT), model.Stand()
    hub.create_repository("octo/demo")
    hub.add_token(token, "triagebot-app[bot]")
    with ExitStack() as stack:
        github_url = stack.enter_context(server.serve(_with_people(hub)))
        model_url = stack.enter_context(server.serve(model.app(stand)))
        yield World(
            github_url=github_url,
            token=token,
            repo="octo/demo",
            model_url=f"{model_url}/v1",
            model_key=model_key,
            model="stand-in",
            hub=hub,
            stand=stand,
        )


def _with_people(hub: Hub) -> Starlette:
    repo = hub.repository("octo/demo")

    async def open_issue(request: Request) -> JSONResponse:
        sent = await request.json()
        return JSONResponse({"number": repo.open_issue(**sent, author="somebody").number}, status_code=201)

    async def edit_issue(request: Request) -> JSONResponse:
        number, sent = request.path_params["number"], await request.json()
        if sent.pop("state", "open") == "closed":
            repo.close(number)
        if sent:
            repo.edit_issue(number, **sent)
        return JSONResponse({})

    async def add_label(request: Request) -> JSONResponse:
        sent = await request.json()
        repo.add_label(sent["name"], sent["description"])
        return JSONResponse({}, status_code=201)

    return Starlette(
        routes=[
            Route("/repos/octo/demo/issues", open_issue, methods=["POST"]),
            Route("/repos/octo/demo/issues/{number:int}", edit_issue, methods=["PATCH"]),
            Route("/repos/octo/demo/labels", add_label, methods=["POST"]),
            Mount("/", github.app(hub)),
        ]
    )
