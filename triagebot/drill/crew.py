"""The processes of a drill: started once, told what to do, let go at one moment, killed, replaced, and cleared away."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from triagebot.core.faults import LedgerUnusable, Misconfigured
from triagebot.drill import talk
from triagebot.drill.talk import Gate, Line, Words
from triagebot.nightly.stop import Stop

# The child finds the modules that its parent found, wherever they were installed, and nothing in the
# current folder (-P). It never sees the parent's main module.
_START = (
    "import os, sys; sys.path[:] = sys.argv.pop().split(os.pathsep); from triagebot.drill.worker import main; main()"
)


class Trouble(Exception):
    """A process did not do what it was told; the sentence says what it did instead."""


@dataclass
class Member:
    """One process. `number` counts from 1; one that replaces it keeps it. Any answer may take `patience` seconds."""

    number: int
    popen: subprocess.Popen[bytes]
    line: Line
    stop: Stop
    errors: Path
    patience: float
    new: bool = True

    @property
    def name(self) -> str:
        return f"process {self.number}"

    def tell(self, verb: str, *, meet: bool = False, **values: object) -> None:
        """Give an order, having waited until the process is ready for its first one."""
        self.be_ready()
        self.say({"verb": verb, "meet": meet, **values})

    def ask(self, verb: str, **values: object) -> Words:
        self.tell(verb, meet=False, **values)
        return self.hear()

    def say(self, words: Words) -> None:
        try:
            self.line.say(words)
        except talk.Ended as error:
            raise self._ended() from error

    def be_ready(self) -> None:
        if self.new:
            self.new = False
            self.hear()

    def hear(self) -> Words:
        """Its answer. Raises `Trouble`, or `LedgerUnusable` where the ledger cannot be used at all."""
        try:
            words = self.line.hear(patience=self.patience, stopping=lambda: self.stop.asked)
        except talk.Silent as error:
            raise Trouble(f"{self.name} gave no answer within {self.patience:g} s") from error
        except talk.Ended as error:
            raise self._ended() from error
        if words.get("unusable"):
            raise LedgerUnusable(words["unusable"])
        if words.get("raised"):
            raise Trouble(f"{self.name} raised {words['raised']}")
        return words

    def _ended(self) -> Trouble:
        return Trouble(f"{self.name} ended with exit code {self.popen.wait()}: {_last_line(self.errors)}")

    def await_death(self) -> int:
        """Wait for its end; returns its exit code, which is minus the number of the signal that killed it."""
        try:
            self.line.hear(patience=self.patience, stopping=lambda: self.stop.asked)
        except talk.Ended:
            return self.popen.wait()
        except talk.Silent:
            pass
        raise Trouble(f"{self.name} was to be killed and lives")


@dataclass
class Crew:
    """All processes, in the order of their numbers."""

    given: Mapping[str, object]
    folder: Path
    stop: Stop
    patience: float
    gate: Gate = field(default_factory=Gate)
    members: list[Member] = field(default_factory=list)

    def start(self, number: int) -> Member:
        """Start one process; it gets ready while others are started."""
        errors = self.folder / f"stderr-{number}"
        try:
            popen = self._popen(errors)
        except OSError as error:
            raise Misconfigured(
                f"drill: process {number} cannot be started ({error.strerror}); ask for fewer with --processes"
            ) from error
        assert popen.stdin is not None
        assert popen.stdout is not None
        line = Line(into=popen.stdin.fileno(), out_of=popen.stdout.fileno())
        member = Member(number, popen, line, self.stop, errors, self.patience)
        self.members.append(member)
        self.members.sort(key=lambda each: each.number)
        member.say({**self.given, "gate": self.gate.inner})
        return member

    def _popen(self, errors: Path) -> subprocess.Popen[bytes]:
        with errors.open("wb") as file:
            return subprocess.Popen(  # noqa: S603 - this Python, and no word of anybody else
                [_python(), "-P", "-c", _START, _modules()],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=file,
                pass_fds=(self.gate.inner,),
                start_new_session=True,  # Ctrl-C is for the drill, which then ends its processes
            )

    def replace(self, dead: Member) -> None:
        self.members.remove(dead)
        _close(dead)
        self.start(dead.number)

    def ready(self) -> list[Member]:
        """Those that were not started a moment ago."""
        return [member for member in self.members if not member.new]

    def others(self, *but: Member) -> list[Member]:
        return [member for member in self.members if member not in but]

    def meet(self, members: Sequence[Member], verb: str, **values: object) -> None:
        """Have all of them wait at the gate, and open it: they begin at one moment. Their answers are still to come."""
        for member in members:
            member.tell(verb, meet=True, **values)
        for member in members:
            member.hear()
        self.gate.open(len(members))

    def together(self, members: Sequence[Member], verb: str, **values: object) -> list[tuple[Member, Words]]:
        """The same, and their answers."""
        self.meet(members, verb, **values)
        return [(member, member.hear()) for member in members]

    def close(self) -> None:
        """Kill what still runs and wait for its end."""
        for member in self.members:
            member.popen.kill()
        for member in self.members:
            _close(member)
        self.members.clear()
        self.gate.close()


@contextmanager
def hired(crew: Crew) -> Iterator[Crew]:
    """The crew, of which nothing is left afterwards."""
    try:
        yield crew
    finally:
        crew.close()


def _close(member: Member) -> None:
    member.popen.wait()
    for pipe in (member.popen.stdin, member.popen.stdout):
        if pipe is not None:
            pipe.close()


def _python() -> str:
    if not sys.executable:
        raise Misconfigured("drill: this Python does not know its own path, so no process can be started with it")
    return sys.executable


def _modules() -> str:
    return os.pathsep.join(os.path.abspath(folder) for folder in sys.path)


def _last_line(errors: Path) -> str:
    lines = errors.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    return lines[-1] if lines else "it left no word"
