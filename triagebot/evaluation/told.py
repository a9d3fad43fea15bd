"""The report as JSON and as lines for a terminal. Fractions are from 0 to 1 in JSON and per cent on the screen."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from triagebot.evaluation.intervals import Interval
from triagebot.evaluation.metrics import Score
from triagebot.evaluation.scoring import COMMONEST, Figure, Gain, Report, RepoScore, SetScore, Spent, SystemScore
from triagebot.evaluation.splits import SEED
from triagebot.evaluation.thresholds import GOAL, Point

_CHOSEN_HERE = "chosen on the issues that it is measured on; on new ones expect a little less"


def as_json(report: Report) -> dict[str, Any]:
    """`macro_f1`, `repos`, `labels`, `thresholds` and `predictions`, and beside them what else was counted.

    `predictions` are in the order of the file. `truth` is a name where every issue carries exactly one
    label, else a list; `predicted` is the top label without a threshold, or null.
    """
    system = report.system
    return {
        **_system(system),
        "beside": {other.name: _system(other, whole=False) for other in report.beside},
        "examples": _gain(report.gain) if report.gain else None,
        "issues": report.issues,
        "min_confidence": report.min_confidence,
        "how": report.how,
        "seed": SEED,
        "notes": [*report.notes],
        "predictions": [
            {
                "row": p.case.row,
                "repo": p.case.repo,
                "truth": p.case.truth[0] if report.one_label else [*p.case.truth],
                "predicted": p.said.top,
                "confidence": p.said.confidence,
                **({} if report.one_label else {"chosen": [*p.said.chosen]}),
                **({"invalid": p.said.invalid} if p.said.invalid else {}),
            }
            for p in report.predictions
        ],
    }


def _system(system: SystemScore, *, whole: bool = True) -> dict[str, Any]:
    told: dict[str, Any] = {
        "system": system.name,
        "macro_f1": _number(system.macro_f1.value),
        "macro_f1_interval": _interval(system.macro_f1.interval),
        "accuracy": _figure(system.accuracy),
        "repos": {repo: _repo(score, whole=whole) for repo, score in system.repos.items()},
        "suggested": _suggested(system),
        "several_labels": _sets(system.sets) if system.sets else None,
        "spent": _spent(system.spent),
    }
    if whole:
        told |= {
            "labels": _labels(system.labels),
            "confusion": system.confusion,
            "thresholds": [_point(point) for point in system.points],
        }
    return told


def _repo(score: RepoScore, *, whole: bool) -> dict[str, Any]:
    told: dict[str, Any] = {
        "macro_f1": _number(score.macro_f1.value),
        "macro_f1_interval": _interval(score.macro_f1.interval),
        "accuracy": _figure(score.accuracy),
        "issues": score.issues,
    }
    return told | {"labels": _labels(score.labels), "confusion": score.confusion} if whole else told


def _labels(labels: Mapping[str, Score]) -> dict[str, Any]:
    return {
        name: {
            "precision": _number(score.precision),
            "recall": _number(score.recall),
            "f1": _number(score.f1),
            "support": score.support,
        }
        for name, score in labels.items()
    }


def _suggested(system: SystemScore) -> dict[str, Any]:
    """All with the goal of nine in ten: the threshold from these issues, and two that did not see what they judge."""
    point = system.suggested
    return {
        "goal": GOAL,
        "min_confidence": point.min_confidence if point else None,
        "coverage": _number(point.coverage) if point else 0.0,
        "precision": _number(point.precision) if point else None,
        "caveat": _CHOSEN_HERE,
        "cross_fitted": _point(system.cross_fitted) if system.cross_fitted else None,
        "sure_by_history": {
            **_point(system.sure),
            "coverage_interval": _interval(system.coverage_interval or (0.0, 0.0)),
        }
        if system.sure
        else None,
    }


def _gain(gain: Gain) -> dict[str, Any]:
    return {
        "issues": gain.issues,
        "macro_f1_without": _number(gain.without),
        "macro_f1_with": _number(gain.with_examples),
        "gain": _figure(gain.gain),
    }


def _sets(sets: SetScore) -> dict[str, Any]:
    silence = sets.silence
    return {
        "micro_f1": _figure(sets.micro_f1),
        "macro_f1": _figure(sets.macro_f1),
        "labels": _labels(sets.labels),
        "unlabelled": {"issues": silence.unlabelled, "rightly_silent": silence.rightly_silent},
        "labelled": {
            "issues": silence.labelled,
            "something_wrong": silence.something_wrong,
            "silent": silence.silent,
        },
    }


def _spent(spent: Spent) -> dict[str, Any]:
    return {
        "issues": spent.issues,
        "calls": spent.calls,
        "invalid": dict(spent.invalid),
        "for_100_issues": {
            "calls": _hundred(spent.calls, spent),
            "tokens_in": _hundred(spent.tokens_in, spent),
            "tokens_out": _hundred(spent.tokens_out, spent),
            "usd": _hundred(spent.usd, spent),
        },
    }


def _hundred(value: float | None, spent: Spent) -> float | None:
    return None if value is None else round(100 * value / max(1, spent.issues), 4)


def _point(point: Point) -> dict[str, Any]:
    return {
        "min_confidence": round(point.min_confidence, 4),
        "coverage": _number(point.coverage),
        "precision": _number(point.precision),
        "set": point.set,
    }


def _figure(figure: Figure) -> dict[str, Any]:
    return {"value": _number(figure.value), "interval": _interval(figure.interval)}


def _interval(interval: Interval) -> list[float]:
    return [round(end, 4) for end in interval]


def _number(value: float | None) -> Any:
    """Six digits: enough to compute it again, and no noise of the processor's."""
    return None if value is None else round(value, 6)


# --- for people


def lines(report: Report) -> Iterator[str]:
    """The same in a screenful."""
    system = report.system
    yield f"{system.name}: {report.how}"
    yield from (f"  note: {note}" for note in report.notes)
    yield f"  macro-F1 {_shown(system.macro_f1)}, the top label without a threshold"
    for other in report.beside:
        yield f"    beside it, {other.name}: {_shown(other.macro_f1)}"
    if report.gain:
        low, high = report.gain.gain.interval
        yield f"  examples change macro-F1 by {report.gain.gain.value:+.3f} (95 %: {low:+.3f} to {high:+.3f})"
    yield from _repo_lines(system)
    yield from _label_lines(system.labels)
    if len(system.labels) <= 8:
        yield from _confusion_lines(system.confusion)
    yield from _threshold_lines(system)
    for one in (system, *report.beside):
        if one.sets:
            yield from _set_lines(one.name, one.sets, report.min_confidence)
    yield from _cost_lines(report)


def _shown(figure: Figure) -> str:
    low, high = figure.interval
    return f"{figure.value:.3f} (95 %: {low:.3f} to {high:.3f})"


def _repo_lines(system: SystemScore) -> Iterator[str]:
    if len(system.repos) > 1:
        wide = max(len(repo) for repo in system.repos)
        for repo, score in system.repos.items():
            yield f"    {repo:<{wide}}  {_shown(score.macro_f1)}, {score.issues} issues"


def _label_lines(labels: Mapping[str, Score]) -> Iterator[str]:
    wide = max([5, *(len(name) for name in labels)])
    yield f"  {'label':<{wide}}  precision  recall     F1  support"
    for name, s in labels.items():
        yield f"  {name:<{wide}}  {s.precision:>9.3f}  {s.recall:>6.3f}  {s.f1:>5.3f}  {s.support:>7}"


def _confusion_lines(confusion: Mapping[str, Mapping[str, int]]) -> Iterator[str]:
    names = sorted({name for row in confusion.values() for name in row} | set(confusion))
    wide = max(len(name) for name in [*names, "people said"])
    yield f"  {'people said':<{wide}}  predicted: {', '.join(names)}"
    for name, row in confusion.items():
        yield f"  {name:<{wide}}  {' '.join(f'{row.get(other, 0):>5}' for other in names)}"


def _threshold_lines(system: SystemScore) -> Iterator[str]:
    yield "  min_confidence  coverage  precision"
    for point in system.points[40:100:10]:
        yield f"  {point.min_confidence:>14.2f}  {_percent(point.coverage):>8}  {_percent(point.precision):>9}"
    if system.suggested is None:
        yield f"  no threshold reaches a precision of {_percent(GOAL)}"
    else:
        found = system.suggested
        yield f"  suggested min_confidence: {found.min_confidence:.2f}; {_bought(found)} ({_CHOSEN_HERE})"
    if system.cross_fitted:
        yield f"  chosen on the other folds instead: {_bought(system.cross_fitted)}"
    if system.sure:
        yield f"  sure by the bar that its history gave: {_bought(system.sure)}"


def _bought(point: Point) -> str:
    return f"{_percent(point.coverage)} get a label, at a precision of {_percent(point.precision)}"


def _set_lines(name: str, sets: SetScore, bar: float) -> Iterator[str]:
    quiet = sets.silence
    what = name if name == COMMONEST else f"{name}, all labels at {bar:g}"
    yield f"  {what}: micro-F1 {_shown(sets.micro_f1)}, macro-F1 {_shown(sets.macro_f1)}"
    yield f"    says nothing on {quiet.rightly_silent} of {quiet.unlabelled} issues that nobody labelled;"
    yield (
        f"    of {quiet.labelled} labelled ones, something wrong on {quiet.something_wrong}, nothing on {quiet.silent}"
    )


def _cost_lines(report: Report) -> Iterator[str]:
    for one in (report.system, *report.beside):
        spent = one.spent
        if spent.calls or spent.invalid:
            wrong = sum(spent.invalid.values())
            kinds = f" ({', '.join(f'{n} {kind}' for kind, n in spent.invalid.items())})" if wrong else ""
            yield f"  {one.name}: {wrong} invalid answers of {spent.issues}{kinds}"
            yield f"    for 100 issues: {_cost(spent)}"


def _cost(spent: Spent) -> str:
    parts = [f"{_hundred(spent.calls, spent):g} calls"]
    for name, value in (("tokens in", spent.tokens_in), ("tokens out", spent.tokens_out)):
        parts.append(f"{name} unknown" if value is None else f"{_hundred(value, spent):.0f} {name}")
    usd = _hundred(spent.usd, spent)
    return ", ".join([*parts, "no model.price is set" if usd is None else f"{usd:.4f} USD"])


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.1f} %"
