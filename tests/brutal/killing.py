"""Real processes that die by SIGKILL: at a named step of their own, or whenever somebody kills them."""

from __future__ import annotations

import itertools
import multiprocessing
import os
import signal
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any

_SERVER = multiprocessing.get_context("forkserver")
_SERVER.set_forkserver_preload(["triagebot.cli.main", "triagebot.cli.nights", "triagebot.github.tracker", "openai"])


class Stepped:
    """A port of the night whose every call has a name, before and after."""

    def __init__(self, part: Any, room: str, at: Callable[[str], None]) -> None:
        self._part, self._room, self._at = part, room, at

    def __getattr__(self, name: str) -> Any:
        member = getattr(self._part, name)
        if not callable(member) or name in {"close"}:
            return member

        def call(*args: Any, **kwargs: Any) -> Any:
            step = f"{self._room}.{name}" + (f".{type(args[0]).__name__}" if name == "send" else "")
            self._at(f"before {step}")
            answer = member(*args, **kwargs)
            self._at(f"after {step}")
            return answer

        return call


def step_by_step(at: Callable[[str], None]) -> None:
    """Let the nights or the undo of this process tell `at` of their every step, a second night's as "(2) ledger"..."""
    from triagebot.nightly import night, undo

    shipped, shipped_undo = night.begin, undo.Undo.run
    nights = itertools.count(1)

    def run_undo(self: undo.Undo, issues: Sequence[int]) -> Any:
        self.ledger, self.tracker = Stepped(self.ledger, "ledger", at), Stepped(self.tracker, "github", at)
        return shipped_undo(self, issues)

    undo.Undo.run = run_undo

    def begin(parts: night.Parts, *args: Any, **kwargs: Any) -> Any:
        number = next(nights)
        which = f"({number}) " if number > 1 else ""
        rooms = {"ledger": "ledger", "tracker": "github", "model": "model"}
        stepped = {part: Stepped(getattr(parts, part), f"{which}{room}", at) for part, room in rooms.items()}
        return shipped(replace(parts, **stepped), *args, **kwargs)

    night.begin = begin


def start(
    env: Mapping[str, str], argv: Sequence[str], *, die_at: str = "", tell: Path | None = None
) -> ForkServerProcess:
    """Start the program in a process of its own, which kills itself at the first step named `die_at`.

    Forked from a clean server that has imported everything: a real process, without the second of start.
    """
    process = _SERVER.Process(target=_live, args=(dict(env), list(argv), die_at, tell))
    process.start()
    return process


def _live(env: dict[str, str], argv: list[str], die_at: str, tell: Path | None) -> None:
    os.environ.update(env)
    silent = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silent, 1)
    os.dup2(silent, 2)
    if die_at:
        step_by_step(lambda step: os.kill(os.getpid(), signal.SIGKILL) if step == die_at else None)
    if tell is not None:
        step_by_step(lambda step: _tell(tell, step))
    from triagebot.cli.main import main

    os._exit(main(argv))


def _tell(file: Path, step: str) -> None:
    with file.open("a") as log:
        log.write(f"{step}\n")
