"""How faults meet requests: which, how often, and what becomes of the connection. Ready-made ones: `sandbox.faults`."""

from __future__ import annotations

import asyncio
import contextlib
import enum
import fnmatch
import threading
from collections.abc import Callable
from dataclasses import dataclass

from triagebot.sandbox.exchange import Answer, Call


@dataclass(frozen=True, kw_only=True, slots=True)
class On:
    """Which requests a fault meets: all that is given must fit. `path` is a glob, `operation` a GraphQL name."""

    method: str | None = None
    path: str | None = None
    operation: str | None = None
    when: Callable[[Call], bool] | None = None

    def fits(self, call: Call) -> bool:
        return (
            self.method in (None, call.method)
            and (self.path is None or fnmatch.fnmatchcase(call.path, self.path))
            and self.operation in (None, call.operation)
            and (self.when is None or self.when(call))
        )


class Then(enum.Enum):
    """What becomes of the connection."""

    ANSWER = "answer"
    DROP = "drop"
    DROP_HALFWAY = "drop halfway"
    HANG = "hang"  # until released or the client is gone; released, the request goes on as if nothing had been
    HANG_ON = "hang on"  # until released, whether the client is still there or not


@dataclass(frozen=True, kw_only=True, slots=True)
class Fault:
    """One thing that goes wrong. `stored`: the request is carried out first; `answer` takes the truth's place.

    `answer` may be a function of the true answer (of an empty one, where nothing is carried out).
    """

    name: str
    on: On
    stored: bool = False
    then: Then = Then.ANSWER
    answer: Answer | Callable[[Answer], Answer] | None = None

    def instead(self, truth: Answer) -> Answer:
        return truth if self.answer is None else self.answer(truth) if callable(self.answer) else self.answer


class Armed:
    """A fault that was added. `hits` counts the requests it met; `reached` is set while one hangs in it."""

    def __init__(self, fault: Fault, *, times: int | None, skip: int) -> None:
        self.fault = fault
        self.hits = 0
        self.reached = threading.Event()
        self._left, self._skip = times, skip
        self._guard = threading.Lock()
        self._open = False
        self._waiting: list[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = []

    def takes(self, call: Call) -> bool:
        with self._guard:
            if self._left == 0 or not self.fault.on.fits(call):
                return False
            if self._skip:
                self._skip -= 1
                return False
            self._left = None if self._left is None else self._left - 1
            self.hits += 1
            return True

    async def released(self) -> None:
        """Wait for `release`."""
        gate = asyncio.Event()
        with self._guard:
            if self._open:
                return
            self._waiting.append((asyncio.get_running_loop(), gate))
        self.reached.set()
        await gate.wait()

    def release(self) -> None:
        """Let go what hangs, now and later."""
        with self._guard:
            self._open = True
            for loop, gate in self._waiting:
                with contextlib.suppress(RuntimeError):  # the server is gone, and with it what hung
                    loop.call_soon_threadsafe(gate.set)
            self._waiting.clear()


class Faults:
    """The faults of one hub, tried in the order in which they were added."""

    def __init__(self) -> None:
        self._armed: list[Armed] = []

    def add(self, fault: Fault, *, times: int | None = 1, skip: int = 0) -> Armed:
        """Let `fault` meet the next `times` fitting requests (`None`: all), after letting `skip` of them pass."""
        armed = Armed(fault, times=times, skip=skip)
        self._armed.append(armed)
        return armed

    def take(self, call: Call) -> Armed | None:
        return next((armed for armed in [*self._armed] if armed.takes(call)), None)

    def clear(self) -> None:
        """Let everything go that hangs, and forget all faults."""
        for armed in self._armed:
            armed.release()
        self._armed.clear()
