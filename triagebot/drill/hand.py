"""What one process of a drill does when it is told to: the verbs of a worker and of a courier, on the real ledger."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from triagebot.core.actions import Action
from triagebot.core.faults import LeaseLost
from triagebot.core.key import Ref
from triagebot.core.rows import Claim, Night, OutboxRow, Planned, Recorded, Unclaimed
from triagebot.core.verdict import Outcome, Usage, Verdict, Vote
from triagebot.drill import namespace, votes
from triagebot.drill.counter import Counter
from triagebot.drill.namespace import Namespace
from triagebot.drill.talk import Line, Words
from triagebot.ledger.ledger import Ledger

LONG = 3600.0
"""Seconds of a lease that no drill outlives."""

_SPENT = Usage(requests=1)
_VERDICT = Verdict(outcome=Outcome.LABELLED, labels=(votes.VOTE,), model="drill", prompt="drill")
_BOTH = tuple(Planned(action=action, votes=(votes.VOTE,)) for action in Action)
_POLL = 0.01


@dataclass
class Hand:
    """One worker. Keeps what it was given (claims, a row), as a process does that falls behind."""

    ledger: Ledger
    hasty: Callable[[float], Ledger]
    namespace: Namespace
    log: Path
    line: Line
    _nights: dict[int, Night] = field(default_factory=dict)
    _claims: dict[int, Claim] = field(default_factory=dict)
    _row: OutboxRow | None = None

    def arrive(self) -> None:
        """Open the nights that all its work belongs to. They are never closed: no drill is a good night."""
        for repo_id in (self.namespace.repo_id, self.namespace.late):
            night = self.ledger.open_night(repo_id=repo_id, repo=namespace.REPO, day=self.namespace.day)
            self._nights[repo_id] = night

    # --- claims

    def claim(self, issue: int, lease: float = LONG) -> Words:
        """`began` and `ended` are seconds of the one clock that all processes of a machine share."""
        began = time.monotonic()
        told = self._claim(self.namespace.ref(issue), lease)
        return told | {"began": began, "ended": time.monotonic()}

    def _claim(self, ref: Ref, lease: float) -> Words:
        given = self.ledger.claim(ref, self._nights[ref.repo_id], lease=lease)
        if isinstance(given, Unclaimed):
            return {"attempt": None, "why": given.value}
        self._claims[ref.issue] = given
        return {"attempt": given.attempt}

    def take_over(self, issue: int, patience: float) -> Words:
        """Ask for the claim until it is given, to this process or to another one. `refused` counts the asking."""
        ref, refused, deadline = self.namespace.ref(issue), 0, time.monotonic() + patience
        while (told := self._claim(ref, LONG))["attempt"] is None:
            refused += 1
            if self._attempts(ref) > 1 or time.monotonic() > deadline:
                break
            time.sleep(_POLL)
        return told | {"refused": refused}

    def _attempts(self, ref: Ref) -> int:
        entries = self.ledger.history(ref.repo_id, ref.issue)
        return max((int(e.fields["attempt"]) for e in entries if e.kind == "run"), default=0)

    def finish(self, issue: int) -> Words:
        self.ledger.finish(self._claims[issue], _VERDICT, _BOTH, _SPENT)
        return {}

    def die(self, issue: int) -> None:
        """Finish, and be killed between the verdict and the writes that belong to it; if not there, then afterwards."""
        try:
            self.ledger.finish(self._claims[issue], _VERDICT, _planned(votes.Deadly()), _SPENT)
        finally:
            votes.kill_this_process()

    # --- falling behind

    def fall_behind(self, issue: int, lease: float) -> Words:
        """Hold a row of the outbox and a claim, both for `lease` seconds, and do nothing with them."""
        ref = self.namespace.ref(issue, late=True)
        self._claim(ref, LONG)
        self.ledger.finish(self._claims[issue], _VERDICT, _planned((votes.VOTE,)), _SPENT)
        row = self.take_row(0.0, lease=lease)["attempt"]
        return {"row": row, "claim": self._claim(self.namespace.ref(issue), lease)["attempt"]}

    def take_row(self, patience: float, lease: float = LONG) -> Words:
        """Ask for the row until it is given."""
        night, deadline = self._nights[self.namespace.late], time.monotonic() + patience
        while (parcel := self.ledger.claim_parcel(night.repo_id, night, lease=lease)) is None:
            if time.monotonic() > deadline:
                return {"attempt": None}
            time.sleep(_POLL)
        (self._row,) = parcel.rows
        return {"attempt": self._row.attempt}

    def wake(self, issue: int) -> Words:
        """Do everything that a worker can do with what it holds; `accepted` names what was not refused."""
        return {"accepted": [name for name, write in self._writes(issue).items() if _accepted(write)]}

    def _writes(self, issue: int) -> Mapping[str, Callable[[], None]]:
        ledger, claim, row, night = self.ledger, self._claims[issue], self._row, self._nights[self.namespace.late]
        assert row is not None
        return {
            "finish": lambda: ledger.finish(claim, _VERDICT, _BOTH, _SPENT),
            "fail": lambda: ledger.fail(claim, "late", _SPENT),
            "release": lambda: ledger.release(claim, "late", _SPENT),
            "renew": lambda: ledger.renew(row, lease=LONG),
            "sent": lambda: ledger.sent(row, Recorded(id=1, node="late")),
            "postpone": lambda: ledger.postpone(row, seconds=0.0, reason="late"),
            "unclear": lambda: ledger.unclear(row, settle=0.0, reason="late"),
            "rest": lambda: ledger.rest(row, night, reason="late"),
            "withdraw": lambda: ledger.withdraw(row, reason="late"),
            "bury": lambda: ledger.bury(row, reason="late"),
        }

    # --- delivering

    def deliver(self) -> Words:
        """Do what `triagebot deliver` does. Says `sending` when a request is on its way, and waits for a word then."""
        from triagebot.drill import courier  # half of all imports, and few processes of a crew ever deliver

        night = self._nights[self.namespace.repo_id]
        return {"notes": courier.deliver(self.ledger, night, Counter(night.repo_id, self.log, self._pause("sending")))}

    def ask_for_row(self) -> Words:
        night = self._nights[self.namespace.repo_id]
        return {"given": self.ledger.claim_parcel(night.repo_id, night, lease=LONG) is not None}

    def _pause(self, where: str) -> Callable[[], None]:
        def wait() -> None:
            self.line.say({where: True})
            self.line.hear()

        return wait

    # --- locks

    def hold(self, issue: int) -> Words:
        """Stay in the middle of a finish until told to go on; then undo it and give the claim back."""
        self._claim(self.namespace.ref(issue), LONG)
        with suppress(votes.Undone):
            self.ledger.finish(self._claims[issue], _VERDICT, _planned(votes.holding(self._pause("holding"))), _SPENT)
        self.ledger.release(self._claims[issue], "drill", _SPENT)
        return {}

    def claim_in_haste(self, issue: int, timeout: float) -> Words:
        """A claim that waits for a lock no longer than `timeout` seconds."""
        with self.hasty(timeout) as ledger:
            given = ledger.claim(self.namespace.ref(issue), self._nights[self.namespace.repo_id], lease=LONG)
        busy = given is Unclaimed.BUSY
        return {"busy": busy, "given": "a claim" if isinstance(given, Claim) else given.value}


def _planned(words: tuple[Vote, ...]) -> tuple[Planned, ...]:
    return (Planned(action=Action.COMMENT, votes=words),)


def _accepted(write: Callable[[], None]) -> bool:
    try:
        write()
    except LeaseLost:
        return False
    return True
