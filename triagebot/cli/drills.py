"""`drill`: the ground to stand on, the eye of the signals, and how it went, for people and for machines."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager

from triagebot.cli import signals, terminal
from triagebot.cli.boundary import ExitCode
from triagebot.cli.environment import Environment
from triagebot.cli.progress import Progress
from triagebot.drill import drill
from triagebot.drill.drill import Ground, Plan, Report
from triagebot.drill.score import Rule
from triagebot.nightly.stop import Stop


def run(env: Environment, plan: Plan, ledger: str | None, *, as_json: bool) -> int:
    """Drill on the ledger named, or on a new one beside the configured one; exit code 1 where a rule broke."""
    stop = Stop()
    console = terminal.console(sys.stderr, no_color=env.no_color)
    with _ground(env, ledger) as ground, Progress(console, quiet=as_json) as progress:
        progress.say(f"drill: {plan.processes} processes, {plan.times} rounds, {ground.told}")
        report = signals.attended(lambda: drill.run(plan, ground, progress, stop), stop)
    told = json.dumps(_as_json(report), ensure_ascii=False, indent=1) if as_json else "\n".join(_lines(report))
    sys.stdout.write(f"{told}\n")
    return ExitCode.DONE if report.held else ExitCode.INCOMPLETE


def _ground(env: Environment, ledger: str | None) -> AbstractContextManager[Ground]:
    return drill.own_ledger(env.ledger) if ledger is None else drill.given_ledger(ledger)


def _lines(report: Report) -> Iterator[str]:
    score, times = report.score, report.plan.times
    for rule in Rule:
        rounds = f"{score.held[rule]}/{times} rounds"
        yield f"  {rule:<51} {rounds:>12}  {score.checks[rule]:>5} checks"
    yield f"  another process was inside its claim while the winner was: {score.contended}/{score.rounds} rounds"
    yield f"  {report.seconds:.1f} s with {report.plan.processes} processes"
    for breach in score.breaches:
        yield terminal.plain(f"broken in round {breach.round}, {breach.rule}: {breach.seen}")
    yield _last_line(report)


def _last_line(report: Report) -> str:
    times = report.plan.times
    if report.held:
        return f"{times}/{times} single-winner"
    return f"broken in round {report.score.rounds} of {times}: run no night here, and report the lines above"


def _as_json(report: Report) -> dict[str, object]:
    score, plan = report.score, report.plan
    rules = [
        {"rule": rule.name.lower(), "says": rule, "rounds": score.held[rule], "checks": score.checks[rule]}
        for rule in Rule
    ]
    breaches = [{"rule": b.rule.name.lower(), "round": b.round, "seen": b.seen} for b in score.breaches]
    return {
        "held": report.held,
        "summary": _last_line(report),
        "times": plan.times,
        "processes": plan.processes,
        "ledger": report.ground.told,
        "seconds": round(report.seconds, 1),
        "contended": score.contended,
        "rules": rules,
        "breaches": breaches,
    }
