"""A request and its answer as values, so that handlers, faults, records and observers speak of the same thing."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

JSON = "application/json; charset=utf-8"
HTML = "text/html; charset=utf-8"


@dataclass(frozen=True, kw_only=True, slots=True)
class Call:
    """One request as it arrived. `path` is decoded, `base` is the URL it was sent to, header names are lower case."""

    method: str
    path: str
    base: str
    query: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""

    @property
    def is_graphql(self) -> bool:
        return self.path == "/graphql"

    @property
    def json(self) -> Any:
        """The decoded body; `None` where there is none or it is no JSON."""
        try:
            return json.loads(self.body) if self.body else None
        except ValueError:
            return None

    @property
    def document(self) -> str:
        """The GraphQL document, "" where there is none."""
        sent = self.json if self.is_graphql else None
        text = sent.get("query") if isinstance(sent, dict) else None
        return text if isinstance(text, str) else ""

    @property
    def operation(self) -> str | None:
        """Name of the first GraphQL operation, as its document spells it."""
        for line in self.document.splitlines():
            words = line.replace("(", " ").replace("{", " ").split()
            if words and words[0] in ("query", "mutation"):
                return words[1] if len(words) > 1 else None
        return None

    @property
    def is_write(self) -> bool:
        """Whether it would change anything that somebody sees; a token that is made is not seen."""
        if self.path.startswith("/app/"):
            return False
        if self.is_graphql:
            return any(line.split(None, 1)[:1] == ["mutation"] for line in self.document.splitlines())
        return self.method not in ("GET", "HEAD", "OPTIONS")


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """What is sent back."""

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, status: int, content: object, headers: Mapping[str, str] | None = None) -> Answer:
        """A JSON answer."""
        return cls(
            status=status, body=json.dumps(content).encode(), headers={"content-type": JSON} | dict(headers or {})
        )

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    def under(self, headers: Mapping[str, str]) -> Answer:
        """The same answer with `headers` below its own."""
        return replace(self, headers=dict(headers) | dict(self.headers))


@dataclass(kw_only=True, slots=True)
class Seen:
    """A request that reached the server, in the order of arrival.

    `status` is `None` until it is answered, and for ever where the connection was cut.
    `carried_out` tells whether it was handled at all; `fault` names the fault that met it.
    """

    method: str
    path: str
    operation: str | None
    is_write: bool
    at: datetime
    login: str | None
    body: bytes = field(repr=False)
    status: int | None = None
    carried_out: bool = False
    fault: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Exchange:
    """What an observer is told of a request that has been dealt with; `answer` is `None` where nothing was answered."""

    call: Call
    answer: Answer | None
    fault: str | None
