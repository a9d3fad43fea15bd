"""Writes to the tracker as values: the outbox, the dry run, the edge and the tests read the same records."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote


class Action(enum.StrEnum):
    """What an outbox row asks for."""

    LABELS = "labels"
    COMMENT = "comment"


@dataclass(frozen=True, kw_only=True, slots=True)
class Request:
    """One REST request: `path` is relative to the API's base URL."""

    method: str
    path: str
    body: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True, slots=True)
class AddLabels:
    """Add labels to an issue; never set or replace, which would take off what people put on."""

    issue: int
    names: tuple[str, ...]
    action = Action.LABELS

    def request(self, repo: str) -> Request:
        return Request(method="POST", path=f"/repos/{repo}/issues/{self.issue}/labels", body={"labels": [*self.names]})


@dataclass(frozen=True, kw_only=True, slots=True)
class RemoveLabel:
    """Take one label off, which only a person's `undo` asks for."""

    issue: int
    name: str
    action = Action.LABELS

    def request(self, repo: str) -> Request:
        path = f"/repos/{repo}/issues/{self.issue}/labels/{quote(self.name, safe='')}"
        return Request(method="DELETE", path=path, body={})


@dataclass(frozen=True, kw_only=True, slots=True)
class PostComment:
    """Write the one comment. The only write that cannot be repeated safely."""

    issue: int
    body: str
    action = Action.COMMENT

    def request(self, repo: str) -> Request:
        return Request(method="POST", path=f"/repos/{repo}/issues/{self.issue}/comments", body={"body": self.body})


@dataclass(frozen=True, kw_only=True, slots=True)
class EditComment:
    """Change the words of our own comment."""

    issue: int
    comment_id: int
    body: str
    action = Action.COMMENT

    def request(self, repo: str) -> Request:
        return Request(
            method="PATCH", path=f"/repos/{repo}/issues/comments/{self.comment_id}", body={"body": self.body}
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class DeleteComment:
    """Remove our own twin."""

    issue: int
    comment_id: int
    action = Action.COMMENT

    def request(self, repo: str) -> Request:
        return Request(method="DELETE", path=f"/repos/{repo}/issues/comments/{self.comment_id}", body={})


@dataclass(frozen=True, kw_only=True, slots=True)
class MinimizeComment:
    """Hide our own twin as a duplicate, where somebody reacted to it or edited it (GraphQL only)."""

    issue: int
    node: str
    action = Action.COMMENT

    def request(self, repo: str) -> Request:
        del repo  # GraphQL needs no path: the node says where it is
        return Request(method="POST", path="/graphql", body={"minimizeComment": self.node})


Write = AddLabels | RemoveLabel | PostComment | EditComment | DeleteComment | MinimizeComment


@dataclass(frozen=True, kw_only=True, slots=True)
class Receipt:
    """What the tracker answered to a write that it surely carried out."""

    comment_id: int | None = None
    comment_node: str | None = None
    labels: tuple[str, ...] = ()
