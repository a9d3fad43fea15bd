"""From predictions to a report: every number that is shown, with its interval, once for people and machines alike."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from triagebot.core.verdict import Usage
from triagebot.evaluation import intervals, metrics, thresholds
from triagebot.evaluation.cases import Prediction, Said, by_repo, commonest, one_label
from triagebot.evaluation.intervals import Interval
from triagebot.evaluation.metrics import Outcome, Score, Silence
from triagebot.evaluation.splits import Trial
from triagebot.evaluation.thresholds import Point

COMMONEST = "always the commonest label"

_NOWHERE: Interval = (0.0, 0.0)


@dataclass(frozen=True, slots=True)
class Figure:
    """A measure and its 95 % interval."""

    value: float
    interval: Interval


@dataclass(frozen=True, kw_only=True, slots=True)
class RepoScore:
    """One repository: macro-F1 and accuracy of the top label, over `issues` that people labelled."""

    macro_f1: Figure
    accuracy: Figure
    issues: int
    labels: Mapping[str, Score]
    confusion: Mapping[str, Mapping[str, int]]


@dataclass(frozen=True, kw_only=True, slots=True)
class SetScore:
    """All labels that would be set at the threshold of the settings, against all that people gave, over every issue."""

    micro_f1: Figure
    macro_f1: Figure
    labels: Mapping[str, Score]
    silence: Silence


@dataclass(frozen=True, kw_only=True, slots=True)
class Spent:
    """What the answers took. `issues` is how many were predicted; tokens are `None` where nobody tells them."""

    issues: int
    calls: int
    tokens_in: int | None
    tokens_out: int | None
    usd: float | None
    invalid: Mapping[str, int]


@dataclass(frozen=True, kw_only=True, slots=True)
class SystemScore:
    """One predictor on the test issues.

    `macro_f1` is the mean over repositories of the macro-F1 of the top label without a threshold, over the
    issues that people labelled. `sets` is only there where issues carry several labels or none.
    """

    name: str
    macro_f1: Figure
    accuracy: Figure
    repos: Mapping[str, RepoScore]
    labels: Mapping[str, Score]
    confusion: Mapping[str, Mapping[str, int]]
    points: Sequence[Point]
    suggested: Point | None
    cross_fitted: Point | None
    sure: Point | None
    coverage_interval: Interval | None
    sets: SetScore | None
    spent: Spent


@dataclass(frozen=True, kw_only=True, slots=True)
class Gain:
    """What examples are worth: macro-F1 without and with them, and the difference on the same `issues`."""

    issues: int
    without: float
    with_examples: float
    gain: Figure


@dataclass(frozen=True, kw_only=True, slots=True)
class Report:
    """The system in question, what stands beside it, its predictions, and words about how it was measured."""

    system: SystemScore
    beside: Sequence[SystemScore]
    predictions: Sequence[Prediction]
    one_label: bool
    issues: int
    min_confidence: float
    how: str
    gain: Gain | None = None
    notes: Sequence[str] = field(default=())


@dataclass(frozen=True, slots=True)
class Price:
    """USD for a million tokens; zero for both means that no price is known."""

    input: float = 0.0
    output: float = 0.0

    def of(self, tokens_in: int | None, tokens_out: int | None) -> float | None:
        if not (self.input or self.output) or (tokens_in is None and tokens_out is None):
            return None
        return ((tokens_in or 0) * self.input + (tokens_out or 0) * self.output) / 1e6


_FREE = Price()


def score(name: str, predictions: Sequence[Prediction], *, price: Price = _FREE) -> SystemScore:
    """Count everything. Deterministic; the intervals take about a second for 1,500 issues."""
    strata = {repo: metrics.top_outcomes(ours) for repo, ours in by_repo(predictions).items()}
    strata = {repo: outcomes for repo, outcomes in strata.items() if outcomes}
    measures = partial(_top_measures, sizes=_sizes(strata))
    found, spread = measures(strata), intervals.bootstrap(strata, measures)
    figures = {key: Figure(value, spread.get(key, _NOWHERE)) for key, value in found.items()}
    pooled = sum(strata.values(), Counter[Outcome]())
    points = thresholds.curve(predictions)
    sure = thresholds.sure(predictions)
    return SystemScore(
        name=name,
        macro_f1=figures["macro_f1"],
        accuracy=figures["accuracy"],
        repos={repo: _repo(outcomes, repo, figures) for repo, outcomes in strata.items()},
        labels=metrics.per_label(pooled),
        confusion=metrics.confusion(pooled),
        points=points,
        suggested=thresholds.suggested(points),
        cross_fitted=thresholds.cross_fitted(predictions),
        sure=sure,
        coverage_interval=_coverage_interval(predictions) if sure else None,
        sets=None if one_label([p.case for p in predictions]) else _sets(predictions),
        spent=_spent(predictions, price),
    )


def _sizes(strata: Mapping[str, Counter[Outcome]]) -> dict[str, int]:
    """How many labels occur in each repository. A rare one that a bootstrap round happens to miss counts as 0 there:
    left out, a round without the hard labels would pass for a better predictor."""
    return {repo: len(metrics.per_label(outcomes)) for repo, outcomes in strata.items()}


def _top_measures(strata: Mapping[str, Counter[Outcome]], sizes: Mapping[str, int]) -> dict[str, float]:
    found = {f"macro_f1 {repo}": metrics.macro_f1(outcomes, sizes[repo]) for repo, outcomes in strata.items()}
    macro = metrics.mean([*found.values()])
    found |= {f"accuracy {repo}": metrics.accuracy(outcomes) for repo, outcomes in strata.items()}
    return found | {"macro_f1": macro, "accuracy": metrics.accuracy(sum(strata.values(), Counter[Outcome]()))}


def _repo(outcomes: Counter[Outcome], repo: str, figures: Mapping[str, Figure]) -> RepoScore:
    return RepoScore(
        macro_f1=figures[f"macro_f1 {repo}"],
        accuracy=figures[f"accuracy {repo}"],
        issues=outcomes.total(),
        labels=metrics.per_label(outcomes),
        confusion=metrics.confusion(outcomes),
    )


def _coverage_interval(predictions: Sequence[Prediction]) -> Interval:
    strata = {repo: Counter(bool(p.said.sure) for p in ours) for repo, ours in by_repo(predictions).items()}

    def coverage(drawn: Mapping[str, Counter[bool]]) -> dict[str, float]:
        covered = sum(counts[True] for counts in drawn.values())
        return {"coverage": covered / sum(counts.total() for counts in drawn.values())}

    return intervals.bootstrap(strata, coverage)["coverage"]


def _sets(predictions: Sequence[Prediction]) -> SetScore:
    strata = {repo: metrics.chosen_outcomes(ours) for repo, ours in by_repo(predictions).items()}
    measures = partial(_set_measures, sizes=_sizes(strata))
    found, spread = measures(strata), intervals.bootstrap(strata, measures)
    pooled = sum(strata.values(), Counter[Outcome]())
    return SetScore(
        micro_f1=Figure(found["micro_f1"], spread["micro_f1"]),
        macro_f1=Figure(found["macro_f1"], spread["macro_f1"]),
        labels=metrics.per_label(pooled),
        silence=metrics.silence(pooled),
    )


def _set_measures(strata: Mapping[str, Counter[Outcome]], sizes: Mapping[str, int]) -> dict[str, float]:
    pooled = sum(strata.values(), Counter[Outcome]())
    macro = metrics.mean([metrics.macro_f1(outcomes, sizes[repo]) for repo, outcomes in strata.items()])
    return {"micro_f1": metrics.micro_f1(pooled), "macro_f1": macro}


def _spent(predictions: Sequence[Prediction], price: Price) -> Spent:
    usage = sum((p.said.usage for p in predictions), Usage())
    invalid = Counter(p.said.invalid for p in predictions if p.said.invalid)
    return Spent(
        issues=len(predictions),
        calls=usage.requests,
        tokens_in=usage.tokens_in,
        tokens_out=usage.tokens_out,
        usd=price.of(usage.tokens_in, usage.tokens_out),
        invalid=dict(sorted(invalid.items())),
    )


Pair = tuple[Outcome, Outcome]


def gain(without: Sequence[Prediction], with_examples: Sequence[Prediction]) -> Gain:
    """The difference of two predictors on the same cases. Each issue is drawn with both its answers, so what is hard
    for both moves neither."""
    other = {(p.fold, p.case.row): p for p in with_examples}
    strata = {
        repo: Counter(pair for p in ours for pair in _pair(p, other[p.fold, p.case.row]))
        for repo, ours in by_repo(without).items()
    }
    strata = {repo: pairs for repo, pairs in strata.items() if pairs}
    sizes = [_sizes({repo: _side(pairs, side) for repo, pairs in strata.items()}) for side in (0, 1)]
    measures = partial(_gain_measures, sizes=sizes)
    found, spread = measures(strata), intervals.bootstrap(strata, measures)
    return Gain(
        issues=sum(counts.total() for counts in strata.values()),
        without=found["without"],
        with_examples=found["with"],
        gain=Figure(found["with"] - found["without"], spread["gain"]),
    )


def _pair(one: Prediction, other: Prediction) -> list[Pair]:
    """Nothing for an issue that nobody labelled."""
    first, second = metrics.top_outcomes([one]), metrics.top_outcomes([other])
    return list(zip(first, second, strict=True))


def _gain_measures(strata: Mapping[str, Counter[Pair]], sizes: Sequence[Mapping[str, int]]) -> dict[str, float]:
    without, with_examples = (
        metrics.mean([metrics.macro_f1(_side(pairs, side), sizes[side][repo]) for repo, pairs in strata.items()])
        for side in (0, 1)
    )
    return {"without": without, "with": with_examples, "gain": with_examples - without}


def _side(pairs: Counter[Pair], side: int) -> Counter[Outcome]:
    found: Counter[Outcome] = Counter()
    for pair, number in pairs.items():
        found[pair[side]] += number
    return found


def always_commonest(trials: Sequence[Trial]) -> list[Prediction]:
    """What a predictor without eyes gets: the label that is commonest in each repository's history, on every issue."""
    return [prediction for fold, trial in enumerate(trials) for prediction in _constant(trial, fold)]


def _constant(trial: Trial, fold: int) -> list[Prediction]:
    best = {repo: commonest(cases) for repo, cases in by_repo(trial.history).items()}
    return [Prediction(case, _always(best.get(case.repo)), fold) for case in trial.test]


def _always(found: tuple[str, float] | None) -> Said:
    return Said(votes=(found,), chosen=(found[0],)) if found else Said()


def by_row(predictions: Sequence[Prediction]) -> list[Prediction]:
    return sorted(predictions, key=lambda p: p.case.row)
