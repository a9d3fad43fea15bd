"""`eval`: past issues replayed through the classifier or the endpoint, and how good the labels were, in figures."""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from triagebot.cli import eval_answers, eval_sources, ledgers, nights, signals, terminal, wiring
from triagebot.cli.boundary import ExitCode
from triagebot.cli.config import Config
from triagebot.cli.environment import Environment
from triagebot.cli.eval_answers import Remembering
from triagebot.cli.eval_predictors import UNREACHABLE, Endpoint, Local
from triagebot.cli.eval_sources import Plan, Sources
from triagebot.cli.flags import Examples
from triagebot.cli.progress import Progress
from triagebot.cli.wiring import Choices, Output
from triagebot.core.faults import HistoryUnusable, Misconfigured
from triagebot.core.past import Past
from triagebot.evaluation import scoring, told
from triagebot.evaluation.cases import Prediction, one_label
from triagebot.evaluation.scoring import Gain, Price, Report
from triagebot.history import opening
from triagebot.nightly.settings import Settings, Use
from triagebot.nightly.stop import Stop

LOCAL = "local"


@dataclass(frozen=True, kw_only=True, slots=True)
class Order:
    """What to replay, who predicts, and where to put what came out."""

    sources: Sources
    model: str | None = None
    first: str | None = None
    examples: Examples = Examples.BOTH
    workers: int | None = None
    resume: Path | None = None
    report: Path | None = None
    config: Path | None = None


def run(env: Environment, order: Order, output: Output, environ: Mapping[str, str]) -> int:
    """Replay, count, tell. Exit code 1 where some issues got no answer; raises what ended it early."""
    config = wiring.read_config(Choices(config=order.config))
    name = order.model or env.model or config.model.name
    _can_begin(order, name)
    stop = Stop()
    with nights.watched(env, output) as progress:
        progress.stage("read the issues")
        plan = eval_sources.plan(order.sources, config.label_policy(), lambda repo: _indexed(env, repo, config))
        work = _Work(config, replace(env, model=name), order, plan, stop, progress, environ)
        report = signals.attended(work.report, stop)
    shown = json.dumps(told.as_json(report), ensure_ascii=False, indent=1) if output.json else _text(report)
    sys.stdout.write(f"{shown}\n")
    if order.report is not None:
        _write_page(order.report, report)
    missing = report.system.spent.invalid.get(UNREACHABLE, 0)
    return ExitCode.INCOMPLETE if missing else ExitCode.DONE


def _indexed(env: Environment, repo: str, config: Config) -> list[Past]:
    """What nights have read of the repository; its id is known to the ledger."""
    if env.history is None:
        return []
    with opening.open_history(env.history) as index:
        return index.past(ledgers.repository_id(env, repo), config.history.limit)


def _text(report: Report) -> str:
    return "\n".join(terminal.plain(line) for line in told.lines(report))


def _can_begin(order: Order, name: str | None) -> None:
    """What is missing is said before a file is read or a call is paid for."""
    if order.first not in (None, LOCAL):
        raise Misconfigured(f"--first is {order.first!r}: only local can answer first.")
    if order.first and name == LOCAL:
        raise Misconfigured("--first local needs a second to ask: name an endpoint's model with --model.")
    if (order.first or name == LOCAL) and importlib.util.find_spec("sklearn") is None:
        raise Misconfigured("the local model needs the extra of that name: pip install -e '.[local]'.")
    if order.report is None:
        return
    if importlib.util.find_spec("matplotlib") is None:
        raise Misconfigured("--report needs the extra eval: pip install -e '.[eval]'.")
    if not order.report.parent.is_dir():
        raise Misconfigured(f"--report {order.report} cannot be written: its folder does not exist.")


@dataclass
class _Work:
    """One evaluation under way."""

    config: Config
    env: Environment
    order: Order
    plan: Plan
    stop: Stop
    progress: Progress
    environ: Mapping[str, str]
    notes: list[str] = field(default_factory=list)
    gain: Gain | None = None

    def report(self) -> Report:
        """Predict with every system that is asked for, and count."""
        self.notes += self.plan.notes
        systems = self._endpoint() if self.env.model != LOCAL else {LOCAL: self._local()}
        if self.stop.asked:  # nobody will read it
            systems = {}
        systems[scoring.COMMONEST] = scoring.always_commonest(self.plan.trials)
        self.progress.stage("count")
        return self._counted(systems)

    def _counted(self, systems: dict[str, list[Prediction]]) -> Report:
        price = self.config.model.price
        scores = [
            scoring.score(name, predictions, price=Price(price.input, price.output))
            for name, predictions in systems.items()
        ]
        predictions = scoring.by_row(next(iter(systems.values())))
        return Report(
            system=scores[0],
            beside=scores[1:],
            predictions=predictions,
            one_label=one_label([p.case for p in predictions]),
            issues=len(predictions),
            min_confidence=self.config.labels.min_confidence,
            how=self.plan.how,
            gain=self.gain,
            notes=self.notes,
        )

    def _local(self) -> list[Prediction]:
        self.progress.stage("learn and predict", self._size())
        predictor = Local(self.config.label_policy(), self.config.history.limit, self.progress.advance, self.stop)
        found = predictor.predict(self.plan.trials)
        self.notes += predictor.notes
        if self.order.first:
            sure = sum(bool(p.said.sure) for p in found)
            self.notes.append(f"{sure} of {self._size()} issues are answered by the local model, and cost no call")
        return found

    def _endpoint(self) -> dict[str, list[Prediction]]:
        """The endpoint without and with examples, after the classifier or alone; what a night would do comes first."""
        settings = wiring.settings(self.config, self.env, Choices())
        local = self._local() if self.order.first else []
        with wiring.model(self.config, self.env, self.stop) as model:
            answers = Remembering(model, self._answers(), self._asked())
            found = {shown: self._ask(answers, settings, local, shown=shown) for shown in self._modes(settings)}
        self.notes.append(f"{answers.paid} requests made now, the other answers were there already")
        self.progress.say(f"the answers are kept in {self._answers()}")
        if len(found) == 2 and not self.stop.asked:
            self._weigh(found[False], found[True], settings)
        name = f"{LOCAL}, then {self.env.model}" if self.order.first else f"{self.env.model}"
        first = self._shows(settings) if len(found) == 2 else next(iter(found))
        ranked = {self._called(name, shown, found): found[shown] for shown in sorted(found, key=lambda s: s != first)}
        return ranked | ({LOCAL: local} if self.order.first else {})

    def _modes(self, settings: Settings) -> list[bool]:
        """Without examples, with examples. None can be shown where the settings ask for none at all."""
        if self.order.examples is Examples.OFF or not settings.learning.examples or not settings.learning.limit:
            return [False]
        return [True] if self.order.examples is Examples.ON else [False, True]

    def _ask(
        self, answers: Remembering, settings: Settings, local: list[Prediction], *, shown: bool
    ) -> list[Prediction]:
        sure = sum(bool(p.said.sure) for p in local)
        self.progress.stage("ask, with examples" if shown else "ask", self._size() - sure)
        workers = self.order.workers or self.config.workers
        asking = Endpoint(answers, settings, workers, self.progress.advance, self.stop, examples=shown)
        return asking.predict(self.plan.trials, local)

    def _weigh(self, without: list[Prediction], with_examples: list[Prediction], settings: Settings) -> None:
        """What examples are worth is noted for the nights with `history.use: auto`; after a classifier it is not,
        for then the easy issues are missing."""
        self.gain = gain = scoring.gain(without, with_examples)
        if self.order.first or self.env.history is None or any(p.said.invalid == UNREACHABLE for p in without):
            return
        try:
            with opening.open_history(self.env.history) as index:
                index.record_measure(
                    model=settings.learning.model,
                    prompt=settings.learning.prompt,
                    n=gain.issues,
                    without=gain.without,
                    with_examples=gain.with_examples,
                    gain_low=gain.gain.interval[0],
                )
        except HistoryUnusable as fault:
            self.notes.append(f"{str(fault).rstrip('.')}: nights do not learn what examples are worth")
            return
        shows = "shows" if self._shows(settings) else "shows no"
        self.notes.append(f"noted: with history.use: auto, a night {shows} examples to this model")

    def _shows(self, settings: Settings) -> bool:
        """Whether a night would show examples now."""
        learning = settings.learning
        if learning.use is not Use.AUTO:
            return learning.use is Use.ON
        if self.env.history is None:
            return False
        try:
            with opening.open_history(self.env.history) as index:
                return index.examples_pay(model=learning.model, prompt=learning.prompt)
        except HistoryUnusable:
            return False

    def _called(self, name: str, shown: bool, found: dict[bool, list[Prediction]]) -> str:
        if len(found) == 1 and not shown:
            return name
        return f"{name}, with examples" if shown else f"{name}, without examples"

    def _answers(self) -> Path:
        return self.order.resume or eval_answers.default_file(self.environ)

    def _asked(self) -> dict[str, object]:
        asked = self.config.model
        return {
            "url": self.env.openai_base_url,
            "model": self.env.model,
            "temperature": asked.temperature,
            "max_output_tokens": asked.max_output_tokens,
        }

    def _size(self) -> int:
        return sum(len(trial.test) for trial in self.plan.trials)


def _write_page(path: Path, report: Report) -> None:
    from triagebot.evaluation import page

    try:
        path.write_text(page.html(report), encoding="utf-8")
    except OSError as error:
        raise Misconfigured(f"--report {path} cannot be written: {error.strerror}.") from error
