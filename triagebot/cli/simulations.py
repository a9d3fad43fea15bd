"""`drill --simulate`: histories of the shipped night in a world that obeys a seed, told to people and to machines."""

from __future__ import annotations

import importlib.util
import json
import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from triagebot.cli import signals, terminal
from triagebot.cli.boundary import ExitCode
from triagebot.cli.environment import Environment
from triagebot.cli.progress import Progress
from triagebot.core.faults import Misconfigured
from triagebot.nightly.stop import Stop

if TYPE_CHECKING:
    from triagebot.simulator.campaign import Tally
    from triagebot.simulator.history import Result


@dataclass(frozen=True, kw_only=True, slots=True)
class Order:
    """So many histories from that seed on, each about `repos` repositories; `resume` is the file in which sittings
    add up, and tells where to go on."""

    histories: int
    seed: int = 0
    repos: int = 1
    jobs: int | None = None
    resume: Path | None = None

    @property
    def hands(self) -> int:
        """Processes to play with: no more than there are cores, or histories to share."""
        cores = len(os.sched_getaffinity(0))
        return min(self.jobs or cores, max(1, self.histories // 10))


def run(env: Environment, order: Order, *, as_json: bool) -> int:
    """Play the histories; exit code 1 where one does not come to the rest that the promise names."""
    _need_the_extra()
    from triagebot.simulator.campaign import Tally

    tally = Tally(next_seed=order.seed, repos=order.repos)
    if order.resume:
        tally = Tally.load(order.resume, first_seed=order.seed, repos=order.repos)
    if order.resume:
        tally.save(order.resume)  # a file that cannot be written is better known now than after the sitting
    started, first = time.monotonic(), tally.next_seed
    shortest = _attended(env, order, tally, quiet=as_json)
    seconds = time.monotonic() - started
    if as_json:
        told = json.dumps(_as_json(tally, first, shortest, seconds), ensure_ascii=False, indent=1)
    else:
        told = "\n".join(_lines(tally, first, shortest, seconds))
    sys.stdout.write(f"{told}\n")
    return ExitCode.INCOMPLETE if tally.failed else ExitCode.DONE


def _attended(env: Environment, order: Order, tally: Tally, *, quiet: bool) -> str:
    """Play with an ear for signals; the shortest history that fails comes back in words, or nothing."""
    from triagebot.simulator import campaign

    stop, console = Stop(), terminal.console(sys.stderr, no_color=env.no_color)
    with Progress(console, quiet=quiet) as progress:

        def told(result: Result) -> None:
            progress.advance()
            if result.violations:
                progress.say(f"seed {result.script.seed} breaks the promise: {result.violations[0]}")

        def saved() -> None:
            if order.resume:
                tally.save(order.resume)

        def play() -> str:
            campaign.run(order.histories, tally, jobs=order.hands, told=told, saved=saved, stopped=lambda: stop.asked)
            return campaign.explain(tally.failed[0], order.repos) if tally.failed and not stop.asked else ""

        progress.stage(f"simulate, from seed {tally.next_seed}", order.histories)
        return signals.attended(play, stop)


def _lines(tally: Tally, first: int, shortest: str, seconds: float) -> list[str]:
    counts = tally.counts
    kills = sum(number for what, number in counts.items() if what.startswith("kill") or what == "poisoned")
    twins = sum(number for what, number in counts.items() if what.startswith("twin by"))
    lines = [
        f"  seeds {first} to {tally.next_seed - 1} in {seconds:.1f} s",
        f"  {counts['event: night']} nights, {kills} of them to be killed; {_writes(tally)} writes",
        f"  {twins} twins for a while, in the windows that the promise names",
    ]
    return [*lines, *(terminal.plain(line) for line in shortest.splitlines()), _summary(tally)]


def _writes(tally: Tally) -> int:
    return sum(number for what, number in tally.counts.items() if what.startswith("send.") and ":" not in what)


def _summary(tally: Tally) -> str:
    held = tally.histories - len(tally.failed)
    told = f"{held}/{tally.histories} histories at rest as promised"
    if not tally.failed:
        return told
    seeds = ", ".join(map(str, tally.failed[:10]))
    return f"{told}; seeds that break the promise: {seeds}{', ...' if len(tally.failed) > 10 else ''}"


def _as_json(tally: Tally, first: int, shortest: str, seconds: float) -> dict[str, object]:
    return {
        "held": not tally.failed,
        "summary": _summary(tally),
        "histories": tally.histories,
        "repos": tally.repos,
        "first_seed": first,
        "next_seed": tally.next_seed,
        "failed": tally.failed,
        "shortest": shortest or None,
        "seconds": round(seconds, 1),
        "counts": dict(sorted(tally.counts.items())),
    }


def _need_the_extra() -> None:
    if importlib.util.find_spec("greenlet") is None:
        raise Misconfigured("--simulate needs the extra of that name: pip install -e '.[simulate]'.")
