"""`run` and `deliver`: one repository or several, which share a night's budget, and what they come to."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from triagebot.cli import answering, histories, nights, pages, signals, summary, wiring
from triagebot.cli.answering import Answers
from triagebot.cli.boundary import ExitCode, Told
from triagebot.cli.config import Config
from triagebot.cli.environment import Environment
from triagebot.cli.progress import Named, Progress
from triagebot.cli.wiring import Choices, Output
from triagebot.core.faults import Misconfigured
from triagebot.history.index import HistoryIndex
from triagebot.ledger.ledger import Ledger
from triagebot.nightly.night import Parts
from triagebot.nightly.rehearsal import DryRun
from triagebot.nightly.report import Tally
from triagebot.nightly.settings import Orders, Settings
from triagebot.nightly.stop import Stop, SystemClock
from triagebot.nightly.tour import Site, Tour
from triagebot.nightly.tour import Told as Toured

if TYPE_CHECKING:
    from triagebot.github.tracker import GitHubTracker


def run(env: Environment, choices: Choices, orders: Orders, output: Output) -> int:
    """A night over all repositories asked for. Returns the exit code; raises what ended it early."""
    config = wiring.read_config(choices)
    if not _are_several(config, choices):
        return nights.run(config, env, choices, orders, output)
    if choices.issues:
        raise Misconfigured("--issue N belongs to one repository, and several are named: give --repo OWNER/NAME once.")
    return _run(config, env, choices, orders, output)


def _are_several(config: Config, choices: Choices) -> bool:
    """A file of issues stands for one repository. What an owner has is told as several, however many it is."""
    if choices.source is not None:
        if choices.orgs or len(choices.repos) > 1:
            raise Misconfigured("--from FILE stands for one repository: give --repo OWNER/NAME once, or leave it away.")
        return False
    return bool(choices.orgs) or len({name.casefold() for name in choices.repos or config.repos}) > 1


@dataclass
class _Places:
    """Builds what the nights of the several repositories need, each when its turn comes."""

    config: Config
    env: Environment
    choices: Choices
    ledger: Ledger
    answers: Answers
    history: HistoryIndex | None
    progress: Progress
    rehearsed: dict[str, DryRun] = field(default_factory=dict)
    _trackers: dict[str, GitHubTracker] = field(default_factory=dict)

    def site(self, name: str) -> Site:
        return Site(
            name=name,
            parts=lambda stop: self._parts(name, stop),
            tally=Tally(Named(self.progress, name)),
            hang_up=lambda: self._hang_up(name),
        )

    def _parts(self, name: str, stop: Stop) -> Parts:
        real = wiring.tracker(self.config, self.env, replace(self.choices, repo=name, repos=(), orgs=()))
        self._trackers[name] = real
        if self.choices.dry_run:
            self.rehearsed[name] = DryRun(real, self.env.github_api_url, "")
        answering = self.answers()
        return Parts(
            ledger=self.ledger,
            tracker=self.rehearsed.get(name, real),
            model=answering.model,
            pupil=answering.pupil,
            history=self.history,
            clock=SystemClock(stop),
            stop=stop,
        )

    def _hang_up(self, name: str) -> None:
        if name in self._trackers:
            self._trackers[name].close()


def _run(config: Config, env: Environment, choices: Choices, orders: Orders, output: Output) -> int:
    settings = wiring.settings(config, env, choices)
    stop = Stop()
    with ExitStack() as stack:
        history = stack.enter_context(histories.opened(config, env, choices))
        asked = answering.opened(config, env, stop, history) if orders.triage else nullcontext(answering.nobody)
        answers = stack.enter_context(asked)
        names = wiring.repositories(config, env, choices)
        ledger = stack.enter_context(nights.opened(env, choices, settings))
        progress = stack.enter_context(nights.watched(env, output))
        places = _Places(config, env, choices, ledger, answers, history, progress)
        tour = _tour(places, _longest_unseen_first(names, ledger), settings, orders, stop)
        told = signals.attended(tour.run, stop)
    as_named = {each.name: each for each in told}
    return _tell([as_named[name] for name in names], stop, places, output)


def _longest_unseen_first(names: Sequence[str], ledger: Ledger) -> list[str]:
    """As they are named, but for those that the last nights did not reach: a limit or the deadline that is met on the
    way would be met at the same place every night, and what comes after it would never be served."""
    nights = ledger.last_nights()
    return sorted(names, key=lambda name: nights.get(name.casefold(), 0))


def _tour(places: _Places, names: Sequence[str], settings: Settings, orders: Orders, stop: Stop) -> Tour:
    sites = (places.site(name) for name in names)
    return Tour(sites, settings, orders, SystemClock(stop), stop, places.progress)


def _tell(told: Sequence[Toured], stop: Stop, places: _Places, output: Output) -> int:
    """Tell the summaries, in the place that cannot be closed first. Raises what stopped all, once it is told."""
    env = places.env
    if isinstance(stop.fault, Misconfigured) and not any(e.summary and nights.did_something(e.summary) for e in told):
        raise stop.fault
    shown = [summary.discreet_told(each, env.redact) for each in told]
    if env.step_summary is not None:
        pages.add(env.step_summary, pages.of_many(shown, env.site))
    if output.json:
        json.dump(_as_json(shown, places), sys.stdout, ensure_ascii=False, indent=1)
        sys.stdout.write("\n")
    else:
        requests = [line for tracker in places.rehearsed.values() for line in nights.shown(tracker)]
        sys.stdout.write("\n".join([*requests, *summary.all_lines(shown)]) + "\n")
    if stop.fault is not None:
        raise Told(stop.fault)
    return _code(told)


def _as_json(told: Sequence[Toured], places: _Places) -> dict[str, Any]:
    if not places.choices.dry_run:
        return summary.all_as_json(told, places.env.site)
    summaries = [each.summary for each in told if each.summary]
    return {"repos": [_rehearsed(each, places) for each in told], "counts": dict(summary.totals(summaries))}


def _rehearsed(told: Toured, places: _Places) -> dict[str, object]:
    fault = {"fault": str(told.fault)} if told.fault else {}
    tracker = places.rehearsed.get(told.name)
    night = nights.payloads(tracker, told.summary) if tracker and told.summary else {"payloads": [], "counts": {}}
    return {"repo": told.name} | night | fault


def _code(told: Sequence[Toured]) -> int:
    """What nobody could work on for want of a setting or a right is a matter of the settings; else the worst counts.

    Raises `Misconfigured`, as one that is told, where that goes for all of them.
    """
    faults = [each.fault for each in told if each.fault]
    if told and all(isinstance(fault, Misconfigured) for fault in faults) and len(faults) == len(told):
        none = f"none of the {len(told)} repositories could be worked on. {told[0].name}: {faults[0]}"
        raise Told(Misconfigured(none))
    worked = [each.summary for each in told if each.summary]
    whole = not faults and len(worked) == len(told) and not any(night.tally.incomplete for night in worked)
    return ExitCode.DONE if whole else ExitCode.INCOMPLETE
