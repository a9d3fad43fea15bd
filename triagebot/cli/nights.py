"""A night over one repository: build the parts, run it under the eye of the signals, tell how it went.

What `run` and `deliver` do with one or many is decided in `tours`, which uses the pieces of this file, too.
"""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext

from triagebot.cli import answering, histories, pages, signals, summary, terminal, wiring
from triagebot.cli.boundary import ExitCode, Told
from triagebot.cli.config import Config
from triagebot.cli.environment import Environment, Redacting
from triagebot.cli.progress import Progress
from triagebot.cli.wiring import Choices, Output
from triagebot.core.faults import Misconfigured
from triagebot.ledger import opening
from triagebot.ledger.ledger import Ledger
from triagebot.nightly import night
from triagebot.nightly.night import Parts
from triagebot.nightly.ports import Tracker
from triagebot.nightly.rehearsal import DryRun
from triagebot.nightly.report import Summary, Tally
from triagebot.nightly.settings import Orders, Settings
from triagebot.nightly.stop import Stop, SystemClock


def run(config: Config, env: Environment, choices: Choices, orders: Orders, output: Output) -> int:
    """One night, or a dry run of one. Returns the exit code; raises what ended the night early."""
    settings = wiring.settings(config, env, choices)
    stop = Stop()
    with ExitStack() as stack:
        history = stack.enter_context(histories.opened(config, env, choices))
        asked = answering.opened(config, env, stop, history) if orders.triage else nullcontext(answering.nobody)
        answers = stack.enter_context(asked)()
        tracker = _tracker(config, env, choices)
        ledger = stack.enter_context(opened(env, choices, settings))
        tally = Tally(stack.enter_context(watched(env, output)))
        clock = SystemClock(stop)
        parts = Parts(
            ledger=ledger,
            tracker=tracker,
            model=answers.model,
            pupil=answers.pupil,
            history=history,
            clock=clock,
            stop=stop,
        )
        ended = signals.attended(lambda: night.run(parts, settings, orders, tally), stop)
    return _tell(ended, stop, tracker, env, output)


def _tracker(config: Config, env: Environment, choices: Choices) -> Tracker:
    if choices.source is not None:
        return wiring.from_file(env, choices, choices.source)
    real = wiring.tracker(config, env, choices)
    return DryRun(real, env.github_api_url, "") if choices.dry_run else real


@contextmanager
def opened(env: Environment, choices: Choices, settings: Settings, *, must_exist: bool = False) -> Iterator[Ledger]:
    """The ledger; for a dry run a copy that is thrown away, for a file an empty one. `must_exist` creates none."""
    if choices.source is not None:
        ledger = opening.throwaway()
    elif choices.dry_run:
        ledger = opening.throwaway_copy(env.ledger)
    else:
        ledger = opening.open_ledger(
            env.ledger, must_exist=must_exist, settle=settings.pace.settle, connections=settings.workers
        )
    try:
        yield ledger
    finally:
        ledger.close()


@contextmanager
def watched(env: Environment, output: Output) -> Iterator[Progress]:
    """The bar or the lines, and beside them the log of the edges, both on stderr and without secrets."""
    console = terminal.console(sys.stderr, no_color=env.no_color)
    handler = logging.StreamHandler(sys.stderr)
    handler.addFilter(Redacting(env.secrets))
    handler.setFormatter(logging.Formatter("%(name)s: %(message)s"))
    log = logging.getLogger("triagebot")
    log.setLevel(logging.DEBUG if output.verbose else logging.WARNING)
    log.addHandler(handler)
    try:
        with Progress(console, quiet=output.json and not output.verbose, clean=env.redact) as progress:
            yield progress
    finally:
        log.removeHandler(handler)


def _tell(ended: Summary, stop: Stop, tracker: Tracker, env: Environment, output: Output) -> int:
    """Tell the summary, in the place that cannot be closed first. Raises what stopped the night, after all is told."""
    if isinstance(stop.fault, Misconfigured) and not did_something(ended):
        raise stop.fault
    ended = summary.discreet(ended, env.redact)
    if env.step_summary is not None:
        pages.add(env.step_summary, pages.of_one(ended, env.site))
    if output.json:
        told = payloads(tracker, ended) if isinstance(tracker, DryRun) else summary.as_json(ended, env.site)
        json.dump(told, sys.stdout, ensure_ascii=False, indent=1)  # as it comes: `dumps` keeps every piece of it
        sys.stdout.write("\n")
    else:
        lines = [*shown(tracker), *summary.lines(ended)]
        sys.stdout.write("\n".join(lines) + "\n")
    if stop.fault is not None:
        raise Told(stop.fault)
    return ExitCode.INCOMPLETE if ended.tally.incomplete else ExitCode.DONE


def did_something(ended: Summary) -> bool:
    """Whether anything was written to the tracker."""
    counts = ended.tally.counts
    return any(counts[name] for name in ("labels_written", "comments_posted", "comments_edited", "twins_removed"))


def payloads(tracker: DryRun, ended: Summary) -> dict[str, object]:
    """What a dry run tells machines."""
    return {"payloads": tracker.payloads, "counts": dict(ended.tally.totals())}


def shown(tracker: Tracker) -> list[str]:
    """The exact requests of a dry run, for people: one line each, the body as JSON."""
    if not isinstance(tracker, DryRun):
        return []
    return [
        terminal.plain(f"{p['method']} {p['url']} {json.dumps(p['body'], ensure_ascii=False)}")
        for p in tracker.payloads
    ]
