"""The slow work: claim, ask, finish. Several threads, one issue each, fenced by the ledger."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import reduce

from triagebot.core import standing
from triagebot.core.faults import (
    LeaseLost,
    LedgerBusy,
    Misconfigured,
    ModelUnreachable,
    ModelUnusable,
    TrackerFault,
)
from triagebot.core.rows import Claim, Night, Unclaimed
from triagebot.core.verdict import Outcome, Usage, Verdict
from triagebot.nightly.asking import Asker, Unanswered
from triagebot.nightly.ports import Clock, Ledger
from triagebot.nightly.probe import Probe
from triagebot.nightly.purse import Purse
from triagebot.nightly.reconcile import Item
from triagebot.nightly.report import Ended, Entry, Tally
from triagebot.nightly.settings import Settings
from triagebot.nightly.stop import Stop

_ENDS = {Outcome.LABELLED: Ended.LABELLED, Outcome.NOTHING_FITS: Ended.NOTHING_FITS}
_UNCLAIMED = {
    Unclaimed.ANSWERED: Ended.STANDING,
    Unclaimed.HELD: Ended.HELD,
    Unclaimed.BUSY: Ended.HELD,
    Unclaimed.DEAD: Ended.DEAD,
}


@dataclass
class Triage:
    """Works through the items of a night. `ready` is called whenever rows may wait for the courier.

    `whole` reads a lean item again: `None` where it needs no question any more.
    """

    ledger: Ledger
    asker: Asker
    settings: Settings
    night: Night
    clock: Clock
    tally: Tally
    probe: Probe
    purse: Purse
    stop: Stop
    deadline: float
    ready: Callable[[], None]
    whole: Callable[[Item], Item | None]
    _held: dict[int, Claim] = field(default_factory=dict)
    _unreached: list[Claim] = field(default_factory=list)
    _elsewhere: list[Item] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def work(self, items: queue.SimpleQueue[Item]) -> None:
        """A worker's whole life: take the next item until there is none or the night ends."""
        while (item := next_of(items)) is not None:
            self.one(item)

    def one(self, item: Item) -> None:
        """Claim, ask, finish: one issue, or a reason why not."""
        with self.probe.turn():
            self._one(item)
        self.tally.observer.advance()

    def _one(self, item: Item) -> None:
        reason = self._closing_time() or self.purse.admit()
        if reason is not None:
            self._enter(item, Ended.LEFT, reason)
            return
        bill: list[Usage] = []
        try:
            whole = self.whole(item) if item.lean else item
            if whole is not None:
                self._claimed(whole, bill)
        except LeaseLost:
            self._enter(item, Ended.HELD, "its lease was lost to another worker")
        except LedgerBusy as busy:
            self._enter(item, Ended.HELD, str(busy))
        except Misconfigured as fault:
            self._enter(item, Ended.LEFT, "the night was stopped")
            self.stop.by_fault(fault)
        except TrackerFault as fault:
            self._enter(item, Ended.FAILED, str(fault))
        finally:
            if not bill:
                self.purse.settle(Usage())  # admitted, and not asked
            self.tally.spend(_sum(bill))

    def _claimed(self, item: Item, bill: list[Usage]) -> None:
        claim = self.ledger.claim(item.ref, self.night, lease=self.settings.lease, again=item.again)
        if isinstance(claim, Unclaimed):
            self._enter(item, _UNCLAIMED.get(claim, Ended.WAITING), claim.value)
            return
        with self._holding(claim):
            try:
                verdict = self.asker.ask(item.issue, bill)
            except (Unanswered, ModelUnreachable, ModelUnusable) as fault:
                self._not_answered(item, claim, fault, _sum(bill))
                return
            self._finish(item, claim, verdict, _sum(bill))

    def settle_held(self) -> None:
        """What another worker held and has answered since is no work left over: of two nights that overlap, the one
        that ends last is a whole one."""
        for item in self._elsewhere:
            with suppress(LedgerBusy):
                if self.ledger.recall(item.ref.repo_id, item.ref.issue, item.ref.digest).verdict is not None:
                    self._enter(item, Ended.STANDING, "another worker has answered it")

    def _finish(self, item: Item, claim: Claim, verdict: Verdict, usage: Usage) -> None:
        planned = standing.plan(
            verdict, mode=self.settings.labels.mode, comments=self.settings.comments, standing=item.standing
        )
        self.ledger.finish(claim, verdict, planned, usage)
        if usage.requests:
            self._reached()
        else:
            self.tally.count("calls_saved")
        self.tally.drop(verdict.dropped)
        reason = "" if verdict.outcome in _ENDS else verdict.outcome.value
        self._enter(item, _ENDS.get(verdict.outcome, Ended.UNANSWERABLE), reason, verdict, usage)
        if planned:
            self.probe.await_delivery(self.ready)

    def _not_answered(self, item: Item, claim: Claim, fault: Exception, usage: Usage) -> None:
        """Whose failure it was: the issue's costs it a try, the endpoint's gives the try back."""
        if isinstance(fault, ModelUnusable):
            self.ledger.release(claim, str(fault), usage)
            self._give_back()
            raise fault
        if isinstance(fault, ModelUnreachable) and fault.blameless:
            self.ledger.release(claim, str(fault), usage)
            self._enter(item, Ended.FAILED, str(fault), usage=usage)
            return
        self.ledger.fail(claim, str(fault), usage)
        self._enter(item, Ended.FAILED, str(fault), usage=usage)
        with self._lock:
            self._unreached = [*self._unreached, claim] if isinstance(fault, ModelUnreachable) else []

    def _give_back(self) -> None:
        """The endpoint was dead all along: the failures that led to this insight burn no try."""
        with self._lock:
            unreached, self._unreached = self._unreached, []
        for claim in unreached:
            with suppress(LeaseLost):  # another night has taken it up since
                self.ledger.release(claim, "the model's endpoint was down", Usage())

    def _reached(self) -> None:
        with self._lock:
            self._unreached = []

    def _holding(self, claim: Claim) -> _Held:
        return _Held(self._held, claim)

    def abandon(self) -> None:
        """Give every claim back that is still held; a worker that comes home later finds its lease lost."""
        for claim in list(self._held.values()):
            with suppress(LeaseLost):
                self.ledger.release(claim, "interrupted", Usage())

    def _closing_time(self) -> str | None:
        if self.stop.asked:
            return "the night was stopped"
        if self.clock.monotonic() >= self.deadline:
            self.tally.note("deadline: the rest waits for the next night", failed=True)
            return "deadline"
        return None

    def _enter(
        self, item: Item, ended: Ended, reason: str = "", verdict: Verdict | None = None, usage: Usage | None = None
    ) -> None:
        entry = Entry(
            issue=item.ref.issue,
            ended=ended,
            title=item.issue.title,
            labels=verdict.labels if verdict else (),
            reason=reason,
            usage=usage or Usage(),
        )
        self.tally.enter(entry)
        if ended is Ended.HELD and not item.again:  # what is asked anew has an answer, and waits for another one
            self._elsewhere.append(item)


class _Held:
    """While this is entered, the claim is among those that an interrupted night gives back."""

    def __init__(self, held: dict[int, Claim], claim: Claim) -> None:
        self._held, self._claim = held, claim

    def __enter__(self) -> None:
        self._held[self._claim.ref.issue] = self._claim

    def __exit__(self, *_: object) -> None:
        self._held.pop(self._claim.ref.issue, None)


def next_of(items: queue.SimpleQueue[Item]) -> Item | None:
    """The next item, or `None` when all are taken."""
    try:
        return items.get_nowait()
    except queue.Empty:
        return None


def _sum(bill: list[Usage]) -> Usage:
    return reduce(lambda one, other: one + other, bill, Usage())
