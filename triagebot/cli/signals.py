"""SIGINT and SIGTERM: the night gets the word, a few seconds, and then the process is gone."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TypeVar

from triagebot.cli.boundary import Interrupted
from triagebot.nightly.crew import Thread
from triagebot.nightly.stop import Stop

T = TypeVar("T")

_PATIENCE = 4.0
"""Seconds from the signal to the end; schedulers kill soon after."""


def attended(work: Callable[[], T], stop: Stop) -> T:
    """Run `work` in a thread of its own, while this one listens for signals.

    Handlers only note the number: setting an `Event` from inside a handler can deadlock
    with its own `wait`. Raises `Interrupted` once the work has wound down, or after a few seconds
    without that.
    """
    results: list[T] = []
    hand = Thread("night", lambda: results.append(work()), stop)
    with _listening() as heard:
        hand.start()
        while not hand.come_home(0.05):
            if heard:
                stop.by_signal(heard[0])
                hand.come_home(_PATIENCE)
                break
    if heard:
        raise Interrupted(heard[0])
    return results[0]


@contextmanager
def _listening() -> Iterator[list[int]]:
    heard: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        del frame
        heard.append(number)

    before = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield heard
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
