"""Where a drill works: a repository id that no real row can have, and the texts that it claims there."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

from triagebot.core import key
from triagebot.core.key import Ref
from triagebot.ledger.ledger import Ledger

REPO = "triagebot/drill"
"""The name under which its nights stand in the ledger while it lasts."""

_HOST = "triagebot drill"
_LEFT_BEHIND = timedelta(days=1)
_EVERY = 1_000_000


@dataclass(frozen=True, kw_only=True, slots=True)
class Namespace:
    """A negative repository id, which GitHub never gives, drawn anew for each drill; its `late` twin is one below."""

    repo_id: int
    day: date

    @classmethod
    def fresh(cls) -> Namespace:
        return cls(repo_id=-2 - secrets.randbelow(2**62), day=datetime.now(UTC).date())

    @property
    def late(self) -> int:
        """The repository of the rows that are taken over while they are being sent, apart from all others."""
        return self.repo_id - 1

    def ref(self, issue: int, *, late: bool = False) -> Ref:
        repo_id = self.late if late else self.repo_id
        return Ref(repo_id=repo_id, issue=issue, day=self.day, digest=key.digest(title(issue), ""))


def title(issue: int) -> str:
    return f"drill {issue}"


def account(repo_id: int) -> tuple[str, str]:
    """The account for which the pace is kept, so that no real one has to wait for a drill."""
    return _HOST, str(repo_id)


def clear(ledger: Ledger, namespace: Namespace) -> None:
    """Take every row of the drill out of the ledger."""
    for repo_id in (namespace.repo_id, namespace.late):
        ledger.forget(repo_id, account(repo_id))


def clear_what_was_left(ledger: Ledger) -> None:
    """Take out the rows of drills that were killed before they could. One of the last day may be at work."""
    before = datetime.now(UTC) - _LEFT_BEHIND
    nights = ledger.status(limit=_EVERY).nights
    drills = {night.repo_id for night in nights if night.repo_id < 0 and night.repo == REPO}
    at_work = {night.repo_id for night in nights if night.started_at > before}
    for repo_id in sorted(drills - at_work):
        ledger.forget(repo_id, account(repo_id))
