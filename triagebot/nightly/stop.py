"""How a night ends early: by a signal, by its deadline, or by a fault that no issue is to blame for."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime

from triagebot.core.faults import Fault, LedgerUnusable, ModelUnusable


@dataclass
class Stop:
    """One word that every thread of the night listens to. The first reason given is the one that counts."""

    _event: threading.Event = field(default_factory=threading.Event)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _branches: list[Branch] = field(default_factory=list)
    signal: int | None = None
    fault: Fault | None = None

    def by_signal(self, number: int) -> None:
        """A person or the scheduler wants the process gone.

        Not for a signal handler itself: an `Event` that is set inside its own `wait` can deadlock.
        """
        self.signal = self.signal or number
        self._ask()

    def by_fault(self, fault: Fault) -> None:
        with self._lock:
            self.fault = self.fault or fault
        self._ask()

    def by_crash(self) -> None:
        """A thread of the night died of a bug; it tells of it when it is joined."""
        self._ask()

    def branch(self) -> Branch:
        """For one of several repositories, which stops with the others but not for them."""
        made = Branch(trunk=self)
        with self._lock:
            self._branches.append(made)
        if self.asked:
            made.follow()
        return made

    def _ask(self) -> None:
        self._event.set()
        with self._lock:
            branches = [*self._branches]
        for branch in branches:
            branch.follow()

    @property
    def asked(self) -> bool:
        return self._event.is_set()

    def wait(self, seconds: float) -> bool:
        """Wait, at most `seconds`; True when the night is asked to stop."""
        return self._event.wait(max(0.0, seconds))


@dataclass(kw_only=True)
class Branch(Stop):
    """How the night of one repository ends early, beside those of others."""

    trunk: Stop

    def by_fault(self, fault: Fault) -> None:
        """What is the matter with this repository stops its own night; what concerns all of them, all."""
        if concerns_all(fault):
            self.trunk.by_fault(fault)
        else:
            super().by_fault(fault)

    def by_crash(self) -> None:
        self.trunk.by_crash()

    def follow(self) -> None:
        """The trunk was stopped."""
        self.signal, self.fault = self.signal or self.trunk.signal, self.fault or self.trunk.fault
        self._event.set()


def concerns_all(fault: Fault) -> bool:
    """Whether no repository can be worked on: the model or the ledger cannot be used."""
    return isinstance(fault, ModelUnusable | LedgerUnusable)


@dataclass(frozen=True)
class SystemClock:
    """The real time; its sleep ends when the night is asked to stop."""

    stop: Stop

    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        self.stop.wait(seconds)

    def wait(self, event: threading.Event, seconds: float) -> None:
        event.wait(seconds)
