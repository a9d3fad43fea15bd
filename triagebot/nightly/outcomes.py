"""What people did with the labels of the last days, collected while the sweep passes and noted at its end."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from triagebot.core import outcomes
from triagebot.core.faults import LedgerBusy
from triagebot.core.issue import Snapshot
from triagebot.core.outcomes import LabelOutcome
from triagebot.core.policy import LabelPolicy
from triagebot.core.rows import Memory
from triagebot.nightly.place import Place
from triagebot.nightly.ports import Ledger
from triagebot.nightly.report import Tally

WINDOW = timedelta(days=30)
"""Labels set longer ago keep what was last seen of them."""


@dataclass
class Outcomes:
    """Holds what is otherwise than the ledger knows it, until `record`. `now` is the night's time."""

    ledger: Ledger
    place: Place
    labels: LabelPolicy
    now: datetime
    tally: Tally
    _changed: list[LabelOutcome] = field(default_factory=list)
    _noted: Mapping[int, Sequence[LabelOutcome]] | None = None

    def see(self, issue: Snapshot, memory: Memory) -> None:
        """Judge the labels of one issue, which is seen once a night."""
        since = self.now - WINDOW
        known = self._known(since).get(issue.number, ())
        judged = outcomes.judge(
            issue, memory.rows, known, identity=self.place.identity, labels=self.labels, since=since
        )
        self._changed += [outcome for outcome in judged if outcome not in known]

    def record(self) -> None:
        """Note what has changed; nothing is written where nothing has. A locked ledger leaves it to the next night."""
        if not self._changed:
            return
        try:
            self.ledger.note_outcomes(self.place.repository.id, self._changed)
        except LedgerBusy as busy:
            self.tally.note(f"what people did with labels is left to the next night: {busy}")
        self._changed = []

    def _known(self, since: datetime) -> Mapping[int, Sequence[LabelOutcome]]:
        """By issue; read once, for a query for each of a thousand issues would be a thousand queries."""
        if self._noted is None:
            noted = defaultdict(list)
            for outcome in self.ledger.outcomes(self.place.repository.id, since=since):
                noted[outcome.issue].append(outcome)
            self._noted = noted
        return self._noted
