"""Shows how a night goes: a bar on a terminal, a plain line now and then elsewhere. Decides nothing."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as RichProgress

from triagebot.cli import terminal


@dataclass
class _Stage:
    name: str
    total: int | None
    done: int = 0
    shown: int | None = None
    shown_at: float = 0.0

    def __str__(self) -> str:
        if self.total is not None:
            return f"{self.name}: {self.done} of {self.total}"
        return f"{self.name}: {self.done}" if self.done else self.name


class Progress:
    """An observer of a night, safe to call from every thread; a context manager, which takes the bar away again.

    Without a terminal a stage is told when it starts, when it ends and in between at most once
    in `every` seconds. `quiet` shows nothing at all; `clean` takes out of a line what nobody may see.
    """

    def __init__(
        self,
        console: Console,
        *,
        quiet: bool = False,
        every: float = 5.0,
        clock: Callable[[], float] = time.monotonic,
        clean: Callable[[str], str] = str,
    ) -> None:
        self._console = console
        self._quiet = quiet
        self._every = every
        self._clock = clock
        self._clean = clean
        self._lock = threading.Lock()
        self._stage: _Stage | None = None
        self._bar = _bar(console) if console.is_terminal and not console.is_dumb_terminal and not quiet else None

    def __enter__(self) -> Progress:
        if self._bar:
            self._bar.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        with self._lock:
            self._end_stage()
        if self._bar:
            self._bar.stop()

    def stage(self, name: str, total: int | None = None) -> None:
        """Begin a part of the night; `total` is how many steps it has, where that is known."""
        with self._lock:
            self._end_stage()
            self._stage = _Stage(name=terminal.plain(name), total=total)
            if self._bar:
                self._bar.add_task(self._stage.name, total=total)
            else:
                self._tell(self._stage)

    def advance(self, steps: int = 1) -> None:
        """Count steps of the stage as done."""
        with self._lock:
            if self._stage is None:
                return
            self._stage.done += steps
            if self._bar:
                self._bar.advance(self._bar.task_ids[-1], steps)
            elif self._clock() - self._stage.shown_at >= self._every:
                self._tell(self._stage)

    def say(self, line: str) -> None:
        """Show one line, above the bar where there is one."""
        if not self._quiet:
            self._console.print(terminal.plain(self._clean(line)), soft_wrap=True)

    def _end_stage(self) -> None:
        if self._stage is None:
            return
        if self._bar:
            self._bar.remove_task(self._bar.task_ids[-1])
        elif self._stage.shown != self._stage.done:
            self._tell(self._stage)
        self._stage = None

    def _tell(self, stage: _Stage) -> None:
        stage.shown, stage.shown_at = stage.done, self._clock()
        self.say(str(stage))


class Named:
    """An observer of one repository's night among several: says whose line it is, and leaves shared stages alone."""

    def __init__(self, progress: Progress, repo: str) -> None:
        self._progress = progress
        self._repo = repo

    def stage(self, name: str, total: int | None = None) -> None:
        if name == "sweep":
            self._progress.stage(f"{self._repo}: {name}", total)

    def advance(self, steps: int = 1) -> None:
        self._progress.advance(steps)

    def say(self, line: str) -> None:
        self._progress.say(f"{self._repo}: {line}")


def _bar(console: Console) -> RichProgress:
    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn())
    return RichProgress(*columns, TimeElapsedColumn(), console=console, transient=True)
