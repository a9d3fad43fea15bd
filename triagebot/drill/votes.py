"""Votes that act when the ledger writes them down.

A finish stores the verdict first and the planned writes after it, in one transaction. These votes
belong to a planned write, so what they do happens between the two, inside the transaction, and takes
no way into the ledger but the one that a night takes.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from typing import NoReturn

from triagebot.core.verdict import Vote

VOTE = Vote(name="drill", confidence=1.0, reason="this is a drill")


def kill_this_process() -> NoReturn:
    """As the kernel does when memory is short: nothing of it runs any more."""
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("a process that got SIGKILL went on")


class Undone(Exception):
    """Ends a transaction that was only to be held open for a while."""


class Deadly(tuple[Vote, ...]):
    """Kills its own process."""

    __slots__ = ()

    def __iter__(self) -> Iterator[Vote]:
        kill_this_process()


class Holding(tuple[Vote, ...]):
    """Stays in the transaction, and so on its locks, until `wait` returns; then undoes it by raising `Undone`."""

    wait: Callable[[], None]

    def __iter__(self) -> Iterator[Vote]:
        self.wait()
        raise Undone


def holding(wait: Callable[[], None]) -> Holding:
    votes = Holding()
    votes.wait = wait
    return votes
