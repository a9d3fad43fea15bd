"""What GitHub tells about an account besides the issues: its token, its limits, the clock, its comments. No I/O.

Header names as docs.github.com has them: "Scopes for OAuth apps", "Token expiration and revocation".
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from triagebot.core import marker
from triagebot.core.faults import Gone, Unclear
from triagebot.core.issue import Comment, Identity
from triagebot.github import records, wire
from triagebot.github.records import Json
from triagebot.github.wire import Answer

OURS = ("core", "graphql")
"""The resources that a night draws on: REST and GraphQL."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Quota:
    """One hourly quota; `reset` is when it is full again, in seconds since the epoch by GitHub's clock."""

    limit: int
    remaining: int
    reset: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Account:
    """The token as GitHub sees it.

    `ahead` is by how many seconds our clock is ahead of GitHub's (it tells whole seconds). `scopes` is `None` for a
    token that has none, `expires` for one that has no last day or does not tell it. `quotas` is by resource, and
    empty on a server without limits; `server` is the version of a GitHub Enterprise Server, else "".
    """

    ahead: float
    scopes: frozenset[str] | None = None
    expires: datetime | None = None
    quotas: Mapping[str, Quota] = field(default_factory=dict)
    server: str = ""

    @property
    def spent(self) -> bool:
        """Whether nothing more may be read this hour."""
        return any(self.quotas[name].remaining == 0 for name in OURS if name in self.quotas)


@dataclass(frozen=True, kw_only=True, slots=True)
class Posted:
    """One of our comments, and the number of its issue."""

    issue: int
    comment: Comment


@dataclass(frozen=True, kw_only=True, slots=True)
class Traces:
    """What stands on the newest issues: our own comments, and strangers' with a triagebot marker, by login."""

    own: tuple[Posted, ...] = ()
    strangers: Mapping[str, int] = field(default_factory=dict)


def account(answer: Answer) -> Account:
    """Read the answer to `GET /rate_limit`. Raises the fault that a refusal stands for."""
    if answer.status != 200 and not _unlimited(answer):
        raise wire.fault(answer)
    scopes = answer.headers.get("x-oauth-scopes")
    return Account(
        ahead=answer.received - answer.now,
        scopes=None if scopes is None else frozenset(filter(None, (word.strip() for word in scopes.split(",")))),
        expires=_expires(answer.headers.get("github-authentication-token-expiration", "")),
        quotas=_quotas(answer.json()) if answer.status == 200 else {},
        server=answer.headers.get("x-github-enterprise-version", ""),
    )


def traces(data: Json, identity: Identity) -> Traces:
    """Who wrote as triagebot among the comments of a page of issues. Raises `Unclear` for an unknown shape."""
    try:
        return _traces(data, identity)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise Unclear(f"GitHub sent issues of an unknown shape ({error!r}); they were not believed.") from error


def _traces(data: Json, identity: Identity) -> Traces:
    own: list[Posted] = []
    strangers: Counter[str] = Counter()
    for issue in records.page(data, "repository", "issues").nodes:
        for node in records.page(issue, "comments").nodes:
            ours = records.comment(node, identity)
            if ours is not None:
                own.append(Posted(issue=int(issue["number"]), comment=ours))
            elif marker.read(str(node["body"])) is not None:
                strangers[str((node["author"] or {}).get("login", "ghost"))] += 1
    return Traces(own=tuple(own), strangers=strangers)


def _unlimited(answer: Answer) -> bool:
    """A GitHub Enterprise Server has no limits unless its administrators set some; it says so with a 404."""
    return answer.status == 404 and isinstance(wire.fault(answer), Gone) and "not enabled" in wire.said(answer)


def _quotas(told: Any) -> Mapping[str, Quota]:
    resources = told.get("resources") if isinstance(told, dict) else None
    rows = resources.items() if isinstance(resources, dict) else ()
    return {name: quota for name, row in rows if (quota := _quota(row)) is not None}


def _quota(row: Any) -> Quota | None:
    try:
        return Quota(limit=int(row["limit"]), remaining=int(row["remaining"]), reset=float(row["reset"]))
    except (KeyError, TypeError, ValueError):
        return None


def _expires(told: str) -> datetime | None:
    """`2026-12-31 23:59:59 UTC`, or with an offset in place of the name."""
    try:
        return datetime.strptime(told.replace("UTC", "+0000"), "%Y-%m-%d %H:%M:%S %z").astimezone(UTC)
    except ValueError:
        return None
