"""The classifier in the place of an endpoint, and before one."""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from triagebot.core import verdict
from triagebot.core.faults import Misconfigured, ModelUnreachable, ModelUnusable
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
    closed: bool = False

    def ask(self, question: Question) -> Reply:
        self.asked.append(question)
        raise ModelUnreachable("nobody is there", requests=1)

    def close(self) -> None:
        self.closed = True


def nothing_to_learn(_: Sequence[str]) -> Learnt:
    raise Misconfigured("there are 3 labelled issues, and 30 are needed")


def told(reply: Reply) -> dict[str, float]:
    answer = verdict.judge(reply.envelope)
    assert isinstance(answer, Answer)
    return {vote.name: vote.confidence for vote in answer.votes}


def test_its_answer_passes_the_check_of_every_answer_and_costs_no_request() -> None:
    reply = LocalModel(lambda _: Learnt()).ask(question("a crash"))
    assert told(reply) == {"bug": 0.9}, "neither a label that is not asked for nor one that nobody would believe"
    assert (reply.usage, reply.model) == (Usage(), NAME)


def test_it_learns_once_for_all_workers_and_only_when_it_is_asked() -> None:
    learnt: list[Sequence[str]] = []

    def train(labels: Sequence[str]) -> Learnt:
        learnt.append(labels)
        return Learnt()

    model = LocalModel(train)
    assert learnt == []
    hands = [threading.Thread(target=model.ask, args=[question("a crash")]) for _ in range(8)]
    for hand in hands:
        hand.start()
    for hand in hands:
        hand.join()
    assert learnt == [LABELS]


def test_where_nothing_can_be_learnt_the_night_ends_and_no_issue_is_to_blame() -> None:
    with pytest.raises(ModelUnusable, match="30 are needed"):
        LocalModel(nothing_to_learn).ask(question("a crash"))


def test_only_what_the_classifier_is_not_sure_of_is_asked_of_the_endpoint() -> None:
    endpoint = Endpoint()
    model = Cascade(LocalModel(lambda _: Learnt()), endpoint)
    assert told(model.ask(question("a crash"))) == {"bug": 0.9}
    assert endpoint.asked == []
    with pytest.raises(ModelUnreachable):
        model.ask(question("a wish"))
    assert [q.user for q in endpoint.asked] == [question("a wish").user]
    model.close()
    assert endpoint.closed


@pytest.mark.parametrize(("at", "asked"), [(0.95, 1), (0.9, 0), (0.4, 0)])
def test_how_sure_is_sure_enough_can_be_set(at: float, asked: int) -> None:
    endpoint = Endpoint()
    model = Cascade(LocalModel(lambda _: Learnt()), endpoint, at=at)
    with contextlib.suppress(ModelUnreachable):
        model.ask(question("a crash"))
    assert len(endpoint.asked) == asked


def test_a_history_too_short_leaves_every_question_to_the_endpoint_and_says_so_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    endpoint = Endpoint()
    model = Cascade(LocalModel(nothing_to_learn), endpoint)
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            with pytest.raises(ModelUnreachable):
                model.ask(question("a crash"))
    assert len(endpoint.asked) == 3
    assert [r.getMessage() for r in caplog.records] == [
        "the endpoint is asked about every issue: there are 3 labelled issues, and 30 are needed"
    ]
