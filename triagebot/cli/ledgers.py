"""`status`, `show`, `retry` and `ledger`: what the ledger knows, and a second chance. Reads no network."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, date, datetime
from enum import Enum
from pathlib import Path
from typing import Any

from triagebot.cli import durations, terminal
from triagebot.cli.boundary import ExitCode
from triagebot.cli.environment import Environment
from triagebot.core.faults import Misconfigured
from triagebot.ledger import address as addresses
from triagebot.ledger import opening
from triagebot.ledger.ledger import Ledger
from triagebot.ledger.outcomes import Score, Scores
from triagebot.ledger.reports import Entry, NightReport, Status

_LEAST_KEPT = 7 * 86_400.0
_LEAST_KEPT_TOLD = "7d"
_MOST_SCORES = 20
_LOST = "not known"  # the answer behind a label was pruned before the label was seen
_HIDDEN = frozenset({"repo_id", "issue", "votes", "payload", "verdict"})


def status(env: Environment, repo: str | None, *, max_age: float | None, as_json: bool) -> int:
    """Print where the work stands; exit code 1 where the last good night is older than `max_age` seconds."""
    with _glanced_at(env) as ledger:
        known = ledger.status(repo, whole=as_json)  # people are not shown what is settled
    age = _age(known.last_good)
    if as_json:
        _print_json(_plain(asdict(known)) | {"age": age, "waiting": known.waiting, "dead": known.dead})
    else:
        _print(_status_lines(known, age))
    return _alarm(age, max_age)


def _alarm(age: float | None, max_age: float | None) -> int:
    if max_age is None or (age is not None and age <= max_age):
        return ExitCode.DONE
    late = "there has been no good night yet"
    if age is not None:
        late = f"the last good night was {_rough(age)} ago, more than {durations.format(max_age)}"
    sys.stderr.write(f"triagebot: {late}: look at the scheduler and its logs.\n")
    return ExitCode.INCOMPLETE


def _age(last_good: datetime | None) -> float | None:
    return None if last_good is None else max(0.0, (datetime.now(UTC) - last_good).total_seconds())


def _rough(seconds: float) -> str:
    return durations.format(round(seconds / 60) * 60 if seconds >= 60 else round(seconds))


def _status_lines(known: Status, age: float | None) -> Iterator[str]:
    yield f"last good night: {'none yet' if age is None else f'{known.last_good:%Y-%m-%d %H:%M}Z, {_rough(age)} ago'}"
    yield f"writes waiting: {known.waiting}, to be looked after: {known.unknown}"
    yield f"issues failed: {known.failed}, dead (until `triagebot retry`): {known.dead}"
    usage = known.usage
    saved = f", {known.saved} answers without a call" if known.saved else ""
    yield f"model: {usage.requests} requests, {usage.tokens_in or 0} tokens in, {usage.tokens_out or 0} out{saved}"
    yield "nights, newest first:"
    yield from (_night_line(night) for night in known.nights)
    yield "done per day, newest first:"
    for day in known.days:
        ends = f"{day.labelled} labelled, {day.nothing_fits} nothing fits, {day.failed} failed"
        yield f"  {day.day}  {day.done} done: {ends}"
    yield from _score_lines(known.outcomes)


def _score_lines(scores: Scores) -> Iterator[str]:
    """What people did with the labels, counted three ways; nothing where nothing was noted yet."""
    if not scores.labels:
        return
    yield "what people did with the labels that were set:"
    tables = {"label": scores.labels, "prompt": scores.prompts, "model": scores.models}
    width = max(len(score.name) for table in tables.values() for score in table[:_MOST_SCORES])
    for title, table in tables.items():
        yield from _score_table(title, table, max(width, len(_LOST)))
    if undone := sum(score.undone for score in scores.labels):
        yield f"  not counted: {undone} that `triagebot undo` or another program took off"


def _score_table(title: str, scores: Sequence[Score], width: int) -> Iterator[str]:
    shown = scores[:_MOST_SCORES]
    yield f"  {title:{width}}  {'set':>6}  {'kept':>5}  {'removed':>7}  {'replaced':>8}  since"
    for score in shown:
        kept, removed, replaced = (f"{100 * share:.0f}%" for share in score.shares.values()) if score.shares else "---"
        counts = f"{score.counted:6}  {kept:>5}  {removed:>7}  {replaced:>8}"
        yield f"  {score.name or _LOST:{width}}  {counts}  {score.since:%Y-%m-%d}"
    if len(scores) > len(shown):
        yield f"  and {len(scores) - len(shown)} more: --format json shows them all"


def _night_line(night: NightReport) -> str:
    how = night.how or ("running, or killed" if night.finished_at is None else "?")
    counts = ", ".join(f"{number} {name.replace('_', ' ')}" for name, number in night.counts.items() if number)
    return f"  {night.id}  {night.started_at:%Y-%m-%d %H:%M}Z  {night.repo}  {how}  {counts}"


def show(env: Environment, repo: str | None, issue: int, *, as_json: bool) -> int:
    """Print everything known of one issue, oldest first; exit code 1 where nothing is."""
    with _glanced_at(env) as ledger:
        entries = ledger.history(_repo_id(ledger, repo or env.github_repository), issue)
    if as_json:
        _print_json([_plain(asdict(entry)) for entry in entries])
    else:
        _print([_entry_line(entry) for entry in entries])
    if not entries:
        sys.stderr.write(f"triagebot: the ledger knows nothing of issue {issue}.\n")
    return ExitCode.DONE if entries else ExitCode.INCOMPLETE


def _entry_line(entry: Entry) -> str:
    facts = {name: value for name, value in entry.fields.items() if value not in {None, "", 0} and name not in _HIDDEN}
    told = " ".join(f"{name}={value}" for name, value in facts.items() if value not in {entry.at, entry.what})
    return f"{entry.at}  {entry.kind:9}  {entry.what:12}  {told}".rstrip()


def retry(env: Environment, repo: str | None, issue: int | None) -> int:
    """Give dead and failed work new tries."""
    with _opened(env) as ledger:
        name = repo or env.github_repository
        repo_id = _repo_id(ledger, name) if name or issue else None
        given = ledger.retry(repo_id, issue)
    _print([f"{given} given new tries; the next night takes them up"])
    return ExitCode.DONE


def backup(env: Environment, target: Path) -> int:
    """Copy the ledger to a new file."""
    source = opening.backup(env.ledger, target)
    _print([f"copied {source} to {target} ({target.stat().st_size} bytes)"])
    return ExitCode.DONE


def repository_id(env: Environment, name: str) -> int:
    """The id that the ledger knows a repository by. Raises `Misconfigured` where no night worked on it."""
    with _opened(env) as ledger:
        return _repo_id(ledger, name)


def copy(env: Environment, source: str, target: str) -> int:
    """Put all that one ledger knows into another, empty one."""
    from triagebot.cli.progress import Progress

    with Progress(terminal.console(sys.stderr, no_color=env.no_color)) as progress:
        copied = opening.copy(source, target, watcher=progress)
    rows = ", ".join(f"{count} {table}" for table, count in copied.rows.items())
    _print(
        [
            f"copied {addresses.parse(source)} to {addresses.parse(target)}: {rows}",
            f"read back and compared, digest {copied.digest}; set TRIAGEBOT_LEDGER to the new one, and keep the old "
            "one until a night has gone well",
        ]
    )
    return ExitCode.DONE


def prune(env: Environment, *, older_than: float) -> int:
    """Drop what is old and no night needs."""
    if older_than < _LEAST_KEPT:
        raise Misconfigured(
            f"--older-than {durations.format(older_than)} is too short; keep {_LEAST_KEPT_TOLD} or more."
        )
    with _opened(env) as ledger:
        dropped = ledger.prune(older_than=older_than)
    _print(["dropped " + ", ".join(f"{count} {table}" for table, count in dropped.items())])
    return ExitCode.DONE


def _repo_id(ledger: Ledger, name: str | None) -> int:
    """The repository meant: the one named, or the only one that the ledger knows."""
    known = ledger.repositories()
    if name is None and len(known) == 1:
        return known[0][0]
    found = [repo_id for repo_id, called in known if name is not None and called.casefold() == name.casefold()]
    if found:
        return found[-1]
    names = ", ".join(called for _, called in known) or "none"
    raise Misconfigured(f"--repo {name or 'is missing'}: the ledger knows these repositories: {names}.")


@contextmanager
def _opened(env: Environment) -> Iterator[Ledger]:
    with opening.open_ledger(env.ledger, must_exist=True) as ledger:
        yield ledger


@contextmanager
def _glanced_at(env: Environment) -> Iterator[Ledger]:
    """To tell a little of it, whose damage elsewhere the next night finds."""
    with opening.open_ledger(env.ledger, must_exist=True, searched=False) as ledger:
        yield ledger


def _print(lines: Iterator[str] | list[str]) -> None:
    sys.stdout.write("".join(f"{terminal.plain(line)}\n" for line in lines))


def _print_json(told: object) -> None:
    sys.stdout.write(json.dumps(told, ensure_ascii=False, indent=1) + "\n")


def _plain(value: Any) -> Any:
    """Records as JSON knows them: times as ISO-8601, words for enum members, lists for tuples."""
    match value:
        case Mapping():
            return {str(name): _plain(member) for name, member in value.items()}
        case tuple() | list():
            return [_plain(member) for member in value]
        case datetime() | date():
            return value.isoformat()
        case Enum():
            return value.value
    return value
