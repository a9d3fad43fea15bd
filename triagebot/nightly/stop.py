"""How a night ends early: by a signal, by its deadline, or by a fault that no issue is to blame for."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime

from triagebot.core.faults import Fault


@dataclass
class Stop:
    """One word that every thread of the night listens to. The first reason given is the one that counts."""

    _event: threading.Event = field(default_factory=threading.Event)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    signal: int | None = None
    fault: Fault | None = None

    def by_signal(self, number: int) -> None:
        """A person or the scheduler wants the process gone.

        Not for a signal handler itself: an `Event` that is set inside its own `wait` can deadlock.
        """
        self.signal = self.signal or number
        self._event.set()

    def by_fault(self, fault: Fault) -> None:
        with self._lock:
            self.fault = self.fault or fault
        self._event.set()

    def by_crash(self) -> None:
        """A thread of the night died of a bug; it tells of it when it is joined."""
        self._event.set()

    @property
    def asked(self) -> bool:
        return self._event.is_set()

    def wait(self, seconds: float) -> bool:
        """Wait, at most `seconds`; True when the night is asked to stop."""
        return self._event.wait(max(0.0, seconds))


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
