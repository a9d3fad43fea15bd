"""The ledger: each method is one transaction. What happens inside it is in `runs`, `outbox` and `pace`.

The meaning of each method is told where the night asks for it (`nightly.ports.Ledger`). All raise
`LedgerBusy` when the database stays locked, `LedgerUnusable` when it cannot be read or written, and
the writes to a claimed row `LeaseLost`.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from types import TracebackType

from triagebot.core.faults import LeaseLost, LedgerBusy
from triagebot.core.key import Ref
from triagebot.core.outcomes import LabelOutcome
from triagebot.core.rows import (
    Claim,
    Memory,
    Night,
    OutboxRow,
    Parcel,
    Planned,
    Recorded,
    Retraction,
    RowStatus,
    Unclaimed,
)
from triagebot.core.verdict import Usage, Verdict
from triagebot.ledger import events, outbox, outcomes, pace, records, reports, runs, undoing
from triagebot.ledger.statements import Conflict, Database, Transaction


class Ledger:
    """Who may do what, and what was done.

    `settle` is how long after a crashed send's lease the tracker may still show the write, in seconds.
    """

    def __init__(self, database: Database, *, settle: float = 60.0) -> None:
        self._database = database
        self._settle = settle
        self._owner = str(uuid.uuid4())

    def __enter__(self) -> Ledger:
        return self

    def __exit__(self, kind: type[BaseException] | None, fault: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Close every thread's connection; a thread that is still at work gets `LedgerUnusable`."""
        self._database.close()

    @property
    def owner(self) -> str:
        return self._owner

    @property
    def database(self) -> Database:
        """For what goes round the rules: a copy of everything."""
        return self._database

    # --- nights

    def open_night(self, *, repo_id: int, repo: str, day: date) -> Night:
        def opened(tx: Transaction) -> Night:
            runs.lapse(tx, repo_id=repo_id, owner=self._owner)
            first = tx.first("finished_night", repo_id=repo_id) is None
            last_good = reports.last_good(tx, repo_id)
            row = tx.one("open_night", repo_id=repo_id, repo=repo, day=day.isoformat(), owner=self._owner)
            events.record(tx, "night opened", owner=self._owner, repo_id=repo_id, night=row["id"])
            return Night(id=row["id"], repo_id=repo_id, day=day, first=first, last_good=last_good)

        return self._database.write(opened)

    def close_night(self, night: Night, *, how: str, counts: Mapping[str, int]) -> None:
        def closed(tx: Transaction) -> None:
            ended = {"how": how, "counts": json.dumps(dict(counts))}
            if tx.first("close_night", id=night.id, owner=self._owner, **ended) is None:
                raise LeaseLost(f"night {night.id}: was opened by another process; only that one can close it")
            events.record(tx, "night closed", owner=self._owner, repo_id=night.repo_id, night=night.id, detail=how)

        self._database.write(closed)

    # --- runs

    def recall(self, repo_id: int, issue: int, digest: str) -> Memory:
        return self._database.view(lambda tx: records.memory(tx, repo_id, issue, digest))

    def claim(self, ref: Ref, night: Night, *, lease: float, again: bool = False) -> Claim | Unclaimed:
        def claimed(tx: Transaction) -> Claim | Unclaimed:
            return runs.claim(tx, ref, night, owner=self._owner, lease=lease, again=again)

        try:
            return self._database.write(claimed)
        except Conflict:
            return Unclaimed.HELD  # another day's key of this issue is running
        except LedgerBusy:
            return Unclaimed.BUSY

    def finish(self, claim: Claim, verdict: Verdict, planned: Sequence[Planned], usage: Usage) -> None:
        self._database.write(lambda tx: runs.finish(tx, claim, verdict, planned, usage))

    def fail(self, claim: Claim, reason: str, usage: Usage) -> None:
        self._database.write(lambda tx: runs.fail(tx, claim, reason, usage))

    def release(self, claim: Claim, reason: str, usage: Usage) -> None:
        self._database.write(lambda tx: runs.release(tx, claim, reason, usage))

    def adopt(self, ref: Ref, night: Night, comment: Recorded) -> bool:
        return self._database.write(lambda tx: runs.adopt(tx, ref, night, comment, owner=self._owner))

    # --- outbox

    def mend(self, ref: Ref, planned: Planned, *, revise: bool = False) -> bool:
        return self._database.write(lambda tx: outbox.mend(tx, ref, planned, revise=revise, owner=self._owner))

    def next_due(self, repo_id: int, night: Night) -> float | None:
        return self._database.view(lambda tx: outbox.next_due(tx, repo_id, night, settle=self._settle))

    def claim_parcel(self, repo_id: int, night: Night, *, lease: float) -> Parcel | None:
        """The rows carry the status in which the claim found them: after `unknown`, a write may be out there."""

        def claimed(tx: Transaction) -> Parcel | None:
            return outbox.claim_parcel(tx, repo_id, night, owner=self._owner, lease=lease, settle=self._settle)

        try:
            return self._database.write(claimed)
        except Conflict:
            return None  # two texts of one issue may not be in flight at once: not claimable now

    def renew(self, row: OutboxRow, *, lease: float) -> None:
        self._write("renew", row, lease=lease)

    def sent(self, row: OutboxRow, comment: Recorded | None) -> None:
        remote = {"remote_id": comment and comment.id, "remote_node": comment and comment.node}
        self._write("sent", row, what="sent", **remote)

    def postpone(self, row: OutboxRow, *, seconds: float, reason: str) -> None:
        self._write("postpone", row, what="postponed", seconds=seconds, reason=reason)

    def unclear(self, row: OutboxRow, *, settle: float, reason: str) -> None:
        self._write("unclear", row, what="unclear", settle=settle, reason=reason, max_unproven=outbox.MAX_UNPROVEN)

    def rest(self, row: OutboxRow, night: Night, *, reason: str) -> None:
        self._write("rest", row, what="resting", night=night.id, reason=reason)

    def withdraw(self, row: OutboxRow, *, reason: str) -> None:
        self._write("end_row", row, what="withdrawn", status=RowStatus.WITHDRAWN, reason=reason)

    def bury(self, row: OutboxRow, *, reason: str) -> None:
        self._write("end_row", row, what="dead", status=RowStatus.DEAD, reason=reason)

    def _write(self, statement: str, row: OutboxRow, *, what: str = "", **values: object) -> None:
        self._database.write(lambda tx: outbox.write(tx, statement, row, what=what, **values))

    def keep_comment(self, repo_id: int, issue: int, comment: Recorded) -> None:
        self._database.write(lambda tx: outbox.keep_comment(tx, repo_id, issue, comment, owner=self._owner))

    def waiting(self, repo_id: int) -> Mapping[str, int]:
        return self._database.view(lambda tx: outbox.waiting(tx, repo_id))

    # --- take back

    def issues_written(self, night: int) -> Sequence[int]:
        def issues(tx: Transaction) -> tuple[int, ...]:
            known = tx.first("night", id=night)
            if known is None:
                return ()
            return tuple(row["issue"] for row in tx.all("issues_tried_in_night", repo_id=known["repo_id"], night=night))

        return self._database.view(issues)

    def claim_written(
        self, repo_id: int, issue: int, *, night: int | None, lease: float
    ) -> Retraction | Unclaimed | None:
        def claimed(tx: Transaction) -> Retraction | Unclaimed | None:
            return undoing.claim(tx, repo_id, issue, night=night, owner=self._owner, lease=lease)

        try:
            return self._database.write(claimed)
        except LedgerBusy:
            return Unclaimed.BUSY

    # --- what people did with the labels

    def outcomes(self, repo_id: int, *, since: datetime) -> Sequence[LabelOutcome]:
        return self._database.view(lambda tx: outcomes.known(tx, repo_id, since))

    def note_outcomes(self, repo_id: int, changed: Sequence[LabelOutcome]) -> None:
        self._database.write(lambda tx: outcomes.note(tx, repo_id, changed))

    def put_back(self, row: OutboxRow) -> None:
        self._write("put_back", row, what="put back")

    # --- deleted comments

    def silence(self, repo_id: int, issue: int, *, reason: str) -> None:
        def silenced(tx: Transaction) -> None:
            tx.hold(repo_id, issue)
            tx.all("silence", repo_id=repo_id, issue=issue, reason=reason)
            events.record(tx, "silenced", owner=self._owner, repo_id=repo_id, issue=issue, detail=reason)

        self._database.write(silenced)

    def lift_silence(self, repo_id: int, issue: int, *, settled: frozenset[str]) -> None:
        def lifted(tx: Transaction) -> None:
            tx.hold(repo_id, issue)
            known = records.silence(tx, repo_id, issue).settled | settled
            tx.all("lift_silence", repo_id=repo_id, issue=issue, settled=json.dumps(sorted(known)))
            events.record(tx, "silence lifted", owner=self._owner, repo_id=repo_id, issue=issue)

        self._database.write(lifted)

    # --- pace

    def reserve_slot(self, account: tuple[str, str], *, per_second: float | None, per_hour: int | None) -> float:
        return self._database.write(lambda tx: pace.reserve_slot(tx, account, per_second=per_second, per_hour=per_hour))

    def gate(self, account: tuple[str, str]) -> float:
        seconds = self._database.view(lambda tx: pace.gate(tx, account))
        if seconds > pace.LONGEST:
            self._database.write(lambda tx: pace.shorten_gate(tx, account))
        return min(seconds, pace.LONGEST)

    def close_gate(self, account: tuple[str, str], *, seconds: float | None) -> float:
        return self._database.write(lambda tx: pace.close_gate(tx, account, seconds=seconds, owner=self._owner))

    def open_gate(self, account: tuple[str, str]) -> None:
        self._database.write(lambda tx: pace.open_gate(tx, account))

    # --- what people ask

    def status(self, repo: str | None = None, *, limit: int = 14, whole: bool = True) -> reports.Status:
        """Where the work stands, for one repository by name or for all; the newest `limit` nights and days.

        Not `whole`: without the number of issues and writes that are settled.
        """
        return self._database.view(lambda tx: reports.status(tx, repo, limit=limit, whole=whole))

    def history(self, repo_id: int, issue: int) -> tuple[reports.Entry, ...]:
        """Everything known of one issue, oldest first."""
        return self._database.view(lambda tx: reports.history(tx, repo_id, issue))

    def night(self, night_id: int) -> reports.NightReport | None:
        """One night by its number."""
        return self._database.view(lambda tx: reports.night(tx, night_id))

    def repositories(self) -> tuple[tuple[int, str], ...]:
        """The id and the latest name of every repository that had a night."""
        return self._database.view(reports.repositories)

    def last_nights(self) -> Mapping[str, int]:
        """The number of each repository's newest night, by its latest name in lower case: later ones are higher."""
        return self._database.view(reports.last_nights)

    def retry(self, repo_id: int | None = None, issue: int | None = None) -> int:
        """Give dead and failed rows new tries, of all repositories and issues or of one; returns how many."""
        asked = {"repo_id": repo_id or 0, "issue": issue or 0}

        def retried(tx: Transaction) -> int:
            return runs.retry(tx, **asked, owner=self._owner) + outbox.retry(tx, **asked, owner=self._owner)

        return self._database.write(retried)

    def prune(self, *, older_than: float) -> Mapping[str, int]:
        """Drop what ended more than `older_than` seconds ago and no night needs; returns how much of what."""
        return self._database.write(lambda tx: reports.prune(tx, older_than=older_than))

    # --- what a drill leaves

    def forget(self, repo_id: int, account: tuple[str, str]) -> None:
        """Take out everything about a repository, its journal included, and the pace of an account. For drills only."""
        tables = (
            "forget_runs",
            "forget_outbox",
            "forget_outcomes",
            "forget_events",
            "forget_tombstones",
            "forget_nights",
        )

        def forgotten(tx: Transaction) -> None:
            for statement in tables:
                tx.all(statement, repo_id=repo_id)
            tx.all("forget_pace", host=account[0], account=account[1])

        self._database.write(forgotten)
