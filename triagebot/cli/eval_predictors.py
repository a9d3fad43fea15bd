"""Who predicts in `eval`: the classifier, the endpoint, or one before the other; each by the path of a night."""

from __future__ import annotations

import queue
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from triagebot.core import examples, policy
from triagebot.core.faults import Misconfigured, ModelUnreachable, TooLittleHistory
from triagebot.core.issue import Identity, Label, Repository, Snapshot
from triagebot.core.past import Past
from triagebot.core.policy import LabelPolicy
from triagebot.core.verdict import Outcome, Usage, Verdict, Vote
from triagebot.evaluation.cases import Case, Prediction, Said, by_repo
from triagebot.evaluation.splits import Trial
from triagebot.history import opening
from triagebot.history.index import HistoryIndex
from triagebot.nightly.asking import Asker, Unanswered
from triagebot.nightly.crew import Thread
from triagebot.nightly.place import Place
from triagebot.nightly.ports import Model
from triagebot.nightly.purse import Purse
from triagebot.nightly.settings import Budget, Settings
from triagebot.nightly.stop import Stop

UNREACHABLE = "unreachable"
"""The kind of an answer that never came: it is asked for again the next time."""

_UNKNOWN_AGE = datetime(1970, 1, 1, tzinfo=UTC)
_ANSWERED = (Outcome.LABELLED, Outcome.NOTHING_FITS)
_DIGITS = 6  # of a confidence, before anything is counted: so that whoever reads the JSON counts the same


def labels_of(cases: Sequence[Case]) -> tuple[Label, ...]:
    """The labels that occur: what a repository's label list is to a night."""
    return tuple(Label(name=name) for name in sorted({name for case in cases for name in case.truth}))


def said(votes: Sequence[Vote], labels: LabelPolicy, usable: Sequence[Label], **more: object) -> Said:
    """All votes, and those that the settings would let through."""
    rounded = [(vote.name, round(vote.confidence, _DIGITS)) for vote in votes]
    ranked = tuple(sorted(rounded, key=lambda vote: (-vote[1], vote[0])))
    passed = policy.choose(labels, usable, [Vote(name=name, confidence=sure) for name, sure in ranked])
    return replace(Said(votes=ranked, chosen=tuple(vote.name for vote in passed.votes)), **more)  # type: ignore[arg-type]


# --- the classifier


@dataclass
class Local:
    """One classifier for each repository of a trial, learnt from its own history; the others' is the prior.

    `notes` gathers the repositories that have too little to learn from.
    """

    labels: LabelPolicy
    limit: int
    advance: Callable[[], None]
    stop: Stop
    notes: list[str] = field(default_factory=list)

    def predict(self, trials: Sequence[Trial]) -> list[Prediction]:
        """Raises `TooLittleHistory` where no repository can be learnt."""
        found = [each for fold, trial in enumerate(trials) for each in self._trial(trial, fold)]
        self.notes = list(dict.fromkeys(self.notes))
        if not found and self.notes:
            raise TooLittleHistory(self.notes[0])
        return found

    def _trial(self, trial: Trial, fold: int) -> Iterator[Prediction]:
        for repo, held in by_repo(trial.test).items():
            if self.stop.asked:
                return
            try:
                answers = self._repo(trial, repo, held)
            except TooLittleHistory as fault:
                self.notes.append(f"{repo}: {fault}" if repo else str(fault))
                continue
            yield from (Prediction(case, answer, fold) for case, answer in zip(held, answers, strict=True))

    def _repo(self, trial: Trial, repo: str, held: Sequence[Case]) -> list[Said]:
        from triagebot.classifier import classifier

        ours = [case for case in trial.history if case.repo == repo]
        usable = labels_of(ours)
        learnt = classifier.train(
            [case.past() for case in newest(ours, self.limit)],
            allowed=[label.name for label in usable],
            groups=policy.members(self.labels.groups, [label.name for label in usable]),
            others=[case.past() for case in newest([c for c in trial.history if c.repo != repo], self.limit)],
        )
        answers = []
        for scores in learnt.scores([(case.title, case.body) for case in held]):
            votes = [Vote(name=name, confidence=score) for name, score in scores.items()]
            top = max((vote.confidence for vote in votes), default=0.0)
            answers.append(said(votes, self.labels, usable, sure=top >= learnt.sure_at))
            self.advance()
        return answers


def newest(cases: Sequence[Case], limit: int) -> list[Case]:
    """The last `limit` by their time, or by their place where they have none: as many as a night would learn from."""
    aged = sorted(cases, key=lambda case: (case.created_at or _UNKNOWN_AGE, case.row))
    return aged[max(0, len(aged) - limit) :]


# --- the endpoint


@dataclass
class Endpoint:
    """Every case asked of the model as a night asks, with the votes taken before any threshold.

    With `examples`, it is shown issues of the history that were opened before the one in question.
    """

    model: Model
    settings: Settings
    workers: int
    advance: Callable[[], None]
    stop: Stop
    examples: bool = False

    def predict(self, trials: Sequence[Trial], ahead: Sequence[Prediction] = ()) -> list[Prediction]:
        """`ahead` holds answers that the classifier was sure of: those cases are not asked about.

        Raises `ModelUnusable` where no question can be answered.
        """
        known = {(p.fold, p.case.row): p for p in ahead if p.said.sure}
        asked: queue.SimpleQueue[tuple[int, Case, Asker]] = queue.SimpleQueue()
        for fold, trial in enumerate(trials):
            askers = {repo: self._asker(repo, trial) for repo in by_repo(trial.test)}
            for case in trial.test:
                if (fold, case.row) not in known:
                    asked.put((fold, case, askers[case.repo]))
        found = list(known.values())
        hands = [Thread(f"asker {n}", lambda: self._work(asked, found), self.stop) for n in range(self.workers)]
        for hand in hands:
            hand.start()
        for hand in hands:
            hand.come_home()
        return found

    def _asker(self, repo: str, trial: Trial) -> Asker:
        """The labels are those of the repository's history, as a night would find them there."""
        usable = labels_of([case for case in trial.history if case.repo == repo])
        if not usable:
            raise Misconfigured(f"{repo or 'the history'} has no label that may be set, so nothing can be asked.")
        place = Place(
            repository=Repository(id=0, name=repo or "OWNER/NAME"),
            identity=Identity(login="triagebot", id=None),
            known=tuple(label.name for label in usable),
            usable=usable,
        )
        everything = replace(self.settings.labels, min_confidence=0.0, max=len(usable), groups=())
        settings = replace(self.settings, labels=everything)
        asker = Asker(self.model, place, settings, Purse(_NO_LIMIT))
        if not self.examples:
            return asker
        ours = [case for case in trial.history if case.repo == repo and case.truth]
        index = opening.from_export(case.past() for case in newest(ours, settings.learning.limit))
        return replace(asker, examples=_Examples(index, settings.learning.examples, place).of)

    def _work(self, asked: queue.SimpleQueue[tuple[int, Case, Asker]], found: list[Prediction]) -> None:
        while not self.stop.asked:
            try:
                fold, case, asker = asked.get_nowait()
            except queue.Empty:
                return
            found.append(Prediction(case, self._one(case, asker), fold))
            self.advance()

    def _one(self, case: Case, asker: Asker) -> Said:
        bill: list[Usage] = []
        try:
            verdict = asker.ask(_snapshot(case), bill)
        except Unanswered as fault:
            return Said(invalid=str(fault).partition(":")[0], usage=sum(bill, Usage()))
        except ModelUnreachable:
            return Said(invalid=UNREACHABLE, usage=sum(bill, Usage()))
        return self._said(verdict, asker, sum(bill, Usage()))

    def _said(self, verdict: Verdict, asker: Asker, usage: Usage) -> Said:
        invalid = "" if verdict.outcome in _ANSWERED else verdict.outcome.value
        return said(verdict.labels, self.settings.labels, asker.place.usable, invalid=invalid, usage=usage)


@dataclass(frozen=True, slots=True)
class _Examples:
    """As `nightly.learning` chooses them, with one rule more: nothing that was opened after the issue."""

    index: HistoryIndex
    count: int
    place: Place

    def of(self, issue: Snapshot) -> Sequence[Past]:
        ranked = self.index.similar(
            self.place.repository.id,
            issue.title,
            issue.body,
            limit=self.count * examples.POOL,
            exclude=issue.number,
            before=None if issue.created_at == _UNKNOWN_AGE else issue.created_at,
            allowed=[label.name for label in self.place.usable],
        )
        return examples.choose(ranked, self.count)


_NO_LIMIT = Budget(issues=None, calls=None, tokens=None, usd=None, per_author=None)


def _snapshot(case: Case) -> Snapshot:
    """The issue as it came in: without its labels, which are the answer."""
    return Snapshot(
        repo_id=0,
        number=case.number or case.row + 1,
        node="",
        title=case.title,
        body=case.body,
        author=None,
        association="NONE",
        created_at=case.created_at or _UNKNOWN_AGE,
    )
