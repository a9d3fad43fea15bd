"""How the embedded model answers people: as a classifier that has learnt from past issues of the samples' project.

- The past is `history.jsonl`: issues of the project that the sample issues are about, from the tracker that it had
  before (so without numbers), with the labels that its people set. None of the sample issues is among them.
- A label is taken for a concept by its name, as in `model_rule`: "kind/bug" gets what was learnt about "bug".
- A label of no concept keeps the rule of `model_rule`, for nothing was learnt about it.
- What is less likely than not is left out; of the rest at most three are named, surest first.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Iterable
from importlib import resources
from typing import Any

from triagebot.classifier import classifier
from triagebot.classifier.classifier import Classifier
from triagebot.core import export
from triagebot.core.past import Past
from triagebot.core.verdict import Vote
from triagebot.sandbox import model_rule
from triagebot.sandbox.samples import LABELS

_LEAST = 0.5
_MOST = 3

_once = threading.Lock()


def answer(labels: Iterable[str], title: str, body: str) -> dict[str, Any]:
    """The answer in the agreed shape, as `model_rule.answer` gives it. Trains at the first call, once for a process."""
    names = list(labels)
    voted = {model_rule.concept(vote.name): vote for vote in trained().votes(title, body)}
    learnt = [_said(name, vote) for name in names if (vote := voted.get(model_rule.concept(name)))]
    others = [name for name in names if model_rule.concept(name) is None]
    said = [*learnt, *model_rule.answer(others, title, body)["labels"]]
    likely = [label for label in said if label["confidence"] >= _LEAST]
    return {"labels": sorted(likely, key=lambda label: -label["confidence"])[:_MOST]}


def _said(name: str, vote: Vote) -> dict[str, Any]:
    return {"name": name, "confidence": round(vote.confidence, 2), "reason": vote.reason}


def trained() -> Classifier:
    """The classifier: at the first call in a process it is trained, which takes less than a second."""
    with _once:
        return _trained()


@functools.cache
def _trained() -> Classifier:
    return classifier.train(history(), allowed=tuple(LABELS))


def history() -> list[Past]:
    """What it learns from."""
    written = export.decode(resources.files(__package__).joinpath("history.jsonl").read_bytes(), "history.jsonl")
    return [
        Past(title=issue.title, body=issue.body or "", labels=issue.labels, created_at=issue.created_at)
        for issue in written
    ]
