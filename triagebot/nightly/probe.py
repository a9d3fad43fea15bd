"""Ask one at a time until a first write was answered: a token that cannot write must not cost a night of calls."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from triagebot.nightly.ports import Clock
from triagebot.nightly.stop import Stop


@dataclass
class Probe:
    """A turnstile for the workers that opens for good with the first answer to a write.

    An installation token may not tell whether it may write; only a write tells. A
    verdict that leads to no write lets just the next issue through, and so does writing
    that rests, by a closed gate or an hour that is used up: no write can tell anything for a while.
    """

    stop: Stop
    clock: Clock
    _open: threading.Event = field(default_factory=threading.Event)
    _turn: threading.Lock = field(default_factory=threading.Lock)
    _asked: int = 0
    _nothing_due: int = 0
    _rests: bool = False

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Hold the only turn while the probe lasts; free once it is over."""
        while not self._open.is_set() and not self.stop.asked:
            if self._turn.acquire(blocking=False):
                try:
                    yield
                finally:
                    self._turn.release()
                return
            self.clock.wait(self._open, 0.05)
        yield

    def await_delivery(self, ready: Callable[[], None]) -> None:
        """After a verdict with rows to send: tell the courier, and wait until it has nothing left to try."""
        self._asked = asked = self._asked + 1
        ready()
        while not (self._open.is_set() or self._nothing_due >= asked or self._rests or self.stop.asked):
            self.clock.wait(self._open, 0.05)

    @property
    def asked(self) -> int:
        """How many deliveries were awaited so far; to be read before the ledger is asked what is due."""
        return self._asked

    def nothing_due(self, asked: int) -> None:
        """The courier found nothing to send now, having read `asked` before: the next issue may be asked about."""
        self._nothing_due = asked

    def writing_rests(self, rests: bool) -> None:
        """Whether the next write is far off, which is no reason for triage to wait."""
        self._rests = rests

    def answered(self) -> None:
        """A write was answered with anything but a permission refusal."""
        self._open.set()
