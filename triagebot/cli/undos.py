"""`undo`: take back what a night wrote, or what stands on an issue, and tell what stays and why."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace

from triagebot.cli import nights, pages, signals, terminal, wiring
from triagebot.cli.boundary import ExitCode
from triagebot.cli.environment import Environment
from triagebot.cli.wiring import Choices, Output
from triagebot.core.faults import Misconfigured
from triagebot.ledger.ledger import Ledger
from triagebot.ledger.reports import NightReport
from triagebot.nightly import place
from triagebot.nightly.pacer import Pacer
from triagebot.nightly.ports import Tracker
from triagebot.nightly.rehearsal import DryRun
from triagebot.nightly.report import Observer
from triagebot.nightly.settings import Settings
from triagebot.nightly.stop import Stop, SystemClock
from triagebot.nightly.undo import Fate, Undo, Undone


@dataclass(frozen=True, kw_only=True, slots=True)
class Wish:
    """What is to be taken back: what one night wrote (its number in `status`), or all that stands on `issues`."""

    night: int | None = None
    issues: tuple[int, ...] = ()


def run(env: Environment, choices: Choices, wish: Wish, output: Output) -> int:
    """Undo, or a dry run of it. Exit code 1 where something was held, failed or is left; told which.

    Raises what ended it early, after what was taken back has been told.
    """
    if (wish.night is None) == (not wish.issues):
        raise Misconfigured("say what to undo: either --night N (`triagebot status` lists them) or --issue N.")
    config = wiring.read_config(choices)
    settings = wiring.settings(config, env, choices)
    stop = Stop()
    with ExitStack() as stack:
        ledger = stack.enter_context(nights.opened(env, choices, settings, must_exist=True))
        meant = _night(ledger, wish.night, choices.repo)
        chosen = choices if meant is None else replace(choices, repo=meant.repo)
        real = wiring.tracker(config, env, chosen)
        tracker = DryRun(real, env.github_api_url, "") if choices.dry_run else real
        observer = stack.enter_context(nights.watched(env, output))
        undo = _undo(ledger, tracker, settings, stop, observer, meant)
        issues = ledger.issues_written(meant.id) if meant else tuple(dict.fromkeys(wish.issues))
        undone, end = _carried_out(undo, issues, stop)
    code = _tell(undone, undo.repository.name, tracker, env, output)
    if end is not None:
        raise end
    return code


def _carried_out(undo: Undo, issues: Sequence[int], stop: Stop) -> tuple[list[Undone], BaseException | None]:
    """What became of the issues, and what ended it early; raised at once where nothing was taken back before."""
    undone: list[Undone] = []
    note = undone.append

    def work() -> None:
        for each in undo.run(issues):  # one by one: what was done is known also when the rest does not come
            note(each)

    try:
        signals.attended(work, stop)
    except BaseException as end:
        if not any(each.labels or each.comments for each in undone):
            raise
        return undone, end
    return undone, None


def _night(ledger: Ledger, number: int | None, repo: str | None) -> NightReport | None:
    if number is None:
        return None
    night = ledger.night(number)
    if night is None:
        raise Misconfigured(f"--night {number}: the ledger knows no such night; `triagebot status` lists them.")
    if repo is not None and repo.casefold() != night.repo.casefold():
        raise Misconfigured(
            f"--night {number} worked on {night.repo}, not on {repo}: leave --repo away, or correct it."
        )
    return night


def _undo(
    ledger: Ledger, tracker: Tracker, settings: Settings, stop: Stop, observer: Observer, night: NightReport | None
) -> Undo:
    repository = tracker.repository()
    place.check(repository)
    if night is not None and night.repo_id != repository.id:
        raise Misconfigured(f"--night {night.id}: {night.repo} is another repository than it was in that night.")
    identity, clock = tracker.identity(), SystemClock(stop)
    deadline = clock.monotonic() + settings.deadline
    pacer = Pacer(ledger, tracker.account, settings.pace, clock, stop, deadline, lambda _: None)
    return Undo(ledger, tracker, pacer, stop, observer, repository, identity, night.id if night else None)


def _tell(undone: Sequence[Undone], repo: str, tracker: Tracker, env: Environment, output: Output) -> int:
    rehearsed = isinstance(tracker, DryRun)
    undone = [
        replace(each, stays=tuple(map(env.redact, each.stays)), reason=env.redact(each.reason)) for each in undone
    ]
    if env.step_summary is not None:
        pages.add(env.step_summary, _page(repo, undone, rehearsed=rehearsed))
    if output.json:
        told = [asdict(each) | {"fate": each.fate.value} for each in undone]
        counts = _counts(undone)
        payloads = {"payloads": tracker.payloads} if isinstance(tracker, DryRun) else {}
        sys.stdout.write(json.dumps(payloads | {"issues": told, "counts": counts}, ensure_ascii=False, indent=1) + "\n")
    else:
        lines = [*nights.shown(tracker), *map(terminal.plain, _lines(undone, rehearsed=rehearsed))]
        sys.stdout.write("\n".join(lines) + "\n")
    return ExitCode.INCOMPLETE if any(each.incomplete for each in undone) else ExitCode.DONE


def _counts(undone: Sequence[Undone]) -> dict[str, int]:
    return {
        "issues": sum(each.fate is Fate.UNDONE for each in undone),
        "labels": sum(len(each.labels) for each in undone),
        "comments": sum(len(each.comments) for each in undone),
        "incomplete": sum(each.incomplete for each in undone),
    }


def _lines(undone: Sequence[Undone], *, rehearsed: bool) -> Iterator[str]:
    if not undone:
        yield "that night wrote to no issue, or `ledger prune` has dropped its journal; undo --issue N needs none"
    for each in undone:
        yield _line(each)
        yield from (f"  stays: {what}" for what in each.stays)
    counts = _counts(undone)
    would = "would be " if rehearsed else ""
    yield (
        f"{would}undone on {counts['issues']} issues: {counts['labels']} labels taken off, "
        f"{counts['comments']} comments deleted"
    )
    if counts["incomplete"]:
        yield f"not complete on {counts['incomplete']} issues: the same command goes on from here"


def _page(repo: str, undone: Sequence[Undone], *, rehearsed: bool) -> str:
    """The step summary: names of labels and what servers said stand in code spans, where they never act."""
    page = pages.Page()
    page.put(f"### triagebot undo: {repo}", "")
    for line in _lines(undone, rehearsed=rehearsed):
        page.put(f"- {pages.code(line)}")
    return str(page)


def _line(each: Undone) -> str:
    did = [f"took off {name}" for name in each.labels] + [f"deleted comment {number}" for number in each.comments]
    what = ", ".join(did) or each.fate.value
    trouble = f"; {each.fate.value}: {each.reason}" if each.incomplete else ""
    return f"issue {each.issue}: {what}{trouble}"
