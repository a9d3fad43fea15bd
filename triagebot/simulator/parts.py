"""The night's ports in the simulated world: clock, threads, ledger and model. The tracker has a file of its own."""

from __future__ import annotations

import json
import random
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from triagebot.core.faults import LeaseLost, LedgerBusy, LedgerUnusable, ModelUnreachable, ModelUnusable
from triagebot.core.prompt import Question
from triagebot.core.rows import Claim, OutboxRow, Unclaimed
from triagebot.core.verdict import Reply, Usage
from triagebot.ledger.ledger import Ledger
from triagebot.nightly.stop import Stop
from triagebot.simulator.scheduler import Process, Scheduler, Task

if TYPE_CHECKING:
    from triagebot.simulator.world import World

LABELS = ("bug", "question", "enhancement")


def fitting(title: str) -> tuple[str, ...]:
    """What the model answers about a text: its first word decides, openly. `none` fits nothing, `refuse` is refused."""
    word = title.split(" ", 1)[0]
    return (word,) if word in LABELS else ()


@dataclass
class SimClock:
    """`jump` is how far the wall clock is off the monotonic one: it may be set forward and back."""

    scheduler: Scheduler
    wall: Callable[[], float]
    stop: Stop

    def now(self) -> datetime:
        return datetime.fromtimestamp(self.wall(), UTC)

    def monotonic(self) -> float:
        return self.scheduler.now

    def sleep(self, seconds: float) -> None:
        self.scheduler.sleep(seconds, lambda: self.stop.asked)

    def wait(self, event: threading.Event, seconds: float) -> None:
        self.scheduler.sleep(seconds, event.is_set)


@dataclass
class SimHand:
    """A thread of a night as a task of the scheduler."""

    scheduler: Scheduler
    process: Process
    name: str
    work: Callable[[], None]
    stop: Stop
    task: Task | None = None

    def start(self) -> None:
        self.task = self.scheduler.spawn(self.process, self.name, self.work)

    def come_home(self, seconds: float | None = None) -> bool:
        """Waits for the thread, or for a signal: polling costs real programs little, and a simulation much."""
        task = self.task
        assert task is not None
        self.scheduler.wait(lambda: task.done or task.error is not None or self.stop.signal is not None)
        if self.stop.signal is not None and not task.done:
            self.scheduler.sleep(seconds or 0.0, lambda: task.done)
        if task.error is not None:
            raise task.error
        return task.done


class SimLedger:
    """The shipped ledger, with a step before each call; notes what was told to a worker that had lost its lease."""

    def __init__(self, ledger: Ledger, world: World) -> None:
        self._ledger = ledger
        self._world = world

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._ledger, name)
        if not callable(method):
            return method

        def call(*args: Any, **kwargs: Any) -> Any:
            self._world.scheduler.step(f"ledger.{name}")
            self._world.counts[f"ledger.{name}"] += 1
            held = args[0] if args and isinstance(args[0], Claim | OutboxRow) else None
            self._fail(name)
            late = held is not None and not self._world.watch.fenced(self._ledger, held)
            try:
                answer = method(*args, **kwargs)
            except LeaseLost:
                self._world.counts["lease lost"] += 1
                raise
            if late:
                self._world.violate(f"ledger.{name} by a worker that had lost its lease")
            self._notice(name, args, answer)
            return answer

        return call

    def _fail(self, name: str) -> None:
        """Locked for too long, or a disk that is full: nothing of the call took place."""
        world = self._world
        if world.weather.ledger and world.random.random() < world.weather.ledger:
            world.counts[f"ledger failed: {name}"] += 1
            if world.random.random() < 0.7:
                raise LedgerBusy("simulated lock")
            raise LedgerUnusable("simulated full disk")

    def _notice(self, name: str, args: tuple[Any, ...], answer: object) -> None:
        if isinstance(answer, Claim):
            self._world.watch.claimed(self._ledger, answer.ref)
        if isinstance(answer, Unclaimed):
            self._world.counts[f"unclaimed: {answer.value}"] += 1
        if name == "lift_silence":
            self._world.watch.lifted.add((args[0], args[1]))
        if name == "close_gate":
            self._world.gate_closed_at = self._world.scheduler.now


@dataclass
class SimModel:
    """Answers by `fitting`, slowly, and sometimes not at all. `asked` counts the answers given, by text."""

    scheduler: Scheduler
    random: random.Random
    trouble: float
    counts: Counter[str]
    asked: Counter[str] = field(default_factory=Counter)
    questions: Counter[str] = field(default_factory=Counter)
    calls: Counter[Process] = field(default_factory=Counter)
    poison: int = 0

    def ask(self, question: Question) -> Reply:
        self.scheduler.step("model.ask")
        self.calls[self.scheduler.process] += 1
        self.scheduler.sleep(self.random.uniform(0.5, 20.0))
        title = str(json.loads(question.user)["title"])
        self.questions[title] += 1
        if self.poison and title.split()[1] == str(self.poison):
            self.counts["poisoned"] += 1
            self.scheduler.kill()
        if self.random.random() < self.trouble:
            return self._fail(title)
        self.asked[title] += 1
        self.counts["model answered"] += 1
        if title.startswith("refuse"):
            return self._reply({"content": None, "refusal": "no"})
        votes = [{"name": name, "confidence": 0.9, "reason": "by its first word"} for name in fitting(title)]
        return self._reply({"content": json.dumps({"labels": votes})})

    def _fail(self, title: str) -> Reply:
        what = self.random.choice(["garbage", "unreachable", "limited", "unusable", "truncated"])
        self.counts[f"model {what}"] += 1
        if what == "unusable":
            raise ModelUnusable("the simulated endpoint is gone", requests=1)
        if what in {"unreachable", "limited"}:
            raise ModelUnreachable("the simulated endpoint is down", requests=1, blameless=what == "limited")
        self.asked[title] += 1
        return self._reply({"content": "well"}, finish="length" if what == "truncated" else "stop")

    def _reply(self, message: dict[str, object], finish: str = "stop") -> Reply:
        envelope = {"choices": [{"message": message, "finish_reason": finish}]}
        return Reply(envelope=envelope, usage=Usage(requests=1), model="simulated")
