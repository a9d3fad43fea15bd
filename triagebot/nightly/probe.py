"""Ask one at a time until a first write was answered: a token that cannot write must not cost a night of calls."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from triagebot.nightly.ports import Clock
from triagebot.nightly.stop import Stop


@dataclass
class Probe:
    """A turnstile for the workers that opens for good with the first answer to a write.

    An installation token may not tell whether it may write; only a write tells. A
    verdict that leads to no write lets just the next issue through.
    """

    stop: Stop
    clock: Clock
    _open: threading.Event = field(default_factory=threading.Event)
    _turn: threading.Lock = field(default_factory=threading.Lock)
    _delivered: threading.Event = field(default_factory=threading.Event)

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Hold the only turn while the probe lasts; free once it is over."""
        while not self._open.is_set() and not self.stop.asked:
            if self._turn.acquire(blocking=False):
                try:
                    self._delivered.clear()
                    yield
                finally:
                    self._turn.release()
                return
            self.clock.wait(self._open, 0.05)
        yield

    def await_delivery(self) -> None:
        """After a verdict with rows to send: wait until the courier is done with them (or the probe is over)."""
        while not (self._open.is_set() or self._delivered.is_set() or self.stop.asked):
            self.clock.wait(self._delivered, 0.05)

    def delivered(self) -> None:
        """The courier ended with a parcel, written or not: the next issue may be asked about."""
        self._delivered.set()

    def answered(self) -> None:
        """A write was answered with anything but a permission refusal."""
        self._open.set()
        self._delivered.set()
