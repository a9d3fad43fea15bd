"""An issue as the tracker shows it at one moment, and who wrote what on it."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from datetime import datetime

from triagebot.core import key, marker


@dataclass(frozen=True, kw_only=True, slots=True)
class Actor:
    """An account; `id` is `None` where the tracker does not tell it."""

    login: str
    id: int | None = None
    bot: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Identity:
    """The bot's own account, by number, and the logins that wrote for it before (`identity.also`)."""

    login: str
    id: int | None
    also: frozenset[str] = frozenset()


class Authorship(enum.Enum):
    """Whose comment this is: ours, an earlier account's of ours, or a stranger's."""

    OWN = "own"
    ALSO = "also"
    STRANGER = "stranger"


def is_self(identity: Identity, actor: Actor | None) -> bool:
    """Whether `actor` is the bot's own account: by number, never by name where a number is known."""
    if actor is None:
        return False
    if identity.id is not None and actor.id is not None:
        return actor.id == identity.id
    return _plain(actor.login) == _plain(identity.login)


def authorship(identity: Identity, author: Actor | None, *, viewer_did_author: bool) -> Authorship:
    """Decide whose a comment is. A marker in a stranger's comment is a stranger's text."""
    if viewer_did_author or (identity.id is not None and author is not None and author.id == identity.id):
        return Authorship.OWN
    if author is not None and _plain(author.login) in {_plain(login) for login in identity.also}:
        return Authorship.ALSO
    return Authorship.STRANGER


def _plain(login: str) -> str:
    # GraphQL names an app "name", REST names it "name[bot]".
    return login.casefold().removesuffix("[bot]")


@dataclass(frozen=True, kw_only=True, slots=True)
class Comment:
    """A comment of the bot's own account (or of one that wrote for it before).

    `node` is the tracker's opaque id for queries, `id` the integer that REST and the ledger use.
    `reactions` is told only by a comment that was read alone, right before a decision about it.
    """

    id: int
    node: str
    body: str
    by: Authorship = Authorship.OWN
    edited_by_other: bool = False
    reactions: int = 0
    minimized: bool = False

    @property
    def marker(self) -> marker.Marker | marker.Unreadable | None:
        return marker.read(self.body)


class LabelChange(enum.Enum):
    """The two things that happen to a label on an issue."""

    PUT_ON = "labeled"
    TAKEN_OFF = "unlabeled"


@dataclass(frozen=True, kw_only=True, slots=True)
class LabelEvent:
    """Somebody put a label on the issue or took it off."""

    change: LabelChange
    label: str
    actor: Actor | None
    at: datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class CommentDeleted:
    """Somebody deleted a comment that `author` had written; `id` orders and names the event."""

    id: str
    actor: Actor | None
    author: Actor | None
    at: datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class Snapshot:
    """One issue at one moment: a row of the sweep, or a look right before a write.

    Title and body are canonical text. `comments` holds the comments of our accounts
    only, lowest id first, whether a list showed them or their recorded id answered.
    `gone` holds the recorded comment ids that the tracker no longer knows; a sweep does
    not ask by id and leaves it empty. `known` holds the repository's label names at a look; `None` where
    a read does not tell them all.
    """

    repo_id: int
    number: int
    node: str
    title: str
    body: str
    author: Actor | None
    association: str
    created_at: datetime
    closed: bool = False
    locked: bool = False
    labels: tuple[str, ...] = ()
    comments: tuple[Comment, ...] = ()
    label_events: tuple[LabelEvent, ...] = ()
    deletions: tuple[CommentDeleted, ...] = ()
    gone: frozenset[int] = frozenset()
    known: tuple[str, ...] | None = None

    @property
    def digest(self) -> str:
        return key.digest(self.title, self.body)

    @property
    def marked(self) -> tuple[Comment, ...]:
        """Our comments that carry a marker of any version, lowest id first."""
        return tuple(c for c in self.comments if c.marker is not None)

    @property
    def taken_off(self) -> frozenset[str]:
        """Casefolded names of the labels that anybody ever took off this issue."""
        return frozenset(e.label.casefold() for e in self.label_events if e.change is LabelChange.TAKEN_OFF)


@dataclass(frozen=True, kw_only=True, slots=True)
class Label:
    """A label of the repository and what its maintainers say it means."""

    name: str
    description: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Repository:
    """The repository as resolved once at the start of a night.

    `permission` is what the tracker says our account may do (`ADMIN` ... `READ`), or
    `None` where it does not say; `as_app` whether that was granted to an App, and is no role of a person.
    """

    id: int
    name: str
    archived: bool = False
    issues_enabled: bool = True
    private: bool = False
    permission: str | None = None
    as_app: bool = False
