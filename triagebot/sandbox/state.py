"""What the embedded GitHub remembers: plain records, changed only under the hub's lock.

Times are aware UTC datetimes cut to whole seconds, as GitHub shows them.
"""

from __future__ import annotations

import base64
import copy
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime


@dataclass(kw_only=True, slots=True, eq=False)
class Account:
    """Somebody who writes: `kind` is User, Bot, Organization or Mannequin; `login` as REST shows it ("name[bot]")."""

    login: str
    id: int
    kind: str = "User"
    created_at: datetime
    deleted: bool = False

    @property
    def node(self) -> str:
        return node_id("BOT" if self.kind == "Bot" else "U", self.id)


@dataclass(frozen=True, kw_only=True, slots=True)
class Token:
    """A credential; `write=False` is a token that may only read, whatever its account may do.

    It ends at `until`. `headers` are what answers to it carry besides: the scopes of a classic token, its last day.
    """

    account: Account
    write: bool = True
    until: datetime | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(kw_only=True, slots=True, eq=False)
class Label:
    """A label of a repository; names are unique without regard to case."""

    id: int
    name: str
    description: str | None = None
    color: str = "ededed"  # what GitHub gives to a label that comes into being by being added to an issue
    created_at: datetime

    @property
    def node(self) -> str:
        return node_id("LA", self.id)


@dataclass(frozen=True, kw_only=True, slots=True)
class Reaction:
    """One reaction to a comment; `content` in REST's words (+1, -1, laugh, hooray, confused, heart, rocket, eyes)."""

    by: Account
    content: str


@dataclass(kw_only=True, slots=True, eq=False)
class Comment:
    """A stored comment. `shown_from` is when lists begin to show it; by its id it answers at once."""

    id: int
    issue: Issue = field(repr=False)
    body: str
    author: Account
    created_at: datetime
    updated_at: datetime
    shown_from: datetime
    association: str = "NONE"
    edited_at: datetime | None = None
    editor: Account | None = None
    minimized: str | None = None
    reactions: list[Reaction] = field(default_factory=list)

    @property
    def node(self) -> str:
        return node_id("IC", self.id)

    def copy(self) -> Comment:
        twin = copy.copy(self)
        twin.reactions = [*self.reactions]
        return twin


@dataclass(frozen=True, kw_only=True, slots=True)
class Event:
    """An entry of the timeline; `kind` is labeled, unlabeled, comment_deleted, closed, reopened, locked or unlocked."""

    id: int
    kind: str
    actor: Account
    at: datetime
    label: str | None = None
    deleted_author: Account | None = None

    @property
    def node(self) -> str:
        return node_id("EV", self.id)


@dataclass(kw_only=True, slots=True, eq=False)
class Issue:
    """An issue (or pull request) with everything on it. `labels` holds names, oldest first."""

    id: int
    repo: str  # full name of the repository, follows renames
    number: int
    title: str
    body: str | None
    author: Account
    association: str
    created_at: datetime
    updated_at: datetime
    pull_request: bool = False
    state: str = "open"
    closed_at: datetime | None = None
    locked: bool = False
    labels: list[str] = field(default_factory=list)
    comments: list[Comment] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)

    @property
    def node(self) -> str:
        return node_id("PR" if self.pull_request else "I", self.id)

    def copy(self) -> Issue:
        """A copy whose lists no later request changes."""
        twin = copy.copy(self)
        twin.labels, twin.comments, twin.events = [*self.labels], [*self.comments], [*self.events]
        return twin


@dataclass(frozen=True, kw_only=True, slots=True)
class Moved:
    """What is left at the number of an issue that was transferred away."""

    to: Issue


@dataclass(frozen=True, kw_only=True, slots=True)
class Deleted:
    """What is left at the number of an issue that was deleted."""


def node_id(prefix: str, number: int) -> str:
    """An opaque global id in today's form (`IC_kwDO...`); it says nothing that a client may read."""
    return f"{prefix}_kwDO{base64.urlsafe_b64encode(number.to_bytes(9, 'big')).decode()}"
