"""A classifier in the place of an endpoint: alone, or as the first of a cascade. No request leaves this machine."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Sequence
from typing import Protocol

from triagebot.core.faults import Misconfigured, ModelUnusable
from triagebot.core.prompt import Question
from triagebot.core.verdict import Reply, Usage, Vote

log = logging.getLogger("triagebot.model")

NAME = "local"
"""What stands as the model's name in the settings, the ledger and the comment."""

_SHOWN = 0.05
"""Votes below it say nothing to anybody; `labels.min_confidence` decides about the rest."""


class Model(Protocol):
    """What answers the questions that the classifier is not sure of."""

    def ask(self, question: Question) -> Reply: ...

    def close(self) -> None: ...


class Classifier(Protocol):
    """What was learnt from the repository's past; from `sure_at` on it is right nine times in ten."""

    @property
    def sure_at(self) -> float: ...

    def votes(self, title: str, body: str) -> tuple[Vote, ...]: ...


Train = Callable[[Sequence[str]], Classifier]
"""Learns the labels that may be set. Raises `Misconfigured` where there is too little to learn from."""


class LocalModel:
    """Learns at the first question, which most nights never come to, and answers all workers from then on."""

    def __init__(self, train: Train) -> None:
        self._train = train
        self._learnt: Classifier | None = None
        self._lock = threading.Lock()

    def ask(self, question: Question) -> Reply:
        """Raises `ModelUnusable` where nothing could be learnt: no issue is to blame for that."""
        try:
            return _reply(self._votes(question))
        except Misconfigured as fault:
            raise ModelUnusable(str(fault)) from fault

    def sure(self, question: Question, at: float | None = None) -> Reply | None:
        """The answer, if the classifier is at least as sure as `at`, or as its own measure asks; else nothing.

        Raises `Misconfigured` as `Train` does.
        """
        votes = self._votes(question)
        least = self.classifier(question.labels).sure_at if at is None else at
        return _reply(votes) if votes and votes[0].confidence >= least else None

    def classifier(self, labels: Sequence[str]) -> Classifier:
        with self._lock:  # the other workers wait: they could not answer either
            if self._learnt is None:
                self._learnt = self._train(labels)
            return self._learnt

    def close(self) -> None:
        """Nothing is held."""

    def _votes(self, question: Question) -> tuple[Vote, ...]:
        issue = json.loads(question.user)
        votes = self.classifier(question.labels).votes(issue["title"], issue["body"])
        return tuple(vote for vote in votes if vote.name in question.labels)


class Cascade:
    """The classifier first; what it is not sure of goes to the endpoint.

    A history too short to learn from is no reason to end a night that has an endpoint: it is said once, and
    the endpoint gets all questions.
    """

    def __init__(self, first: LocalModel, then: Model, *, at: float | None = None) -> None:
        self._first: LocalModel | None = first
        self._then = then
        self._at = at

    def ask(self, question: Question) -> Reply:
        """Raises what the endpoint raises."""
        return self._sure(question) or self._then.ask(question)

    def close(self) -> None:
        self._then.close()

    def _sure(self, question: Question) -> Reply | None:
        first = self._first
        if first is None:
            return None
        try:
            return first.sure(question, self._at)
        except Misconfigured as fault:
            if self._first is not None:
                log.warning("the endpoint is asked about every issue: %s", fault)
            self._first = None
            return None


def _reply(votes: Sequence[Vote]) -> Reply:
    """The answer as an endpoint would send it, so that it is checked and weighed like any other."""
    named = [
        {"name": vote.name, "confidence": round(vote.confidence, 3), "reason": vote.reason}
        for vote in votes
        if vote.confidence >= _SHOWN
    ]
    message = {"content": json.dumps({"labels": named}, ensure_ascii=False)}
    envelope = {"choices": [{"message": message, "finish_reason": "stop"}]}
    return Reply(envelope=envelope, usage=Usage(), model=NAME)
