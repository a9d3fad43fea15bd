"""Many histories: over all cores, by seed range, with counts that add up over sittings in a file."""

from __future__ import annotations

import json
import multiprocessing
import signal
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from triagebot.core.faults import Misconfigured
from triagebot.simulator import history, spread
from triagebot.simulator.history import Result

_CHUNK = 10
_SAVED_EVERY = 1_000


@dataclass
class Tally:
    """How many histories were played, from which seed one goes on, what occurred in them and which seeds failed.

    `repos` is the number of repositories that each of them is about.
    """

    histories: int = 0
    next_seed: int = 0
    failed: list[int] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    repos: int = 1

    def add(self, result: Result) -> None:
        self.histories += 1
        self.counts += result.counts
        if result.violations:
            self.failed.append(result.script.seed)

    def save(self, path: Path) -> None:
        """Write it beside and move it there, so that no kill leaves half a file. Raises `Misconfigured`."""
        told = {"histories": self.histories, "next_seed": self.next_seed, "failed": self.failed, "counts": self.counts}
        told["repos"] = self.repos
        fresh = path.with_name(f"{path.name}.new")
        try:
            fresh.write_text(json.dumps(told, indent=1, sort_keys=True), encoding="utf-8")
            fresh.replace(path)
        except OSError as error:
            raise Misconfigured(f"{path} cannot be written ({error.strerror}): name another file.") from error

    @classmethod
    def load(cls, path: Path, *, first_seed: int, repos: int = 1) -> Tally:
        """What earlier sittings found; a fresh tally where there is no such file. Raises `Misconfigured`."""
        if not path.exists():
            return cls(next_seed=first_seed, repos=repos)
        found = cls._read(path)
        if found.repos != repos:
            raise Misconfigured(
                f"{path} counts histories about {found.repos} at a time: go on with --repos {found.repos}, "
                "or name another file."
            )
        return found

    @classmethod
    def _read(cls, path: Path) -> Tally:
        try:
            told = json.loads(path.read_text(encoding="utf-8"))
            histories, next_seed, repos = (int(told[name]) for name in ("histories", "next_seed", "repos"))
            return cls(histories, next_seed, list(told["failed"]), Counter(told["counts"]), repos)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise Misconfigured(f"{path} is no tally of simulated histories ({error!r}): name another file.") from error


def play(seed: int, repos: int = 1, folder: Path | None = None) -> Result:
    """The history of one seed; its files lie in `folder` while it lasts."""
    return history.run(spread.draw(seed, repos), folder)


def run(
    histories: int,
    tally: Tally,
    *,
    jobs: int,
    told: Callable[[Result], None],
    saved: Callable[[], None],
    stopped: Callable[[], bool] = lambda: False,
) -> None:
    """Play so many more histories; `told` hears of each, `saved` is called now and then and at the end.

    Ends early, with what was played so far in the tally, once `stopped` says so.
    """
    seeds = range(tally.next_seed, tally.next_seed + histories)
    with _results(seeds, tally.repos, jobs) as results:
        for place, result in enumerate(results, start=1):
            tally.add(result)
            tally.next_seed = seeds[place - 1] + 1
            told(result)
            over = stopped()
            if over or place % _SAVED_EVERY == 0:
                saved()  # before the processes are ended, which may take longer than the caller has
            if over:
                return
    saved()


@contextmanager
def _results(seeds: range, repos: int, jobs: int) -> Iterator[Iterator[Result]]:
    if jobs == 1:
        yield map(partial(play, repos=repos), seeds)
        return
    # One folder for all: processes that are ended in the middle of a history leave theirs behind.
    with (
        tempfile.TemporaryDirectory(prefix="triagebot-sim-", dir=history.memory()) as place,
        multiprocessing.get_context("spawn").Pool(jobs, _leave_signals_to_the_parent) as pool,
    ):
        yield pool.imap(partial(play, repos=repos, folder=Path(place)), seeds, chunksize=_CHUNK)


def _leave_signals_to_the_parent() -> None:
    """Ctrl-C on a terminal reaches every process of the group."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def explain(seed: int, repos: int = 1) -> str:
    """What the history of a failing seed violates, and the shortest one that still fails."""
    shortest = history.shrink(spread.draw(seed, repos), lambda shorter: bool(history.run(shorter).violations))
    found = "\n".join(f"  {sentence}" for sentence in history.run(shortest).violations)
    return f"seed {seed} breaks the promise; the shortest history that does:\n{shortest}\n{found}"
