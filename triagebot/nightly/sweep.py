"""The sweep: every open issue passes once, is reconciled, and those that wait longest are kept to be asked about."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from triagebot.core.faults import Gone, Moved
from triagebot.core.issue import Snapshot
from triagebot.core.rows import Night
from triagebot.nightly.choice import Left, Shortlist
from triagebot.nightly.ports import Ledger, Tracker
from triagebot.nightly.reconcile import Item, Reconciler
from triagebot.nightly.report import Ended, Entry, Tally
from triagebot.nightly.settings import Budget, Orders
from triagebot.nightly.stop import Stop


@dataclass
class Sweep:
    """Passes over the issues of one repository. `newest_first` is known at its end."""

    ledger: Ledger
    tracker: Tracker
    reconciler: Reconciler
    budget: Budget
    orders: Orders
    night: Night
    stop: Stop
    tally: Tally
    newest_first: bool = False

    def run(self) -> list[Item]:
        """Look at every issue; returns those that the model is to be asked about, in the order in which they wait.

        Only at its end is it known whether the newest go first, so a first night keeps a list for either case.
        """
        self.tally.observer.stage("sweep")
        lists = {order: Shortlist(self.budget) for order in ((False, True) if self.night.first else (False,))}
        for issue in self._unseen():
            item = self.reconciler.consider(issue)
            if item is not None:
                for newest_first, shortlist in lists.items():
                    self.leave(shortlist.offer(item, newest_first=newest_first))
            if self.stop.asked:
                return []
        self.newest_first = self.reconciler.end()
        return [*lists[self.newest_first]]

    def leave(self, left: Left | None) -> None:
        """Enter what the budget leaves over; an issue that is asked about after all is entered again."""
        if left is not None:
            item, reason = left
            self.tally.enter(Entry(issue=item.ref.issue, ended=Ended.LEFT, title=item.issue.title, reason=reason))

    def whole(self, item: Item) -> Item | None:
        """An item whose text was not kept, as it is now; `None` where there is nothing to ask any more."""
        return self.reconciler.consider(self._look(item.ref.issue))

    def _unseen(self) -> Iterator[Snapshot]:
        """Each issue once: a list that changes while it is paged through may show one twice."""
        seen = set[int]()
        for issue in self._issues():
            if issue.number not in seen:
                seen.add(issue.number)
                self.tally.count("seen")
                self.tally.observer.advance()
                yield issue

    def _issues(self) -> Iterator[Snapshot]:
        """Every open issue, or just those asked for, each as it is now."""
        if not self.orders.issues:
            yield from self.tracker.sweep()
        for number in dict.fromkeys(self.orders.issues):
            try:
                yield self._look(number)
            except (Gone, Moved) as fault:
                self.tally.enter(Entry(issue=number, ended=Ended.FAILED, reason=str(fault)))

    def _look(self, number: int) -> Snapshot:
        memory = self.ledger.recall(self.night.repo_id, number, "")
        return self.tracker.look(number, memory.recorded)
