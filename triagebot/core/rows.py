"""What the ledger hands out: claims, memories and outbox rows, as frozen records."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from datetime import UTC, date, datetime

from triagebot.core.actions import Action
from triagebot.core.key import Ref
from triagebot.core.verdict import Verdict, Vote

_NEVER = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, kw_only=True, slots=True)
class Night:
    """One run of the bot over one repository. `first` tells that no earlier night ended here: a new or lost ledger.

    `last_good` is the end of the last night before it that ended `done`.
    """

    id: int
    repo_id: int
    day: date
    first: bool = False
    last_good: datetime | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Claim:
    """The right to do the slow work for one issue, until the lease ends. `attempt` is the fencing token."""

    ref: Ref
    night: int
    owner: str
    attempt: int


class Unclaimed(enum.StrEnum):
    """Why a claim was not given."""

    HELD = "held by another worker"
    ANSWERED = "answered already"
    TRIED = "tried already tonight"
    SPENT = "no tries left today"
    DEAD = "dead until `triagebot retry`"
    BUSY = "ledger busy"


class RowStatus(enum.StrEnum):
    """The states of an outbox row (design: pending, sending, unknown, and three ends)."""

    PENDING = "pending"
    SENDING = "sending"
    SENT = "sent"
    UNKNOWN = "unknown"
    WITHDRAWN = "withdrawn"
    DEAD = "dead"


@dataclass(frozen=True, kw_only=True, slots=True)
class Planned:
    """An outbox row to be: the action and the votes from which its words are made when it is sent."""

    action: Action
    votes: tuple[Vote, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class OutboxRow:
    """One action of one issue's text. `owner` and `attempt` fence every later write to it.

    `revise` marks a row reopened by `--again`: a comment that stands is edited, not left.
    `unproven` counts the nights that ended without proof of what became of its write. `created_at` is when
    the text was first given a row.
    """

    id: int
    ref: Ref
    action: Action
    status: RowStatus
    votes: tuple[Vote, ...]
    owner: str = ""
    attempt: int = 0
    revise: bool = False
    unproven: int = 0
    remote_id: int | None = None
    remote_node: str | None = None
    reason: str | None = None
    created_at: datetime = _NEVER


@dataclass(frozen=True, kw_only=True, slots=True)
class Recorded:
    """A comment that the ledger has recorded for an issue: asked for by id, since lists may lag."""

    id: int
    node: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Silence:
    """What the ledger knows of deleted comments on an issue.

    `silent`: a person deleted our comment, so no comment is written there again. `settled`
    holds the ids of deletion events and of comments that `--again` has lifted: only later ones count.
    """

    silent: bool = False
    settled: frozenset[str] = frozenset()


@dataclass(frozen=True, kw_only=True, slots=True)
class Memory:
    """Everything the ledger knows of one issue that a night needs to decide about it.

    `verdict` is the newest one for the digest asked about, of any day. `rows` are all outbox
    rows of the issue. `tried` tells whether this text was ever claimed; `dead` why it is given up.
    """

    verdict: Verdict | None = None
    rows: tuple[OutboxRow, ...] = ()
    silence: Silence = Silence()
    tried: bool = False
    dead: str | None = None

    def row(self, action: Action, digest: str) -> OutboxRow | None:
        return next((r for r in self.rows if r.action is action and r.ref.digest == digest), None)

    @property
    def recorded(self) -> tuple[Recorded, ...]:
        """The comments known for the issue; one whose node is not known can only be missed, not asked for."""
        known = {row.remote_id: "" for row in self.rows if row.remote_id}
        known |= {row.remote_id: row.remote_node for row in self.rows if row.remote_id and row.remote_node}
        return tuple(Recorded(id=i, node=node) for i, node in sorted(known.items()))


@dataclass(frozen=True, kw_only=True, slots=True)
class Parcel:
    """The outbox rows of one issue, claimed together, with what else the ledger knows of it."""

    repo_id: int
    issue: int
    rows: tuple[OutboxRow, ...]
    memory: Memory


@dataclass(frozen=True, kw_only=True, slots=True)
class Retraction:
    """An issue in the hands of `undo`: the rows it holds, and all that may have been `written` and are to go."""

    held: tuple[OutboxRow, ...]
    written: tuple[OutboxRow, ...]
    memory: Memory
