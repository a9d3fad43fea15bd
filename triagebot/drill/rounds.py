"""One round: who does what, in which order, and what must then be in the ledger.

The leases that have to run out are given first and taken over later, so that a round waits for the
database's clock once. A dead process's claim is tried twice: one with an hour to go, which nobody may
have, and one that ends within the round, which one process must get, no sooner than it ends.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from signal import SIGKILL
from typing import Any

from triagebot.core.key import Ref
from triagebot.core.rows import RowStatus, Unclaimed
from triagebot.drill import counter
from triagebot.drill.crew import Crew, Member, Trouble
from triagebot.drill.namespace import Namespace
from triagebot.drill.score import RoundEnds, Rule, Score
from triagebot.drill.talk import Words
from triagebot.ledger.ledger import Ledger
from triagebot.ledger.reports import Entry

_RACED, _ORPHANED, _OVERSLEPT, _LOCKED = range(4)
"""The issues of a round: one for each story."""

_BLINK = 0.005
"""Seconds. The ledger keeps leases exactly, but the time of a claim to the millisecond."""

_ENDLESS = 3
"""Writes of one courier after which no more are waited for."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Terms:
    """Seconds.

    `lease` is how long the leases are that run out within a round, `patience` how long a claim is waited
    for beyond that, `haste` how long a claim waits for a lock that is not going to go away, and `answer`
    how long any answer of a process may take: four times as long as the ledger waits for a lock.
    """

    lease: float = 0.4
    patience: float = 10.0
    haste: float = 0.2
    answer: float = 120.0


@dataclass
class Round:
    """Round `number` of a drill, counted from 1. `ledger` is only read."""

    number: int
    crew: Crew
    ledger: Ledger
    namespace: Namespace
    log: Path
    terms: Terms
    score: Score

    def play(self) -> None:
        """Try all rules once, each on texts of its own. Raises `RoundEnds` where a process got out of step."""
        with self.score.about(Rule.ONE_WINNER):
            victim = self._race()
        sleeper = self.crew.others(victim)[0]
        with self.score.about(Rule.FENCED):
            self._fall_asleep(sleeper)
        with self.score.about(Rule.LEASE):
            ends = self._orphan(victim)
            heirs = self._send_for_heirs(sleeper)
        with self.score.about(Rule.SENT_ONCE):
            self._nothing_half_done()
        with self.score.about(Rule.LEASE):
            heir = self._inherit(heirs, ends)
            self._wait_in_vain()
        with self.score.about(Rule.FENCED):
            self._wake(sleeper, heir)
        with self.score.about(Rule.SENT_ONCE):
            self._deliver(heir)
        with self.score.about(Rule.LOCKED):
            self._lock(self.crew.members[0], self.crew.members[1])

    # --- one key, one winner

    def _race(self) -> Member:
        told = self.crew.together(self.crew.members, "claim", issue=self._issue(_RACED))
        won = [(member, words) for member, words in told if words["attempt"] is not None]
        seen = f"{len(won)} of {len(told)} processes were given one key: {_tally(told)}"
        self.score.check(len(won) == 1, seen, answers=len(told))
        stored = self._run(self._ref(_RACED))
        self._check(stored.get("attempt") == 1, f"the row of the key has attempt {stored.get('attempt')}, not 1")
        self._require(won)
        winner, his = won[0]
        self.score.contended += any(_overlap(words, his) for member, words in told if member is not winner)
        return winner

    # --- a killed claim

    def _orphan(self, victim: Member) -> float:
        """Kill the winner with two claims in hand, between verdict and outbox; returns when the short one ends."""
        issue = self._issue(_ORPHANED)
        given = victim.ask("claim", issue=issue, lease=self.terms.lease)
        self._check(given["attempt"] == 1, f"a new key was to be given as attempt 1, got {_answer(given)}")
        self._require(given["attempt"])
        ends = self._claimed_at(self._ref(_ORPHANED)) + self.terms.lease
        victim.tell("die", issue=self._issue(_RACED))
        code = victim.await_death()
        self._check(code == -SIGKILL, f"{victim.name} was to die of SIGKILL and ended with {code}")
        self.crew.replace(victim)
        return ends

    def _send_for_heirs(self, sleeper: Member) -> Sequence[Member]:
        """Two that are ready at once ask for the short claim from now on; of a crew of two, the new one."""
        ready = [member for member in self.crew.ready() if member is not sleeper]
        heirs = ready[:2] or self.crew.others(sleeper)
        patience = self.terms.lease + self.terms.patience
        self.crew.meet(heirs, "take_over", issue=self._issue(_ORPHANED), patience=patience)
        return heirs

    def _inherit(self, heirs: Sequence[Member], ends: float) -> Member:
        told = [(member, member.hear()) for member in heirs]
        won = [(member, words["attempt"]) for member, words in told if words["attempt"] is not None]
        late = f"{self.terms.patience:g} s after its lease ended"
        self._check(len(won) == 1, f"a killed process's key was given to {len(won)} of {len(told)} processes, {late}")
        self._check(all(attempt == 2 for _, attempt in won), f"it was given as attempt {[a for _, a in won]}, not 2")
        early = ends - self._claimed_at(self._ref(_ORPHANED)) if won else 0.0
        self._check(early <= _BLINK, f"a killed process's key was given {early:.3f} s before its lease ended")
        self._require(won)
        return won[0][0]

    def _wait_in_vain(self) -> None:
        told = self.crew.together(self.crew.members, "claim", issue=self._issue(_RACED))
        for member, words in told:
            held = words["attempt"] is None and words["why"] in (Unclaimed.HELD, Unclaimed.BUSY)
            seen = f"{member.name} was told {_answer(words)!r} for the key of a killed process"
            self._check(held, f"{seen}, an hour before its lease ends")

    # --- a late worker

    def _fall_asleep(self, sleeper: Member) -> None:
        given = sleeper.ask("fall_behind", issue=self._issue(_OVERSLEPT), lease=self.terms.lease)
        self._check(given == {"claim": 1, "row": 1}, f"a new claim and a new outbox row were given as {given}")
        self._require(all(given.values()))

    def _wake(self, sleeper: Member, heir: Member) -> None:
        claimed, sent = self._ref(_OVERSLEPT), self._ref(_OVERSLEPT, late=True)
        patience = self.terms.lease + self.terms.patience
        taken = [
            heir.ask("take_over", issue=claimed.issue, patience=patience)["attempt"],
            heir.ask("take_row", patience=patience)["attempt"],
        ]
        self._check(taken == [2, 2], f"a claim and an outbox row were to be taken over as attempt 2, got {taken}")
        before = [self._history(claimed), self._history(sent)]
        accepted = sleeper.ask("wake", issue=claimed.issue)["accepted"]
        self._check(not accepted, f"{', '.join(accepted)}: accepted from a worker whose work was taken over")
        after = [self._history(claimed), self._history(sent)]
        self._check(before == after, f"a late worker left behind: {_changes(before, after)}")

    # --- verdict, outbox, delivery

    def _nothing_half_done(self) -> None:
        ref = self._ref(_RACED)
        known = self.ledger.recall(ref.repo_id, ref.issue, ref.digest)
        seen = f"{'a' if known.verdict else 'no'} verdict and {len(known.rows)} writes to send"
        self._check(not known.verdict and not known.rows, f"a process killed in the midst of a finish left {seen}")

    def _deliver(self, heir: Member) -> None:
        ref, couriers = self._ref(_ORPHANED), self.crew.members[:2]
        heir.ask("finish", issue=ref.issue)
        known = self.ledger.recall(ref.repo_id, ref.issue, ref.digest)
        whole = known.verdict is not None and len(known.rows) == 2
        self._check(whole, f"a finish left {'a' if known.verdict else 'no'} verdict and {len(known.rows)} of 2 writes")
        self._count_writes(ref, "by two couriers at once", self._meet_and_send(couriers))
        self._count_writes(ref, "once more", self._meet_and_send(couriers))
        rows = self.ledger.recall(ref.repo_id, ref.issue, ref.digest).rows
        ended = [row.status for row in rows]
        self._check(set(ended) == {RowStatus.SENT}, f"after the delivery the rows are {', '.join(ended)}, not sent")

    def _meet_and_send(self, couriers: Sequence[Member]) -> list[str]:
        """Hold each request on its way until all others have ended or are on their way too; what the couriers noted."""
        self.crew.meet(couriers, "deliver")
        told = [(member, member.hear()) for member in couriers]
        sending = [member for member, words in told if "sending" in words]
        for member in (m for m in couriers if sending and m not in sending):
            given = member.ask("ask_for_row")["given"]
            self._check(not given, f"{member.name} was given the row whose write was on its way")
        notes = [note for _, words in told for note in words.get("notes", ())]
        for member in sending:
            notes += self._let_go(member)
        return notes

    def _let_go(self, courier: Member) -> list[str]:
        """Release its requests until it has ended. Raises `Trouble` where that does not come."""
        for _ in range(_ENDLESS):
            courier.say({})
            words = courier.hear()
            if "sending" not in words:
                return [*words["notes"]]
        raise Trouble(f"{courier.name} sent the comment of one key {_ENDLESS} times and was about to go on")

    def _count_writes(self, ref: Ref, how: str, notes: Sequence[str]) -> None:
        writes = counter.written(self.log, ref.issue)
        seen = f"delivered {how}, the comment of one key was sent {len(writes)} times"
        self._check(writes == ["PostComment"], "; ".join((seen, *notes)))

    # --- locks

    def _lock(self, holder: Member, hasty: Member) -> None:
        issue = self._issue(_LOCKED)
        holder.tell("hold", issue=issue)
        holder.hear()
        told = hasty.ask("claim_in_haste", issue=issue, timeout=self.terms.haste)
        self._check(told["busy"], f"a claim on a locked ledger came back as {told['given']!r}, not as busy")
        holder.say({})
        holder.hear()
        given = hasty.ask("claim", issue=issue)
        self._check(given["attempt"] == 2, f"once the lock was gone, the claim was attempt {given['attempt']}, not 2")

    # --- looking

    def _check(self, right: bool, seen: str) -> None:
        self.score.check(right, seen)

    def _require(self, there: object) -> None:
        """End the round here where nothing can follow; what is missing has been told."""
        if not there:
            raise RoundEnds

    def _issue(self, story: int) -> int:
        return 10 * self.number + story

    def _ref(self, story: int, *, late: bool = False) -> Ref:
        return self.namespace.ref(self._issue(story), late=late)

    def _history(self, ref: Ref) -> tuple[Entry, ...]:
        return self.ledger.history(ref.repo_id, ref.issue)

    def _claimed_at(self, ref: Ref) -> float:
        """Seconds since the epoch by the database's clock, which decides leases."""
        return datetime.fromisoformat(self._run(ref)["claimed_at"]).timestamp()

    def _run(self, ref: Ref) -> Mapping[str, Any]:
        """The stored run of a key, empty where there is none."""
        found = (e.fields for e in self._history(ref) if e.kind == "run" and e.fields["key"] == ref.key)
        return next(found, {})


def _tally(told: Sequence[tuple[Member, Words]]) -> str:
    """How many were told what, such as `1 x attempt 1, 7 x held by another worker`."""
    said = Counter(_answer(words) for _, words in told)
    return ", ".join(f"{number} x {answer}" for answer, number in said.items())


def _answer(words: Words) -> str:
    return words.get("why") or f"attempt {words['attempt']}"


def _overlap(one: Words, other: Words) -> bool:
    return bool(one["began"] < other["ended"] and other["began"] < one["ended"])


def _changes(before: Sequence[Sequence[Entry]], after: Sequence[Sequence[Entry]]) -> str:
    known = [entry for entries in before for entry in entries]
    new = [entry for entries in after for entry in entries if entry not in known]
    return ", ".join(f"{entry.kind} {entry.what!r}" for entry in new) or "less than there was"
