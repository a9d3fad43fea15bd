"""Virtual time and threads that run one at a time: who goes next is drawn from the seed.

Every task is a greenlet. It gives way at each named step (`step`) and where it waits;
nothing else can interleave, so a seed replays exactly. A process that is killed loses
its tasks at their current step: whatever they try afterwards, `finally` blocks
included, raises `Killed` before it has any effect.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

from greenlet import greenlet


class Killed(BaseException):
    """SIGKILL as code sees it: nothing after it takes place."""


class Deadlock(AssertionError):
    """No task can go on and none waits for a time: the night would hang for ever."""


@dataclass(eq=False)
class Process:
    """What lives and dies together.

    It is killed at its step number `kill_at`, or at its first step of the name `kill_on`;
    it stalls for `stall_for` seconds at its first step of the name `stall_on`; at its first
    step of the name `end_on` it is told to end, by a signal: then `told` is called.
    """

    name: str
    kill_at: int | None = None
    kill_on: str = ""
    stall_on: str = ""
    stall_for: float = 0.0
    end_on: str = ""
    told: Callable[[], None] = lambda: None
    steps: int = 0
    dead: bool = False
    stalled: bool = False
    ending: bool = False

    def dies_at(self, step: str) -> bool:
        return self.steps == self.kill_at or step == self.kill_on

    def stalls_at(self, step: str) -> bool:
        return step == self.stall_on and not self.stalled

    def ends_at(self, step: str) -> bool:
        return step == self.end_on and not self.ending


@dataclass(eq=False)
class Task:
    """One thread of a process: ready when `until` holds or its time has come."""

    process: Process
    name: str
    body: greenlet
    until: Callable[[], bool] | None = None
    wake_at: float | None = None
    error: BaseException | None = None

    @property
    def done(self) -> bool:
        return bool(self.body.dead)


@dataclass
class Scheduler:
    """Runs tasks to their end. `now` is the monotonic time in seconds; `hook` is told every step."""

    random: random.Random
    now: float = 0.0
    hook: Callable[[Process, str], None] | None = None
    tasks: list[Task] = field(default_factory=list)
    killed: int = 0
    _current: Task | None = None
    _main: greenlet = field(default_factory=greenlet.getcurrent)

    def spawn(self, process: Process, name: str, work: Callable[[], None]) -> Task:
        def run() -> None:
            try:
                self._alive()
                work()
            except Killed:
                pass
            except BaseException as error:  # noqa: BLE001 - kept for whoever joins the task
                task.error = error

        task = Task(process, name, greenlet(run, parent=self._main), wake_at=self.now)
        self.tasks.append(task)
        return task

    def step(self, name: str) -> None:
        """A named step of the current task: others may go first, and here is where it can die or stall."""
        task = self._task()
        process = task.process
        self._alive()
        process.steps += 1
        if self.hook is not None:
            self.hook(process, name)
        if process.dies_at(name):
            self.killed += not process.dead
            process.dead = True
        if process.ends_at(name):
            self.killed += 1  # the answers that it waits for are lost, as with a kill
            process.ending = True
            process.told()
        if process.stalls_at(name):
            process.stalled = True
            self._park(None, self.now + process.stall_for)
        self._park(None, self.now)

    @property
    def process(self) -> Process:
        """Whose task is at work."""
        return self._task().process

    def kill(self) -> None:
        """The current process dies here, by what it does."""
        self.killed += 1
        self._task().process.dead = True
        self._alive()

    def sleep(self, seconds: float, until: Callable[[], bool] | None = None) -> None:
        """Wait for `seconds`, or until the condition holds."""
        self._park(until, self.now + max(0.0, seconds))

    def wait(self, until: Callable[[], bool]) -> None:
        """Wait for a condition alone."""
        if not until():
            self._park(until, None)

    def run(self, limit: int = 60_000) -> None:
        """Until every task has ended. Raises `Deadlock`, also after `limit` switches."""
        for _ in range(limit):
            if not self.tasks:
                return
            task = self._next()
            self._switch(task)
            if task.done:
                self.tasks.remove(task)
        raise Deadlock(f"still running after {limit} switches: {[(t.process.name, t.name) for t in self.tasks]}")

    def _next(self) -> Task:
        ready = self._ready()
        if not ready:
            times = [task.wake_at for task in self.tasks if task.wake_at is not None]
            if not times:
                raise Deadlock(f"everybody waits: {[(t.process.name, t.name) for t in self.tasks]}")
            self.now = max(self.now, min(times))
            ready = self._ready()
        return ready[0] if len(ready) == 1 else self.random.choice(ready)

    def _ready(self) -> list[Task]:
        now = self.now
        return [
            task
            for task in self.tasks
            if (task.wake_at is not None and task.wake_at <= now)
            or task.process.dead
            or (task.until is not None and task.until())
        ]

    def _switch(self, task: Task) -> None:
        self._current = task
        task.body.switch()
        self._current = None

    def _park(self, until: Callable[[], bool] | None, wake_at: float | None) -> None:
        task = self._task()
        task.until, task.wake_at = until, wake_at
        self._main.switch()
        task.until = task.wake_at = None
        self._alive()

    def _alive(self) -> None:
        if self._task().process.dead:
            raise Killed

    def _task(self) -> Task:
        assert self._current is not None, "only a task can take a step"
        return self._current
