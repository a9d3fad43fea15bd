"""How the drill and its processes talk: one JSON object a line, over pipes, and a gate that lets all go at once."""

from __future__ import annotations

import json
import os
import select
import time
from collections.abc import Callable
from typing import Any

Words = dict[str, Any]


class Silent(Exception):
    """The other side said nothing within its time."""


class Ended(Exception):
    """The other side is gone."""


class Stopped(Exception):
    """Somebody asked the drill to stop."""


class Line:
    """Both directions between two processes, by file descriptors that somebody else closes."""

    def __init__(self, *, into: int, out_of: int) -> None:
        self._into = into
        self._out_of = out_of
        self._rest = b""

    def say(self, words: Words) -> None:
        """Raises `Ended` where nobody is there to hear it."""
        try:
            os.write(self._into, json.dumps(words).encode() + b"\n")
        except BrokenPipeError as error:
            raise Ended from error

    def hear(self, *, patience: float = 3600.0, stopping: Callable[[], bool] = lambda: False) -> Words:
        """The next thing that is said. Raises `Silent` after `patience` seconds, `Ended`, or `Stopped`."""
        deadline = time.monotonic() + patience
        while b"\n" not in self._rest:
            if stopping():
                raise Stopped
            if time.monotonic() > deadline:
                raise Silent
            self._read()
        line, _, self._rest = self._rest.partition(b"\n")
        heard: Words = json.loads(line)
        return heard

    def _read(self) -> None:
        poll = select.poll()  # a select would end at file descriptor 1,024
        poll.register(self._out_of, select.POLLIN)
        if not poll.poll(100):
            return
        read = os.read(self._out_of, 65_536)
        if not read:
            raise Ended
        self._rest += read


class Gate:
    """A pipe that many processes read from: one write lets through as many as there are bytes in it."""

    def __init__(self) -> None:
        self.inner, self._outer = os.pipe()

    def open(self, number: int) -> None:
        os.write(self._outer, b"." * number)

    def close(self) -> None:
        os.close(self.inner)
        os.close(self._outer)


def pass_through(gate: int) -> None:
    """Wait at a gate in the process that was started with it. Raises `Ended` where it is torn down."""
    if not os.read(gate, 1):
        raise Ended
