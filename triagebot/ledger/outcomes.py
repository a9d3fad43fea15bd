"""What became of the labels that were set: noted from a sweep, and counted for people."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from triagebot.core.outcomes import SKEW, Fate, LabelOutcome
from triagebot.ledger.statements import Row, Transaction

_VERDICTS = (Fate.KEPT, Fate.REMOVED, Fate.REPLACED)


@dataclass(frozen=True, kw_only=True, slots=True)
class Score:
    """What people did with the labels of one name, one prompt or one model.

    `counted` is `kept`, `removed` and `replaced` together, and what `shares` (0 to 1, empty where nothing counts) are
    shares of; `undone` by a program is nobody's verdict. `since` is when the first of them was set. `name` is "" where
    the run is no longer known.
    """

    name: str
    counted: int
    kept: int
    removed: int
    replaced: int
    undone: int
    shares: Mapping[str, float]
    since: datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class Scores:
    """The same labels counted three ways, each with the commonest first."""

    labels: Sequence[Score] = ()
    prompts: Sequence[Score] = ()
    models: Sequence[Score] = ()


def known(tx: Transaction, repo_id: int, since: datetime) -> tuple[LabelOutcome, ...]:
    return tuple(_outcome(row) for row in tx.all("known_outcomes", repo_id=repo_id, since=_stored(since)))


def note(tx: Transaction, repo_id: int, changed: Iterable[LabelOutcome]) -> None:
    """Holds no issue, for nothing else touches these rows; in one order, so that two nights never wait in a circle."""
    ordered = sorted(changed, key=lambda outcome: (outcome.issue, outcome.label))
    tx.each("note_outcome", [{"repo_id": repo_id, **_row(outcome)} for outcome in ordered])


def scores(tx: Transaction, repo_id: int) -> Scores:
    """Of one repository, or of all with 0."""
    rows = tx.all("scores", repo_id=repo_id)
    return Scores(
        labels=_by(rows, lambda row: str(row["label"]).casefold()),
        prompts=_by(rows, lambda row: row["prompt"] or "", named="prompt"),
        models=_by(rows, lambda row: row["model"] or "", named="model"),
    )


@dataclass
class _Count:
    name: str
    since: str
    labels: dict[Fate, int] = field(default_factory=lambda: dict.fromkeys(Fate, 0))


def _by(rows: Sequence[Row], key: Callable[[Row], str], named: str = "label") -> tuple[Score, ...]:
    counts: dict[str, _Count] = {}
    for row in sorted(rows, key=lambda row: row["since"], reverse=True):  # a name is shown as it was spelt last
        count = counts.setdefault(key(row), _Count(row[named] or "", row["since"]))
        count.labels[Fate(row["outcome"])] += row["labels"]
        count.since = min(count.since, row["since"])
    return tuple(sorted(map(_score, counts.values()), key=lambda score: (-score.counted, score.name)))


def _score(count: _Count) -> Score:
    counted = sum(count.labels[fate] for fate in _VERDICTS)
    return Score(
        name=count.name,
        counted=counted,
        **{fate.value: labels for fate, labels in count.labels.items()},
        shares={fate.value: round(count.labels[fate] / counted, 4) for fate in _VERDICTS} if counted else {},
        since=datetime.fromisoformat(count.since),
    )


def _row(outcome: LabelOutcome) -> Row:
    return {
        "issue": outcome.issue,
        "label": outcome.label,
        "digest": outcome.digest,
        "set_at": _stored(outcome.set_at),
        "answered": _stored(outcome.set_at + SKEW),
        "outcome": outcome.fate.value,
    }


def _outcome(row: Row) -> LabelOutcome:
    return LabelOutcome(
        issue=row["issue"],
        label=row["label"],
        digest=row["digest"],
        set_at=datetime.fromisoformat(row["set_at"]),
        fate=Fate(row["outcome"]),
    )


def _stored(moment: datetime) -> str:
    """As the database writes its own times, so that texts compare as times do."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"
