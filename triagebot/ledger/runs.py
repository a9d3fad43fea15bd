"""Claim, run, finish: what happens to a run inside one transaction."""

from __future__ import annotations

from collections.abc import Sequence

from triagebot.core.faults import LeaseLost
from triagebot.core.key import Ref
from triagebot.core.rows import Claim, Night, Planned, Recorded, Unclaimed
from triagebot.core.verdict import Outcome, Usage, Verdict
from triagebot.ledger import events, outbox
from triagebot.ledger.statements import Transaction

MAX_TRIES = 3
MAX_FAILED_DAYS = 3


def claim(
    tx: Transaction, ref: Ref, night: Night, *, owner: str, lease: float, again: bool = False
) -> Claim | Unclaimed:
    """Raises `Conflict` where another day's key of the issue is running."""
    tx.hold(ref.repo_id, ref.issue)
    lapse(tx, repo_id=ref.repo_id, issue=ref.issue, key=ref.key, owner=owner)
    won = tx.first(
        "claim",
        **_identity(ref),
        day=ref.day.isoformat(),
        digest=ref.digest,
        owner=owner,
        night=night.id,
        lease=lease,
        again=int(again),
        max_tries=MAX_TRIES,
    )
    if won is None:
        return _why_unclaimed(tx, ref, night, again=again)
    claimed = Claim(ref=ref, night=night.id, owner=owner, attempt=won["attempt"])
    _record(tx, "claimed", claimed, "again" if again else None)
    return claimed


def _why_unclaimed(tx: Transaction, ref: Ref, night: Night, *, again: bool) -> Unclaimed:
    why = tx.one("why_unclaimed", **_identity(ref), digest=ref.digest, night=night.id)
    if why["answered"] and not again:
        return Unclaimed.ANSWERED
    if why["dead"] and not again:
        return Unclaimed.DEAD
    if why["held"]:
        return Unclaimed.HELD
    return Unclaimed.TRIED if why["tried"] else Unclaimed.SPENT


def lapse(tx: Transaction, *, repo_id: int, issue: int = 0, key: str = "", owner: str) -> None:
    """Record the crashes of claims whose lease is over and that a claim of `key` cannot take up."""
    for row in tx.all("lapse_runs", repo_id=repo_id, issue=issue, key=key, max_tries=MAX_TRIES):
        known = {name: row[name] for name in ("repo_id", "issue", "key", "attempt", "night")}
        events.record(tx, "crashed", owner=owner, **known)
        _give_up(tx, row["digest"], owner=owner, **known)


def finish(tx: Transaction, claim: Claim, verdict: Verdict, planned: Sequence[Planned], usage: Usage) -> None:
    said = {"outcome": verdict.outcome, "verdict": verdict.to_json(), "model": verdict.model, "prompt": verdict.prompt}
    _write(tx, "finish", claim, usage, **said)
    outbox.plan(tx, claim.ref, planned, owner=claim.owner)
    _record(tx, "finished", claim, verdict.outcome)


def fail(tx: Transaction, claim: Claim, reason: str, usage: Usage) -> None:
    _write(tx, "fail", claim, usage, reason=reason)
    _record(tx, "failed", claim, reason)
    _give_up(tx, claim.ref.digest, **_identity(claim.ref), owner=claim.owner, attempt=claim.attempt, night=claim.night)


def release(tx: Transaction, claim: Claim, reason: str, usage: Usage) -> None:
    _write(tx, "release", claim, usage, reason=reason)
    _record(tx, "released", claim, reason)


def adopt(tx: Transaction, ref: Ref, night: Night, comment: Recorded, *, owner: str) -> bool:
    tx.hold(ref.repo_id, ref.issue)
    day = ref.day.isoformat()
    verdict = Verdict(outcome=Outcome.STANDING)
    found = {"outcome": verdict.outcome, "verdict": verdict.to_json(), "owner": owner}
    if tx.first("adopt", **_identity(ref), day=day, digest=ref.digest, **found) is None:
        return False
    events.record(tx, "adopted", owner=owner, **_identity(ref), night=night.id, detail=f"comment {comment.id}")
    outbox.record_standing(tx, ref, comment, owner=owner)
    return True


def retry(tx: Transaction, *, repo_id: int, issue: int, owner: str) -> int:
    rows = tx.all("retry_runs", repo_id=repo_id, issue=issue)
    for row in rows:
        events.record(tx, "retried", owner=owner, **row)
    return len(rows)


def _give_up(tx: Transaction, digest: str, *, owner: str, attempt: int, night: int, **identity: object) -> None:
    dead = tx.first("give_up", **identity, digest=digest, max_days=MAX_FAILED_DAYS)
    if dead is not None:
        events.record(tx, "dead", owner=owner, attempt=attempt, night=night, **identity, detail=dead["reason"])


def _write(tx: Transaction, statement: str, claim: Claim, usage: Usage, **values: object) -> None:
    """A write that only the holder of the claim can make. Raises `LeaseLost`."""
    tx.hold(claim.ref.repo_id, claim.ref.issue)
    spent = {"requests": usage.requests, "tokens_in": usage.tokens_in, "tokens_out": usage.tokens_out}
    fence = {"owner": claim.owner, "attempt": claim.attempt}
    if tx.first(statement, **_identity(claim.ref), **fence, **spent, **values) is None:
        raise LeaseLost(
            f"issue {claim.ref.issue}: attempt {claim.attempt} at {claim.ref.key} no longer holds the claim; "
            "nothing was changed, whoever holds it goes on"
        )


def _record(tx: Transaction, what: str, claim: Claim, detail: str | None) -> None:
    events.record(
        tx,
        what,
        owner=claim.owner,
        **_identity(claim.ref),
        attempt=claim.attempt,
        night=claim.night,
        detail=detail,
    )


def _identity(ref: Ref) -> dict[str, object]:
    return {"repo_id": ref.repo_id, "issue": ref.issue, "key": ref.key}
