"""GitHub's JSON as the records of the core. No I/O.

Whatever has another shape than the schema promises is `Unclear`: half an issue is not an issue.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, ParamSpec, TypeVar

from triagebot.core import text
from triagebot.core.faults import Unclear
from triagebot.core.issue import (
    Actor,
    Authorship,
    Comment,
    CommentDeleted,
    Identity,
    Label,
    LabelChange,
    LabelEvent,
    Repository,
    Snapshot,
    authorship,
    is_self,
)
from triagebot.github import wire

P = ParamSpec("P")
T = TypeVar("T")
Json = Mapping[str, Any]

# A NUL or a lone surrogate in a name would choke the database or the encoder after us.
_UNSTORABLE = {0: "\ufffd"} | dict.fromkeys(range(0xD800, 0xE000), "\ufffd")

_PERMISSIONS = ("admin", "maintain", "push", "triage", "pull")
_ROLES = dict(zip(_PERMISSIONS, ("ADMIN", "MAINTAIN", "WRITE", "TRIAGE", "READ"), strict=True))


def _shaped(translate: Callable[P, T]) -> Callable[P, T]:
    """Turn every way in which JSON can have the wrong shape into one fault."""

    @functools.wraps(translate)
    def translated(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return translate(*args, **kwargs)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            what = translate.__name__.replace("_", " ")
            raise Unclear(f"GitHub sent a {what} of an unknown shape ({error!r}); it was not believed.") from error

    return translated


@dataclass(kw_only=True, slots=True)
class Lists:
    """The nested lists of one issue while they are read page by page; strangers' comments are not kept."""

    labels: list[str] = field(default_factory=list)
    comments: dict[int, Comment] = field(default_factory=dict)
    label_events: list[LabelEvent] = field(default_factory=list)
    deletions: list[CommentDeleted] = field(default_factory=list)

    def take(self, name: str, node: Any, identity: Identity) -> None:
        """Put one node of the list that the schema calls `name` where it belongs."""
        if name == "labels":
            self.labels.append(_label_name(node))
        elif name == "comments":
            self.keep(comment(node, identity))
        else:
            self._happened(event(node))

    def keep(self, ours: Comment | None) -> None:
        if ours is not None:
            self.comments[ours.id] = ours

    def _happened(self, event: LabelEvent | CommentDeleted | None) -> None:
        if isinstance(event, LabelEvent):
            self.label_events.append(event)
        elif event is not None:
            self.deletions.append(event)


@dataclass(frozen=True, kw_only=True, slots=True)
class Page:
    """One page of a list; `following` is the cursor of the next one, `None` at the end."""

    nodes: Sequence[Any]
    following: str | None


@_shaped
def page(data: Json, *path: str) -> Page:
    """The page at `path`. A null among its nodes is a part that is missing."""
    found: Any = data
    for step in path:
        found = found[step]
    if not isinstance(found["nodes"], list) or None in found["nodes"]:
        raise TypeError(f"the nodes of {path[-1]} are not all there")
    more = _flag(found["pageInfo"]["hasNextPage"])
    return Page(nodes=found["nodes"], following=_string(found["pageInfo"]["endCursor"]) if more else None)


@_shaped
def nodes(data: Json, asked: int) -> Sequence[Json | None]:
    """What stands behind ids that were asked for, in their order; `None` where nothing does."""
    found = data["nodes"]
    if not isinstance(found, list) or len(found) != asked:
        raise TypeError(f"{asked} nodes were asked for")
    return found


@_shaped
def repository(raw: Json, *, token: str) -> Repository:
    """The repository by REST; the token's kind decides whether its `permissions` say anything."""
    return Repository(
        id=_whole(raw["id"]),
        name=_full_name(raw["full_name"]),
        archived=raw.get("archived") is True,
        issues_enabled=raw.get("has_issues") is not False,
        private=raw.get("private") is True,
        permission=_permission(raw.get("permissions"), token),
    )


def _permission(permissions: Any, token: str) -> str | None:
    # An installation token (ghs_) may not tell. A fine-grained token tells its owner's role,
    # which bounds what it may do, yet does not grant it.
    if not isinstance(permissions, dict) or token.startswith("ghs_"):
        return None
    role = next((_ROLES[name] for name in _PERMISSIONS if permissions.get(name) is True), None)
    return None if token.startswith("github_pat_") and role not in {"TRIAGE", "READ"} else role


@_shaped
def identity(raw: Json, also: frozenset[str]) -> Identity:
    viewer = raw["viewer"]
    return Identity(login=_name(viewer["login"]), id=_maybe_whole(viewer.get("databaseId")), also=also)


@_shaped
def name_with_owner(raw: Json) -> str:
    return _full_name(raw["nameWithOwner"])


@_shaped
def label(raw: Json) -> Label:
    return Label(name=_name(raw["name"]), description=_name(raw.get("description") or ""))


@_shaped
def snapshot(raw: Json, lists: Lists, *, gone: frozenset[int] = frozenset()) -> Snapshot:
    """One issue, its nested lists read to their ends."""
    return Snapshot(
        repo_id=_whole(raw["repository"]["databaseId"]),
        number=_whole(raw["number"]),
        node=_string(raw["id"]),
        title=text.canonical(_string(raw["title"])),
        body=text.canonical(raw["body"]),
        author=_actor(raw["author"]),
        association=_string(raw["authorAssociation"]),
        created_at=wire.moment(raw["createdAt"]),
        closed=_string(raw["state"]) != "OPEN",
        locked=_flag(raw["locked"]),
        labels=tuple(lists.labels),
        comments=tuple(lists.comments[i] for i in sorted(lists.comments)),
        label_events=tuple(lists.label_events),
        deletions=tuple(lists.deletions),
        gone=gone,
    )


@_shaped
def names(data: Json) -> tuple[str, ...] | None:
    """The repository's label names out of a look, or `None` where there are more than one page holds."""
    listed = page(data, "repository", "labels")
    return None if listed.following else tuple(_string(node["name"]) for node in listed.nodes)


@_shaped
def updated(raw: Json) -> datetime:
    """When anything of an issue changed last."""
    return wire.moment(raw["updatedAt"])


@_shaped
def comment(raw: Json, identity: Identity) -> Comment | None:
    """A comment of one of our accounts; `None` for a stranger's, whatever it says."""
    author = _actor(raw["author"])
    by = authorship(identity, author, viewer_did_author=_flag(raw["viewerDidAuthor"]))
    if by is Authorship.STRANGER:
        return None
    return Comment(
        id=_comment_id(raw),
        node=_string(raw["id"]),
        body=_string(raw["body"]).replace("\r\n", "\n"),
        by=by,
        edited_by_other=_edited_by_other(raw, author or Actor(login=identity.login, id=identity.id)),
        reactions=_whole(raw["reactions"]["totalCount"]) if "reactions" in raw else 0,
        minimized=_flag(raw["isMinimized"]),
    )


def _comment_id(raw: Json) -> int:
    # `databaseId` is 32 bits wide and null beyond; `fullDatabaseId` is a BigInt, sent as text.
    full = raw.get("fullDatabaseId")
    return _whole(raw["databaseId"]) if full is None else int(full)


def _edited_by_other(raw: Json, author: Actor) -> bool:
    editor = _actor(raw["editor"])
    if editor is None:
        return raw["lastEditedAt"] is not None  # whoever edited it has deleted the account
    return not is_self(Identity(login=author.login, id=author.id), editor)


@_shaped
def event(raw: Json) -> LabelEvent | CommentDeleted | None:
    """One of the three kinds of events that a night reads; `None` for a kind that nobody asked for."""
    kind = raw["__typename"]
    if kind == "CommentDeletedEvent":
        author = _actor(raw["deletedCommentAuthor"])
        at = wire.moment(raw["createdAt"])
        return CommentDeleted(id=_string(raw["id"]), actor=_actor(raw["actor"]), author=author, at=at)
    change = {"LabeledEvent": LabelChange.PUT_ON, "UnlabeledEvent": LabelChange.TAKEN_OFF}.get(kind)
    if change is None:
        return None
    at = wire.moment(raw["createdAt"])
    return LabelEvent(change=change, label=_label_name(raw["label"]), actor=_actor(raw["actor"]), at=at)


@_shaped
def _label_name(raw: Json) -> str:
    return _name(raw["name"])


def _actor(raw: Json | None) -> Actor | None:
    """`None` is a deleted account."""
    if raw is None:
        return None
    known = _maybe_whole(raw.get("databaseId"))
    return Actor(login=_name(raw["login"]), id=known, bot=raw["__typename"] == "Bot")


def _full_name(value: Any) -> str:
    if not re.fullmatch(r"[^/\s]+/[^/\s]+", _string(value)):
        raise TypeError(f"{value!r} is no OWNER/NAME")
    return _string(value)


def _name(value: Any) -> str:
    return _string(value).translate(_UNSTORABLE)


def _string(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is no text")
    return value


def _whole(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{value!r} is no whole number")
    return value


def _maybe_whole(value: Any) -> int | None:
    return None if value is None else _whole(value)


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"{value!r} is no yes or no")
    return value
