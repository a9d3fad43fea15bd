"""A classifier in the place of an endpoint: alone, or as the first of a cascade. No request leaves this machine."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Sequence
from typing import Protocol

from triagebot.core.faults import TooLittleHistory
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


class Classifier(Protocol):
    """What was learnt from the repository's past; from `sure_at` on it is right nine times in ten."""

    @property
    def sure_at(self) -> float: ...

    def votes(self, title: str, body: str) -> tuple[Vote, ...]: ...


Train = Callable[[int, Sequence[str]], Classifier]
"""Learns from a repository's past, given its id, the labels that may be set. Raises `TooLittleHistory`."""


class LocalModel:
    """Answers from what it has learnt at the start of the night."""

    def __init__(self, train: Train) -> None:
        self._train = train
        self._learnt: Classifier | None = None

    def learn(self, repo_id: int, labels: Sequence[str]) -> None:
        """To be called before the first question. Raises `TooLittleHistory`, whose sentence names the mend."""
        self._learnt = self._train(repo_id, labels)

    def forget(self) -> None:
        """Let go of it, for it takes megabytes."""
        self._learnt = None

    def ask(self, question: Question) -> Reply:
        return _reply(self._votes(question))

    def sure(self, question: Question, at: float | None = None) -> Reply | None:
        """The answer, if the classifier is at least as sure as `at`, or as its own measure asks; else nothing."""
        votes = self._votes(question)
        least = self._taught.sure_at if at is None else at
        return _reply(votes) if votes and votes[0].confidence >= least else None

    @property
    def _taught(self) -> Classifier:
        assert self._learnt is not None, "a classifier that was asked before it has learnt"
        return self._learnt

    def _votes(self, question: Question) -> tuple[Vote, ...]:
        issue = json.loads(question.user)
        votes = self._taught.votes(issue["title"], issue["body"])
        return tuple(vote for vote in votes if vote.name in question.labels)


class Cascade:
    """The classifier first; what it is not sure of goes to the endpoint."""

    def __init__(self, first: LocalModel, then: Model, *, at: float | None = None) -> None:
        self._first: LocalModel | None = first
        self._then = then
        self._at = at

    def learn(self, repo_id: int, labels: Sequence[str]) -> None:
        """A history too short to learn from does not end a night that has an endpoint: that one gets all questions."""
        try:
            if self._first is not None:
                self._first.learn(repo_id, labels)
        except TooLittleHistory as fault:
            log.warning("the endpoint is asked about every issue: %s", fault)
            self._first = None

    def forget(self) -> None:
        if self._first is not None:
            self._first.forget()

    def ask(self, question: Question) -> Reply:
        """Raises what the endpoint raises."""
        answer = self._first.sure(question, self._at) if self._first is not None else None
        return answer or self._then.ask(question)


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
