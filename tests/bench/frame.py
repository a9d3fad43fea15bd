"""The frame of the benchmarks: a registry, interleaved runs, ratios with their spread, a verdict for each target.

A benchmark is a generator of lines, in a module of this package (every module here is imported, so keep the
heavy imports inside the functions):

    from tests.bench.frame import Line, Setting, at_most, benchmark, interleaved, timed

    @benchmark("start", "how long the program takes to say something")
    def start(setting: Setting) -> Iterator[Line]:
        taken = interleaved(setting, {"ours": timed(version), "python -c pass": timed(bare)})
        yield Line(
            "version", "s", ours=taken.pop("ours"), against=taken,
            target=at_most(3), limit_by="the interpreter's own start",
        )

- `Setting` says how many `runs`, whether all has to be tiny (`small`), how many `rows`, and names a `folder`
  of the benchmark's own, which is removed afterwards. `setting.size(5_000_000, small=2_000)` picks one.
- `interleaved` calls each of some functions once a run, in turn, after one round that is not counted, and returns
  what they measured as one list each, so that whatever else the machine does hits all of them alike.
  `timed(work)` makes a function that returns how many seconds `work()` took, `rated(work, 200)` one that returns
  how many a second that is if `work()` does 200.
- `Line.ours` and each list of `Line.against` ("floor", "huey", ...) are in the line's unit, one value a run.
  Lists of one value stand for every run.
- `target` is a bound on the ratio of ours to the FIRST of `against`, or to the one that `to` names:
  `at_most(1.15)`, `at_least(0.6, to="floor")`. `of="difference"` bounds ours minus it, `of="value"` ours itself.
- `Line.note` says what the numbers do not. A peer that is not installed: `against` without it and a note that says so.
- A benchmark that raises is told as failed, and the next one is run.
"""

from __future__ import annotations

import math
import random
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

Measure = Callable[[], float]
Of = Literal["ratio", "difference", "value"]


@dataclass(frozen=True, kw_only=True)
class Setting:
    """What a benchmark is asked to do."""

    runs: int
    small: bool
    rows: int | None
    folder: Path

    def size(self, full: int, *, small: int) -> int:
        """As many as `--rows` asks for, or `full`, or with `--small` a number that takes no time."""
        return self.rows or (small if self.small else full)


@dataclass(frozen=True, kw_only=True)
class Target:
    """A bound on one number of a line: its ratio to a peer, the difference, or the value itself."""

    sign: Literal["<=", ">="]
    limit: float
    to: str | None = None
    of: Of = "ratio"

    def met(self, number: float) -> bool:
        return number <= self.limit if self.sign == "<=" else number >= self.limit


def at_most(limit: float, *, to: str | None = None, of: Of = "ratio") -> Target:
    return Target(sign="<=", limit=limit, to=to, of=of)


def at_least(limit: float, *, to: str | None = None, of: Of = "ratio") -> Target:
    return Target(sign=">=", limit=limit, to=to, of=of)


@dataclass(frozen=True)
class Spread:
    """Several runs of one thing."""

    median: float
    low: float
    high: float

    @classmethod
    def over(cls, values: Sequence[float]) -> Spread:
        return cls(statistics.median(values), min(values), max(values))

    def __str__(self) -> str:
        return f"{_short(self.median)} ({_short(self.low)}..{_short(self.high)})"


@dataclass(frozen=True)
class Line:
    """One thing measured: ours, beside floors and peers that were measured in the same run."""

    name: str
    unit: str
    ours: Sequence[float]
    against: Mapping[str, Sequence[float]] = field(default_factory=dict)
    target: Target | None = None
    limit_by: str = ""
    note: str = ""

    def ratio(self, other: str) -> Spread:
        """Ours to `other`, run by run."""
        return Spread.over([ours / theirs if theirs else math.inf for ours, theirs in self._pairs(other)])

    def bounded(self) -> float | None:
        """The number that the target is about; None without a target."""
        if self.target is None:
            return None
        if self.target.of == "value":
            return statistics.median(self.ours)
        other = self.target.to or next(iter(self.against))
        if self.target.of == "ratio":
            return self.ratio(other).median
        return statistics.median(ours - theirs for ours, theirs in self._pairs(other))

    def met(self) -> bool:
        """Whether the target is met; a line without one has nothing to miss."""
        number = self.bounded()
        return number is None or self.target is None or self.target.met(number)

    def verdict(self) -> str:
        """`target <= 1.15: 1.08 met`; empty without a target."""
        number = self.bounded()
        if number is None or self.target is None:
            return ""
        what = {"ratio": "", "difference": f"difference in {self.unit} ", "value": f"{self.unit} "}[self.target.of]
        said = "met" if self.met() else "MISSED"
        return f"target {what}{self.target.sign} {_short(self.target.limit)}: {_short(number)} {said}"

    def _pairs(self, other: str) -> list[tuple[float, float]]:
        theirs = self.against[other]
        runs = max(len(self.ours), len(theirs))
        return list(zip(_stretched(self.ours, runs), _stretched(theirs, runs), strict=True))


def _stretched(values: Sequence[float], runs: int) -> Sequence[float]:
    return list(values) * runs if len(values) == 1 else values


def _short(number: float) -> str:
    """Three digits that count, and no exponent."""
    if number == math.inf:
        return "infinite"
    if number == int(number) or abs(number) >= 100:
        return f"{number:,.0f}"
    return f"{number:.2f}" if abs(number) >= 1 else f"{number:.3g}" if abs(number) >= 1e-4 else f"{number:.7f}"


# --- measuring


def timed(work: Callable[[], object]) -> Measure:
    """A function that does `work` and returns the seconds that it took."""

    def seconds() -> float:
        began = time.perf_counter()
        work()
        return time.perf_counter() - began

    return seconds


def rated(work: Callable[[], object], times: int) -> Measure:
    """A function that does `work`, which does something `times` times, and returns how many a second that is."""
    seconds = timed(work)
    return lambda: times / seconds()


def interleaved(setting: Setting, measures: Mapping[str, Measure], *, warm_up: bool = True) -> dict[str, list[float]]:
    """Each of `measures` once a run, in an order that changes; a first round warms caches and is not counted."""
    taken: dict[str, list[float]] = {name: [] for name in measures}
    dice = random.Random(1)
    if warm_up and not setting.small:
        for measure in measures.values():
            measure()
    for _ in range(setting.runs):
        for name in dice.sample(list(measures), len(measures)):
            taken[name].append(measures[name]())
    return taken


# --- the registry


@dataclass(frozen=True)
class Benchmark:
    name: str
    about: str
    lines: Callable[[Setting], Iterator[Line]]


BENCHMARKS: dict[str, Benchmark] = {}


def benchmark(name: str, about: str = "") -> Callable[[Callable[[Setting], Iterator[Line]]], Benchmark]:
    """Register a generator of lines under `name`; returns the `Benchmark`, whose `lines` is that generator."""

    def registered(lines: Callable[[Setting], Iterator[Line]]) -> Benchmark:
        assert name not in BENCHMARKS, f"two benchmarks are called {name}"
        BENCHMARKS[name] = Benchmark(name, about, lines)
        return BENCHMARKS[name]

    return registered


# --- saying it


def table(name: str, lines: Sequence[Line]) -> str:
    """The lines of one benchmark for people: one row for each thing that ours is compared with."""
    rows = [row for line in lines for row in _rows(name, line)]
    widths = [max((len(row[n]) for row in rows if len(row) > 1), default=0) for n in range(4)]
    return "\n".join(
        row[0]
        if len(row) == 1
        else "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )


def _rows(name: str, line: Line) -> Iterator[tuple[str, ...]]:
    ours = f"{Spread.over(line.ours)} {line.unit}"
    beside = [
        (f"{other} {Spread.over(values)}", f"ratio {line.ratio(other)}") for other, values in line.against.items()
    ]
    for n, (theirs, ratio) in enumerate(beside or [("", "")]):
        yield (f"{name}: {line.name}", ours, theirs, ratio) if n == 0 else ("", "", theirs, ratio)
    said = (line.verdict(), line.note, line.limit_by and f"limited by {line.limit_by}")
    yield from ((f"    {text}",) for text in said if text)


def record(name: str, line: Line) -> dict[str, object]:
    """A line for machines."""
    target = line.target
    return {
        "benchmark": name,
        "name": line.name,
        "unit": line.unit,
        "ours": list(line.ours),
        "against": {other: list(values) for other, values in line.against.items()},
        "ratios": {other: vars(line.ratio(other)) for other in line.against},
        "target": target and {"of": target.of, "to": target.to, "sign": target.sign, "limit": target.limit},
        "bounded": line.bounded(),
        "met": None if target is None else line.met(),
        "limit_by": line.limit_by,
        "note": line.note,
    }
