"""What the command line shows of a ledger: plain records, read in one consistent view."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import Any

from triagebot.core.verdict import Usage
from triagebot.ledger import outcomes
from triagebot.ledger.outcomes import Scores
from triagebot.ledger.statements import Row, Transaction

GOOD = "done"  # `how` of a night that came to its end with nothing failed


@dataclass(frozen=True, kw_only=True, slots=True)
class NightReport:
    """One run of the job. `finished_at` is `None` while it lasts, and for ever if it was killed."""

    id: int
    repo_id: int
    repo: str
    day: date
    owner: str
    started_at: datetime
    finished_at: datetime | None
    how: str | None
    counts: Mapping[str, int]


@dataclass(frozen=True, kw_only=True, slots=True)
class DayReport:
    """The row of `done_per_day`, over the repositories asked for."""

    day: date
    done: int
    labelled: int
    nothing_fits: int
    failed: int
    dead: int
    usage: Usage


@dataclass(frozen=True, kw_only=True, slots=True)
class Status:
    """Where the work stands.

    `nights` and `days` are newest first. `issues` counts issues by the status of their newest run,
    `writes` outbox rows by status, both perhaps without what is settled. `usage` is the cost of everything
    recorded, `saved` the number of answers that cost no call, `last_good` the end of the last night that ended
    `done`, `outcomes` what people did with the labels that were set.
    """

    nights: tuple[NightReport, ...] = ()
    days: tuple[DayReport, ...] = ()
    issues: Mapping[str, int]
    writes: Mapping[str, int]
    usage: Usage = Usage()
    saved: int = 0
    last_good: datetime | None = None
    outcomes: Scores = field(default_factory=Scores)

    @property
    def waiting(self) -> int:
        """Writes that a next run will deliver."""
        return self.writes.get("pending", 0) + self.writes.get("sending", 0)

    @property
    def unknown(self) -> int:
        """Writes that a next run will look after."""
        return self.writes.get("unknown", 0)

    @property
    def failed(self) -> int:
        """Issues that a next run will ask about again."""
        return self.issues.get("failed", 0)

    @property
    def dead(self) -> int:
        """Issues and writes that are given up until `retry`."""
        return self.issues.get("dead", 0) + self.writes.get("dead", 0)


@dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
    """One thing that the ledger knows of an issue, as it is stored.

    `kind` is `run`, `write`, `event`, `tombstone`, or `label`: what became of one that was set.
    """

    at: str
    kind: str
    what: str
    fields: Mapping[str, Any]


def repositories(tx: Transaction) -> tuple[tuple[int, str], ...]:
    return tuple((row["repo_id"], row["repo"]) for row in tx.all("repositories"))


def last_nights(tx: Transaction) -> dict[str, int]:
    """The number of each repository's newest night, by its latest name in lower case."""
    return {row["repo"].casefold(): row["id"] for row in tx.all("repositories")}


def status(tx: Transaction, repo: str | None, *, limit: int, whole: bool) -> Status:
    """The newest `limit` nights and days; a repository that the ledger does not know has an empty status.

    Not `whole`: issues and writes that are settled are not counted, which takes as long as they are many.
    """
    repo_id = 0 if repo is None else _named(tx, repo)
    if repo_id is None:
        return Status(issues={}, writes={})
    used = tx.one("usage", repo_id=repo_id)
    return Status(
        nights=tuple(_night(row) for row in tx.all("nights", repo_id=repo_id, nights=limit)),
        days=_days(tx, repo_id, limit),
        issues=_issues(tx, repo_id, whole=whole),
        writes=_writes(tx, repo_id, whole=whole),
        usage=_usage(used),
        saved=used["saved"],
        last_good=last_good(tx, repo_id),
        outcomes=outcomes.scores(tx, repo_id),
    )


def _days(tx: Transaction, repo_id: int, limit: int) -> tuple[DayReport, ...]:
    since = tx.one("first_of_last_days", repo_id=repo_id, days=limit)["day"]
    return tuple(_day(row) for row in tx.all("days", repo_id=repo_id, since=since))


def _issues(tx: Transaction, repo_id: int, *, whole: bool) -> dict[str, int]:
    unsettled = {row["status"]: int(row["issues"]) for row in tx.all("unsettled_issues", repo_id=repo_id)}
    if not whole:
        return unsettled
    done = int(tx.one("all_issues", repo_id=repo_id)["issues"]) - sum(unsettled.values())
    return unsettled | ({"done": done} if done else {})


def _writes(tx: Transaction, repo_id: int, *, whole: bool) -> dict[str, int]:
    counted = tx.all("all_writes" if whole else "unsettled_writes", repo_id=repo_id)
    return {row["status"]: int(row["writes"]) for row in counted}


def last_good(tx: Transaction, repo_id: int) -> datetime | None:
    """The end of the last night that ended `done`; `repo_id` 0 means any repository's."""
    return _time(tx.one("last_good_night", repo_id=repo_id, good=GOOD)["finished_at"])


def history(tx: Transaction, repo_id: int, issue: int) -> tuple[Entry, ...]:
    """Everything known of one issue, oldest first."""
    here = {"repo_id": repo_id, "issue": issue}
    stored = (
        *(_entry("run", "status", ("claimed_at", "ended_at"), row) for row in tx.all("runs_of_issue", **here)),
        *(_entry("write", "status", ("created_at",), row) for row in tx.all("rows_of_issue", **here)),
        *(_entry("event", "what", ("at",), row) for row in tx.all("events_of_issue", **here)),
        *(_entry("tombstone", "reason", ("noticed_at",), row) for row in tx.all("tombstone", **here)),
        *(_entry("label", "outcome", ("noted_at",), row) for row in tx.all("outcomes_of_issue", **here)),
    )
    return tuple(sorted(stored, key=lambda entry: entry.at))


def night(tx: Transaction, night_id: int) -> NightReport | None:
    """One run of the job by its number; `None` where the ledger knows no such night."""
    row = tx.first("night", id=night_id)
    return None if row is None else _night(row)


def prune(tx: Transaction, *, older_than: float) -> dict[str, int]:
    """Drop what was last touched more than `older_than` seconds ago, and count it by table."""
    now = datetime.fromisoformat(tx.one("clock")["utc"])
    before = (now - timedelta(seconds=older_than)).strftime("%Y-%m-%dT%H:%M:%S.000Z")
    return {
        "events": len(tx.all("prune_events", before=before)),
        "nights": len(tx.all("prune_nights", before=before, good=GOOD)),
        "runs": len(tx.all("prune_runs", before=before)),
        "writes": len(tx.all("prune_outbox", before=before)),
        "outcomes": len(tx.all("prune_outcomes", before=before)),
    }


def _named(tx: Transaction, repo: str) -> int | None:
    row = tx.first("repository_named", repo=repo)
    return None if row is None else int(row["repo_id"])


def _entry(kind: str, what: str, times: tuple[str, ...], row: Row) -> Entry:
    at = next(row[time] for time in times if row[time])
    return Entry(at=at, kind=kind, what=row[what], fields=row)


def _night(row: Row) -> NightReport:
    times = {"started_at": _time(row["started_at"]), "finished_at": _time(row["finished_at"])}
    counts = json.loads(row["counts"])
    return NightReport(**dict(row) | times | {"day": date.fromisoformat(row["day"]), "counts": counts})


def _day(row: Row) -> DayReport:
    return DayReport(
        day=date.fromisoformat(row["day"]),
        done=row["done"],
        labelled=row["labelled"],
        nothing_fits=row["nothing_fits"],
        failed=row["failed"],
        dead=row["dead"],
        usage=_usage(row),
    )


def _usage(row: Row) -> Usage:
    return Usage(requests=row["requests"], tokens_in=row["tokens_in"], tokens_out=row["tokens_out"])


def _time(stored: str | None) -> datetime | None:
    return None if stored is None else datetime.fromisoformat(stored)
