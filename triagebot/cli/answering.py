"""Who answers the questions of a night: an endpoint, the classifier on this machine, or the one before the other."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from triagebot.cli import wiring
from triagebot.cli.config import Config
from triagebot.cli.environment import Environment
from triagebot.core import policy
from triagebot.core.faults import HistoryUnusable, Misconfigured, TooLittleHistory
from triagebot.core.prompt import Question
from triagebot.core.verdict import Reply
from triagebot.history.index import HistoryIndex
from triagebot.model import local
from triagebot.model.local import Cascade, LocalModel
from triagebot.nightly.ports import Model, Pupil
from triagebot.nightly.stop import Stop


@dataclass(frozen=True, slots=True)
class Answering:
    """What the night asks, and what has to learn before that, if anything has."""

    model: Model
    pupil: Pupil | None = None


class _NoModel:
    """Stands where no question will be asked."""

    def ask(self, question: Question) -> Reply:
        raise AssertionError(f"`deliver` asks nothing, yet was to ask about {len(question.labels)} labels")


Answers = Callable[[], Answering]
"""For one repository, at each call: the endpoint is the same for all, and what learns, learns from each by itself."""


def nobody() -> Answering:
    """For a night that only delivers."""
    return Answering(_NoModel())


@contextmanager
def opened(config: Config, env: Environment, stop: Stop, history: HistoryIndex | None) -> Iterator[Answers]:
    """As the settings say. Raises `Misconfigured` where a name, a key, an extra or a history is missing."""
    if not learns(config, env):
        with wiring.model(config, env, stop) as endpoint:
            yield lambda: Answering(endpoint)
        return
    train = _Teacher(config, _needed(history)).train
    if is_local(config, env):
        yield lambda: _twice(LocalModel(train))
        return
    with wiring.model(config, env, stop) as endpoint:
        yield lambda: _twice(Cascade(LocalModel(train), endpoint, at=config.model.sure))


def _twice(taught: LocalModel | Cascade) -> Answering:
    return Answering(taught, taught)


def is_local(config: Config, env: Environment) -> bool:
    """Whether no endpoint is asked at all."""
    return (env.model or config.model.name) == local.NAME


def learns(config: Config, env: Environment) -> bool:
    """Whether the classifier answers, alone or first."""
    return is_local(config, env) or config.model.first == local.NAME


def _needed(history: HistoryIndex | None) -> HistoryIndex:
    if importlib.util.find_spec("sklearn") is None:
        raise Misconfigured("the local model needs the extra of that name: pip install -e '.[local]'.")
    if history is None:
        raise Misconfigured(
            "the local model learns from issues that people labelled: with --from, give them with --history FILE."
        )
    return history


@dataclass(frozen=True, slots=True)
class _Teacher:
    config: Config
    history: HistoryIndex

    def train(self, repo_id: int, labels: Sequence[str]) -> local.Classifier:
        """Raises `TooLittleHistory`."""
        from triagebot.classifier import classifier

        try:
            past = self.history.past(repo_id, self.config.history.limit, allowed=labels)
        except HistoryUnusable as fault:
            raise TooLittleHistory(f"The history cannot be read, so nothing is learnt from it. {fault}") from fault
        groups = policy.members(self.config.labels.groups, labels)
        return classifier.train(past, allowed=labels, groups=groups)
