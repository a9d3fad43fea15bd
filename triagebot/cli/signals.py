"""SIGINT, SIGTERM and SIGHUP: the night gets the word, a few seconds, and then the process is gone."""

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
    heard: list[int] = []
    with handling(heard.append):
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
def handling(handle: Callable[[int], object]) -> Iterator[None]:
    """Meanwhile `handle` is called with the number of each signal that wants the process gone.

    A hang-up that is ignored was ignored by `nohup`, whose whole meaning that is.
    """
    deaf = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    numbers = (signal.SIGINT, signal.SIGTERM, *(() if deaf else (signal.SIGHUP,)))

    def handler(number: int, frame: FrameType | None) -> None:
        del frame
        handle(number)

    before = {number: signal.signal(number, handler) for number in numbers}
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)
