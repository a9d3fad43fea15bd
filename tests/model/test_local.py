"""The classifier in the place of an endpoint, and before one."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from triagebot.core import verdict
from triagebot.core.faults import ModelUnreachable, TooLittleHistory
from triagebot.core.prompt import Question
from triagebot.core.verdict import Answer, Reply, Usage, Vote
from triagebot.model.local import NAME, Cascade, LocalModel

LABELS = ("bug", "docs")


def question(title: str, labels: tuple[str, ...] = LABELS) -> Question:
    return Question(system="", user=f'{{"title": "{title}", "body": ""}}', labels=labels)


@dataclass
class Learnt:
    """Sure of what it has seen before, and of nothing else."""

    sure_at: float = 0.8

    def votes(self, title: str, body: str) -> tuple[Vote, ...]:
        sure = 0.9 if "crash" in title else 0.5
        return (
            Vote(name="bug", confidence=sure, reason="words: crash"),
            Vote(name="gone", confidence=0.3),
            Vote(name="docs", confidence=0.01),
        )


@dataclass
class Endpoint:
    asked: list[Question] = field(default_factory=list)

    def ask(self, question: Question) -> Reply:
        self.asked.append(question)
        raise ModelUnreachable("nobody is there", requests=1)


def nothing_to_learn(repo_id: int, labels: Sequence[str]) -> Learnt:
    raise TooLittleHistory("there are 3 labelled issues, and 30 are needed")


def local() -> LocalModel:
    model = LocalModel(lambda repo_id, labels: Learnt())
    model.learn(1, LABELS)
    return model


def told(reply: Reply) -> dict[str, float]:
    answer = verdict.judge(reply.envelope)
    assert isinstance(answer, Answer)
    return {vote.name: vote.confidence for vote in answer.votes}


def test_its_answer_passes_the_check_of_every_answer_and_costs_no_request() -> None:
    reply = local().ask(question("a crash"))
    assert told(reply) == {"bug": 0.9}, "neither a label that is not asked for nor one that nobody would believe"
    assert (reply.usage, reply.model) == (Usage(), NAME)


def test_where_nothing_can_be_learnt_it_says_so_before_any_issue_is_taken() -> None:
    with pytest.raises(TooLittleHistory, match="30 are needed"):
        LocalModel(nothing_to_learn).learn(1, LABELS)


def test_only_what_the_classifier_is_not_sure_of_is_asked_of_the_endpoint() -> None:
    endpoint = Endpoint()
    model = Cascade(local(), endpoint)
    assert told(model.ask(question("a crash"))) == {"bug": 0.9}
    assert endpoint.asked == []
    with pytest.raises(ModelUnreachable):
        model.ask(question("a wish"))
    assert [q.user for q in endpoint.asked] == [question("a wish").user]


@pytest.mark.parametrize(("at", "asked"), [(0.95, 1), (0.9, 0), (0.4, 0)])
def test_how_sure_is_sure_enough_can_be_set(at: float, asked: int) -> None:
    endpoint = Endpoint()
    with contextlib.suppress(ModelUnreachable):
        Cascade(local(), endpoint, at=at).ask(question("a crash"))
    assert len(endpoint.asked) == asked


def test_a_history_too_short_leaves_every_question_to_the_endpoint_and_says_so(
    caplog: pytest.LogCaptureFixture,
) -> None:
    endpoint = Endpoint()
    model = Cascade(LocalModel(nothing_to_learn), endpoint)
    with caplog.at_level(logging.WARNING):
        model.learn(1, LABELS)
    for _ in range(3):
        with pytest.raises(ModelUnreachable):
            model.ask(question("a crash"))
    assert len(endpoint.asked) == 3
    assert [r.getMessage() for r in caplog.records] == [
        "the endpoint is asked about every issue: there are 3 labelled issues, and 30 are needed"
    ]
