"""Where `eval` takes its issues from: files become cases, cases become trials, and what cannot work is said."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from triagebot.core import export, policy, text
from triagebot.core.faults import Misconfigured
from triagebot.core.issue import Label
from triagebot.core.past import Past
from triagebot.core.policy import LabelPolicy
from triagebot.evaluation import splits
from triagebot.evaluation.cases import Case, by_repo
from triagebot.evaluation.splits import Trial

_LARGEST = 2 * 1024**3
"""Bytes of a file that is read whole. 200 MB take some 2 GB of memory while they are read."""

_SHARE = 0.8
"""Of the issues, the oldest, that are learnt from where nobody says otherwise."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Sources:
    """What to replay: a history and a test, or one file, or what the index holds of a repository, to be split.

    `split` is the share of the oldest.
    """

    history: Path | None = None
    test: Path | None = None
    source: Path | None = None
    repo: str | None = None
    split: float | None = None
    folds: int | None = None
    limit: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """The trials, and in words how they came about and what was left out."""

    trials: Sequence[Trial]
    how: str
    notes: tuple[str, ...]


Indexed = Callable[[str], Sequence[Past]]
"""The labelled issues that the index holds of a repository, by its name."""


def plan(sources: Sources, labels: LabelPolicy, indexed: Indexed) -> Plan:
    """Read the issues and split them. Raises `Misconfigured` in one sentence, before anything is paid for."""
    _check(sources)
    if sources.source is not None:
        made = _one_pile(read_cases(sources.source), sources.source.name, sources, labels)
    elif sources.repo is not None:
        made = _one_pile(_from_index(indexed(sources.repo), sources.repo), sources.repo, sources, labels)
    else:
        assert sources.history is not None
        assert sources.test is not None
        made = _two_files(sources.history, sources.test, labels)
    if sources.limit is None:
        return made
    trials = splits.sample(made.trials, sources.limit)
    size = sum(len(trial.test) for trial in trials)
    return replace(made, trials=trials, how=f"{made.how}; a sample of {size}")


def _check(sources: Sources) -> None:
    piles = [bool(sources.history or sources.test), sources.source is not None, sources.repo is not None]
    if sum(piles) > 1:
        raise Misconfigured("--history with --test, --from and --repo are three ways to name the issues: give one.")
    if not any(piles) or (piles[0] and not (sources.history and sources.test)):
        raise Misconfigured(
            "nothing to replay: give --history FILE and --test FILE, or --from FILE or --repo OWNER/NAME to be split."
        )
    if piles[0] and (sources.split is not None or sources.folds is not None):
        raise Misconfigured("--split and --folds divide one file: give it with --from instead of --history and --test.")
    if sources.split is not None and sources.folds is not None:
        raise Misconfigured("--split and --folds are two ways to divide: give one.")


def _one_pile(read: list[Case], name: str, sources: Sources, labels: LabelPolicy) -> Plan:
    [cases], notes = _within([read], labels)
    _worth_it(cases, name)
    if sources.folds is not None:
        trials = splits.folds(cases, sources.folds)
        how = f"{sources.folds} folds of {len(cases)} issues of {name}, each repository learnt on its own"
        return Plan(trials=trials, how=how, notes=notes)
    trial = splits.by_time(cases, _SHARE if sources.split is None else sources.split)
    first = min(case.created_at for case in trial.test if case.created_at)
    how = f"learnt from the oldest {len(trial.history)} issues of {name}, judged on the newest {len(trial.test)}"
    return Plan(trials=[trial], how=f"{how}, from {first:%Y-%m-%d} on", notes=notes)


def _from_index(past: Sequence[Past], name: str) -> list[Case]:
    """Oldest first. Issues that nobody labelled are not in the index, so saying nothing cannot be judged here."""
    if not past:
        raise Misconfigured(
            f"the index holds no issue of {name}: let a night read it (history.use: on), or give an export with --from."
        )
    return [
        Case(row=row, title=p.title, body=p.body, truth=p.labels, repo=name, number=p.number, created_at=p.created_at)
        for row, p in enumerate(reversed(past))
    ]


def _two_files(history: Path, test: Path, labels: LabelPolicy) -> Plan:
    (learnt, held), notes = _within([read_cases(history), read_cases(test)], labels)
    _worth_it(learnt, history.name)
    _labelled(held, test.name)
    strangers = sorted(by_repo(held).keys() - by_repo(learnt).keys())
    if strangers:
        shown = ", ".join(name or "rows without a repository" for name in strangers[:3])
        raise Misconfigured(
            f"{test.name} has issues of {shown}, of which {history.name} has none: each repository is learnt from "
            "its own history, so take them out or add theirs."
        )
    how = f"learnt from {len(learnt)} issues of {history.name}, judged on {len(held)} of {test.name}"
    return Plan(trials=[Trial(tuple(learnt), tuple(held))], how=how, notes=notes)


def read_cases(path: Path) -> list[Case]:
    """The issues of an export as cases, in its order, with every label that they carry."""
    return [
        Case(
            row=row,
            title=text.canonical(issue.title),
            body=text.canonical(issue.body),
            truth=issue.labels,
            repo=issue.repo or "",
            number=issue.number,
            created_at=issue.created_at,
        )
        for row, issue in export.decode_rows(_bytes(path), path.name)
    ]


def _bytes(path: Path) -> bytes:
    try:
        if path.stat().st_size > _LARGEST:
            raise Misconfigured(f"{path} is larger than {_LARGEST // 1024**3} GiB: give a part of it.")
        return path.read_bytes()
    except OSError as error:
        raise Misconfigured(f"{path} cannot be read: {error.strerror}.") from error


def _within(files: Sequence[list[Case]], labels: LabelPolicy) -> tuple[list[list[Case]], tuple[str, ...]]:
    """The cases with those labels only that the settings allow: nothing else may ever be set, or is to be learnt."""
    counts = Counter(name for cases in files for case in cases for name in case.truth)
    may = {label.name for label in policy.usable(labels, [Label(name=name) for name in counts])}
    kept = [[replace(case, truth=tuple(n for n in case.truth if n in may)) for case in cases] for cases in files]
    never = [f"{name} ({number})" for name, number in counts.most_common() if name not in may]
    notes = (f"the settings never set these labels, so they do not count: {', '.join(never)}",) if never else ()
    return kept, notes


def _worth_it(cases: Sequence[Case], name: str) -> None:
    _labelled(cases, name)
    kinds = {case.truth for case in cases}
    if len(kinds) < 2:
        raise Misconfigured(
            f"every issue of {name} has the same label ({', '.join(*kinds)}): there is nothing to tell apart, so give "
            "a file with at least two labels."
        )


def _labelled(cases: Sequence[Case], name: str) -> None:
    if not any(case.truth for case in cases):
        raise Misconfigured(
            f"{name} holds no label that may be set: it needs a column label or labels, filled by people."
        )
