"""A plain client for the served hub: what it sends and gets is what is on the wire."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
import requests

from triagebot.github.documents import document
from triagebot.sandbox.hub import TOKEN


@dataclass
class Api:
    """`get("/user")`, `post(...)` ...: one request each, no redirect followed, 10 s at the most."""

    url: str
    session: requests.Session

    def call(
        self, method: str, path: str, json: Any = None, token: str | None = TOKEN, **more: Any
    ) -> requests.Response:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        address = path if path.startswith("http") else self.url + path
        options = {"allow_redirects": False, "timeout": 10, **more}
        return self.session.request(method, address, json=json, headers=headers, **options)

    def get(self, path: str, **more: Any) -> requests.Response:
        return self.call("GET", path, **more)

    def post(self, path: str, json: Any = None, **more: Any) -> requests.Response:
        return self.call("POST", path, json, **more)

    def patch(self, path: str, json: Any = None, **more: Any) -> requests.Response:
        return self.call("PATCH", path, json, **more)

    def delete(self, path: str, **more: Any) -> requests.Response:
        return self.call("DELETE", path, **more)

    def comment(self, number: int = 1, body: str = "A comment", **more: Any) -> requests.Response:
        return self.post(f"/repos/octo/demo/issues/{number}/comments", {"body": body}, **more)

    def graphql(self, text: str, token: str | None = TOKEN, **variables: Any) -> Any:
        """The decoded answer; `text` is the name of one of triagebot's documents, or a document."""
        query = text if "{" in text else document(text)
        return self.post("/graphql", {"query": query, "variables": variables}, token=token).json()

    def look(self, number: int = 1, recorded: tuple[str, ...] = (), **more: Any) -> Any:
        return self.graphql("look", owner="octo", name="demo", number=number, recorded=list(recorded), **more)


@pytest.fixture
def api(github_url: str) -> Iterator[Api]:
    with requests.Session() as session:
        yield Api(github_url, session)
