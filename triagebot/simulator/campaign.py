"""Many histories: over all cores, by seed range, with counts that add up over sittings in a file."""

from __future__ import annotations

import json
import multiprocessing
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from triagebot.core.faults import Misconfigured
from triagebot.simulator import history, script
from triagebot.simulator.history import Result

_CHUNK = 50


@dataclass
class Tally:
    """How many histories were played, from which seed one goes on, what occurred in them and which seeds failed."""

    histories: int = 0
    next_seed: int = 0
    failed: list[int] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)

    def add(self, result: Result) -> None:
        self.histories += 1
        self.counts += result.counts
        if result.violations:
            self.failed.append(result.script.seed)

    def save(self, path: Path) -> None:
        told = {"histories": self.histories, "next_seed": self.next_seed, "failed": self.failed, "counts": self.counts}
        fresh = path.with_suffix(".new")
        fresh.write_text(json.dumps(told, indent=1, sort_keys=True), encoding="utf-8")
        fresh.replace(path)

    @classmethod
    def load(cls, path: Path, *, first_seed: int) -> Tally:
        """What earlier sittings found; a fresh tally where there is no such file. Raises `Misconfigured`."""
        if not path.exists():
            return cls(next_seed=first_seed)
        try:
            told = json.loads(path.read_text(encoding="utf-8"))
            return cls(told["histories"], told["next_seed"], told["failed"], Counter(told["counts"]))
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise Misconfigured(f"{path} is no tally of simulated histories ({error}): name another file.") from error


def play(seed: int) -> Result:
    """The history of one seed."""
    return history.run(script.draw(seed))


def run(histories: int, tally: Tally, *, jobs: int, told: Callable[[Result], None], saved: Callable[[], None]) -> None:
    """Play so many more histories; `told` hears of each, `saved` is called now and then and at the end."""
    seeds = range(tally.next_seed, tally.next_seed + histories)
    with _results(seeds, jobs) as results:
        for place, result in enumerate(results, start=1):
            tally.add(result)
            tally.next_seed = seeds[place - 1] + 1
            told(result)
            if place % (20 * _CHUNK) == 0:
                saved()
    saved()


@contextmanager
def _results(seeds: range, jobs: int) -> Iterator[Iterator[Result]]:
    if jobs == 1:
        yield map(play, seeds)
        return
    with multiprocessing.get_context("spawn").Pool(jobs) as pool:
        yield pool.imap(play, seeds, chunksize=_CHUNK)


def explain(result: Result) -> str:
    """What was violated, and the shortest history that still fails."""
    shortest = history.shrink(result.script, lambda shorter: bool(history.run(shorter).violations))
    found = "\n".join(f"  {sentence}" for sentence in history.run(shortest).violations)
    return f"seed {result.script.seed} breaks the promise; the shortest history that does:\n{shortest}\n{found}"
