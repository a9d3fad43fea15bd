"""Threads that bring their exception home, and that an ending process need not wait for."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from triagebot.nightly.ports import Hand
from triagebot.nightly.stop import Stop

_GRACE = 2.0
"""Seconds that a request under way gets when the process is told to end; it must be gone within 5."""


class Thread(threading.Thread):
    """One thread of a night (a `Hand`). What it raises stops the night, and is raised again by `come_home`.

    A daemon: when the process must be gone within seconds, a model call that hangs cannot hold it.
    """

    def __init__(self, name: str, work: Callable[[], None], stop: Stop) -> None:
        super().__init__(name=name, daemon=True)
        self._work = work
        self._stop_all = stop
        self._error: BaseException | None = None

    def run(self) -> None:
        try:
            self._work()
        except BaseException as error:  # noqa: BLE001 - the end of a thread: carried to the one that joins it
            self._error = error
            self._stop_all.by_crash()

    def come_home(self, seconds: float | None = None) -> bool:
        """Join; False if it is still away after `seconds`. Raises what ended it."""
        self.join(seconds)
        if self._error is not None:
            raise self._error
        return not self.is_alive()


def await_workers(hands: Sequence[Hand], stop: Stop) -> None:
    """Until all issues are worked through. Only a signal does not wait for answers that are paid for."""
    while not all(hand.come_home(0.05) for hand in hands):
        if stop.signal is not None:
            break


def await_courier(hand: Hand, ring: Callable[[], None], stop: Stop) -> None:
    """Until everything is delivered; a night that is stopped waits for the request under way."""
    ring()
    while not hand.come_home(0.1):
        if stop.asked:
            ring()
            hand.come_home(_GRACE)
            break
