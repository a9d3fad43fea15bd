"""Threads that bring their exception home, and that an ending process need not wait for."""

from __future__ import annotations

import threading
from collections.abc import Callable

from triagebot.nightly.stop import Stop


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
