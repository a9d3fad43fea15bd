"""Ledgers with one thing wrong each, by the name under which the processes of a drill open them."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from typing import Any

from triagebot.core.faults import LeaseLost, LedgerBusy, LedgerUnusable
from triagebot.core.key import Ref
from triagebot.core.rows import Claim, Night, Planned, Unclaimed
from triagebot.core.verdict import Usage, Verdict
from triagebot.ledger import runs
from triagebot.ledger.ledger import Ledger
from triagebot.ledger.opening import open_ledger

_MAY_TAKE = "runs.night <> excluded.night\n   AND (runs.tries < :max_tries AND runs.status = 'failed'"
_HELD_BY = "AND owner = :owner AND attempt = :attempt AND status = 'running'"
_ROW_HELD_BY = "AND owner = :owner AND attempt = :attempt AND status = 'sending'"


def _altered(how: dict[str, Any], *changes: tuple[str, str, str]) -> Ledger:
    ledger = open_ledger(**how)
    sql = ledger._database._sql  # type: ignore[attr-defined]
    for statement, old, new in changes:
        assert old in sql[statement], f"{statement} no longer says {old}"
        sql[statement] = sql[statement].replace(old, new)
    return ledger


def _as(kind: type[Ledger], how: dict[str, Any]) -> Ledger:
    """A shipped ledger with some methods of another class."""
    ledger = open_ledger(**how)
    ledger.__class__ = kind
    return ledger


# --- one key, one winner


def gives_to_all(**how: Any) -> Ledger:
    """The claim without its condition."""
    return _altered(how, ("claim", f"WHERE {_MAY_TAKE}", "WHERE 1 = 1 OR (runs.status = 'failed'"))


def asks_first(**how: Any) -> Ledger:
    """Two statements where there should be one: what was true when it was asked is not true any more."""

    class AsksFirst(Ledger):
        def claim(self, ref: Ref, night: Night, *, lease: float, again: bool = False) -> Claim | Unclaimed:
            free = all(entry.what != "running" for entry in self.history(ref.repo_id, ref.issue))
            if not free:
                return Unclaimed.HELD
            time.sleep(0.05)  # the time between the two statements, long enough for this to be no matter of luck
            with self._database.transaction() as tx:
                given = runs.claim(tx, ref, night, owner=self._owner, lease=lease)
                attempt = given.attempt if isinstance(given, Claim) else 1
            return Claim(ref=ref, night=night.id, owner=self._owner, attempt=attempt)

    return _as(AsksFirst, how)


def gives_to_nobody(**how: Any) -> Ledger:
    class Refuses(Ledger):
        def claim(self, ref: Ref, night: Night, *, lease: float, again: bool = False) -> Claim | Unclaimed:
            return Unclaimed.BUSY

    return _as(Refuses, how)


# --- a killed claim


def ignores_the_lease(**how: Any) -> Ledger:
    """A dead owner's claim is free at once, and so is a living one's."""
    return _altered(how, ("claim", "runs.lease_until <= ", "0 <= "))


def frees_all_at_the_start(**how: Any) -> Ledger:
    """Whoever opens a night takes every running claim for one that a crash left."""
    return _altered(how, ("lapse_runs", "lease_until <= ", "0 <= "))


def shortens_the_lease(**how: Any) -> Ledger:
    return _altered(how, ("claim", "+ :lease", "+ :lease / 4"))


def never_takes_over(**how: Any) -> Ledger:
    """Neither by a claim nor when a night is opened."""
    return _altered(how, ("claim", "runs.lease_until <= ", "0 > "), ("lapse_runs", "lease_until <= ", "0 > "))


def keeps_the_attempt(**how: Any) -> Ledger:
    return _altered(how, ("claim", "attempt = runs.attempt + 1", "attempt = runs.attempt"))


# --- verdict, outbox, delivery


def finishes_in_two_steps(**how: Any) -> Ledger:
    class InTwoSteps(Ledger):
        def finish(self, claim: Claim, verdict: Verdict, planned: Sequence[Planned], usage: Usage) -> None:
            super().finish(claim, verdict, (), usage)
            for each in planned:
                self.mend(claim.ref, each)

    return _as(InTwoSteps, how)


def forgets_a_write(**how: Any) -> Ledger:
    class Forgets(Ledger):
        def finish(self, claim: Claim, verdict: Verdict, planned: Sequence[Planned], usage: Usage) -> None:
            super().finish(claim, verdict, planned[-1:], usage)

    return _as(Forgets, how)


_SENDING_TOO = "r.status IN ('pending', 'unknown', 'sending')"


def gives_a_row_on_its_way(**how: Any) -> Ledger:
    due = ("next_due", "WHEN status = 'sending' THEN lease_until + :settle", "WHEN status = 'sending' THEN 0")
    found = ("due_rows", "r.status IN ('pending', 'unknown')", _SENDING_TOO)
    return _altered(how, found, ("claim_row", "IN ('pending', 'unknown')", "<> 'sent'"), due)


def forgets_that_it_was_sent(**how: Any) -> Ledger:
    left = "status = CASE WHEN action = 'comment' THEN 'pending' ELSE 'sent' END"
    return _altered(how, ("sent", "status = 'sent'", left), ("sent", "coalesce(:remote_id, remote_id)", "remote_id"))


# --- a late worker


def finishes_without_fence(**how: Any) -> Ledger:
    return _altered(how, ("finish", _HELD_BY, "AND status = 'running'"))


def sends_without_fence(**how: Any) -> Ledger:
    return _altered(how, ("sent", _ROW_HELD_BY, "AND status = 'sending'"))


def fences_the_owner_only(**how: Any) -> Ledger:
    """Right as long as every process has an owner of its own; here the name is that of the machine."""
    ledger = open_ledger(**how)
    ledger._owner = "this machine"
    sql = ledger._database._sql  # type: ignore[attr-defined]
    sql["release"] = sql["release"].replace("AND attempt = :attempt", "")
    return ledger


def refuses_but_leaves_a_trace(**how: Any) -> Ledger:
    class Traces(Ledger):
        def fail(self, claim: Claim, reason: str, usage: Usage) -> None:
            try:
                super().fail(claim, reason, usage)
            except LeaseLost:
                with self._database.transaction() as tx:
                    runs._record(tx, "late", claim, reason)
                raise

    return _as(Traces, how)


# --- locks


def takes_a_lock_for_a_win(**how: Any) -> Ledger:
    class Wins(Ledger):
        def claim(self, ref: Ref, night: Night, *, lease: float, again: bool = False) -> Claim | Unclaimed:
            given = super().claim(ref, night, lease=lease, again=again)
            return Claim(ref=ref, night=night.id, owner=self._owner, attempt=1) if given is Unclaimed.BUSY else given

    return _as(Wins, how)


def raises_at_a_lock(**how: Any) -> Ledger:
    class Raises(Ledger):
        def claim(self, ref: Ref, night: Night, *, lease: float, again: bool = False) -> Claim | Unclaimed:
            given = super().claim(ref, night, lease=lease, again=again)
            if given is Unclaimed.BUSY:
                raise LedgerBusy("the ledger stayed locked")
            return given

    return _as(Raises, how)


# --- processes


def dies_in_a_claim(**how: Any) -> Ledger:
    class Dies(Ledger):
        def claim(self, ref: Ref, night: Night, *, lease: float, again: bool = False) -> Claim | Unclaimed:
            os._exit(7)

    return _as(Dies, how)


def cannot_be_opened(**how: Any) -> Ledger:
    raise LedgerUnusable("ledger here: disk full; free some space")
