"""One issue to one verdict: the question, the answer's check, one changed second try, the label policy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from triagebot.core import policy, prompt, secrecy, verdict
from triagebot.core.faults import Fault, ModelFault, QuestionRefused
from triagebot.core.issue import Snapshot
from triagebot.core.past import Past
from triagebot.core.prompt import Question
from triagebot.core.verdict import Answer, Outcome, Reply, Unusable, Usage, Verdict, Vote
from triagebot.nightly.place import Place
from triagebot.nightly.ports import Model
from triagebot.nightly.purse import Purse
from triagebot.nightly.settings import Settings


class Unanswered(Fault):
    """The model answered, and not with anything that can be used: the issue's failure, recorded with its reason."""


@dataclass
class Asker:
    """Asks about one issue at a time; keeps count of what it cost, whatever came of it."""

    model: Model
    place: Place
    settings: Settings
    purse: Purse
    examples: Callable[[Snapshot], Sequence[Past]] = lambda _: ()

    def question(self, issue: Snapshot, examples: Sequence[Past] = ()) -> Question:
        return prompt.compose(
            self.settings.texts.system,
            self.place.usable,
            issue.title,
            issue.body,
            input_chars=self.settings.input_chars,
            examples=examples,
        )

    def ask(self, issue: Snapshot, bill: list[Usage]) -> Verdict:
        """Return the verdict; every call's usage goes on the `bill`, also when this raises.

        Raises `Unanswered`, or a `ModelFault` that is not this issue's.
        """
        question = self.question(issue, self.examples(issue))
        try:
            return self._verdict(question, bill)
        except QuestionRefused as refused:
            return Verdict(outcome=Outcome(refused.outcome), prompt=prompt.fingerprint(question))

    def _verdict(self, question: Question, bill: list[Usage]) -> Verdict:
        reply = self._call(question, bill)
        judged = verdict.judge(reply.envelope)
        if isinstance(judged, Unusable) and judged.final is None and self.purse.admit() is None:
            reply = self._call(prompt.second_try(question, judged), bill)
            judged = verdict.judge(reply.envelope)
        return self._weigh(judged, reply, question)

    def _call(self, question: Question, bill: list[Usage]) -> Reply:
        """One admitted call: what it took is settled at once, or another worker would be admitted too many."""
        usage = Usage()
        try:
            reply = self.model.ask(question)
            usage = reply.usage
            return reply
        except ModelFault as fault:
            usage = Usage(requests=fault.requests)
            raise
        finally:
            bill.append(usage)
            self.purse.settle(usage)

    def _weigh(self, judged: Answer | Unusable, reply: Reply, question: Question) -> Verdict:
        asked = prompt.fingerprint(question)
        if isinstance(judged, Unusable):
            if judged.final is None:
                raise Unanswered(f"{judged.kind}: {judged.reason}")
            return Verdict(outcome=judged.final, model=self._discreet(reply.model), prompt=asked)
        votes = [self._fit_to_keep(vote) for vote in judged.votes]
        choice = policy.choose(self.settings.labels, self.place.usable, votes)
        outcome = Outcome.LABELLED if choice.votes else Outcome.NOTHING_FITS
        model = self._discreet(reply.model)
        return Verdict(outcome=outcome, labels=choice.votes, dropped=choice.dropped, model=model, prompt=asked)

    def _fit_to_keep(self, vote: Vote) -> Vote:
        """From here on a vote is recorded and told in many places. A name of a label here is nobody's secret."""
        known = any(vote.name == label.name for label in self.place.usable)
        return replace(vote, name=vote.name if known else self._discreet(vote.name), reason=self._discreet(vote.reason))

    def _discreet(self, words: str) -> str:
        return secrecy.fit_to_keep(words, self.settings.texts.secrets)
