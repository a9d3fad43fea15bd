"""Plays the acts, each on both stages at once, and holds what triagebot left behind against what it should have."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from triagebot.demo import stage, truth
from triagebot.demo.acts import Act
from triagebot.demo.stage import OffScript, Stage
from triagebot.demo.truth import Agreement
from triagebot.nightly.report import Observer


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """What one act came to on one stage: what it took, and how many of all issues carry what they should by now.

    `stored` counts comments that were stored, whatever became of them; `twins` those among them that came to
    an issue which had got one before. `wrong` tells what carries other than it should.
    """

    calls: int
    stored: int
    twins: int
    right: int
    issues: int
    wrong: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Scene:
    """An act that was played. `broken` tells how triagebot broke its promise in it.

    `agreement` compares the model's labels with those that the samples' people set, on all issues by now.
    """

    number: int
    act: Act
    bot: Outcome
    naive: Outcome
    agreement: Agreement
    broken: tuple[str, ...]


def perform(
    command: Sequence[str], environ: Mapping[str, str], folder: Path, watch: Observer, *, acts: Sequence[Act]
) -> Generator[Scene, None, None]:
    """Play act after act, until the promise is broken in one.

    `command` starts triagebot, `environ` is what the processes inherit, `folder` an empty place for files.
    Raises `OffScript` where the bot without a ledger did not play its part.
    """
    with ExitStack() as house:
        # Entered first, so left last: the stages end their processes, and then nobody waits for one any more.
        beside = house.enter_context(ThreadPoolExecutor(1))
        ours = house.enter_context(stage.raised(stage.triagebot(command, environ), folder / "bot", watch.advance))
        other = house.enter_context(stage.raised(stage.naive(environ), folder / "naive", watch.advance))
        runs, done = 2 * sum(act.runs for act in acts), 0
        for number, act in enumerate(acts, 1):
            watch.stage(act.title, runs)
            watch.advance(done)
            done += 2 * act.runs
            compared = beside.submit(_compared, act, other)
            bot, broken = _judged(act, ours)
            agreement = truth.agreement(ours.people, ours.judged)
            yield Scene(number=number, act=act, bot=bot, naive=compared.result(), agreement=agreement, broken=broken)
            if broken:
                return


def _judged(act: Act, on: Stage) -> tuple[Outcome, tuple[str, ...]]:
    """The act as triagebot played it, and how it broke its promise."""
    before = _stood(on)
    try:
        asked = act.play(on)
    except OffScript as broken:
        outcome = _since(before, on)
        return outcome, (str(broken), *outcome.wrong)
    outcome = _since(before, on)
    return outcome, (*_overdone(outcome, asked), *outcome.wrong)


def _compared(act: Act, on: Stage) -> Outcome:
    before = _stood(on)
    act.play(on)
    return _since(before, on)


def _stood(on: Stage) -> tuple[int, list[int]]:
    return on.stand.count, truth.posted(on.hub)


def _since(before: tuple[int, list[int]], on: Stage) -> Outcome:
    calls, earlier = before
    posted = truth.posted(on.hub)
    wrong = truth.wrong(on.repo, on.due, marked=on.bot.marks)
    return Outcome(
        calls=on.stand.count - calls,
        stored=len(posted) - len(earlier),
        twins=_twins(posted) - _twins(earlier),
        right=len(on.due) - len(wrong),
        issues=len(on.due),
        wrong=tuple(wrong),
    )


def _twins(posted: list[int]) -> int:
    return len(posted) - len({*posted})


def _overdone(outcome: Outcome, asked: int) -> Iterator[str]:
    if outcome.calls != asked:
        yield f"{asked} questions to the model should have done; it was asked {outcome.calls}"
    if outcome.twins:
        yield f"no issue should get a second comment, not even for a while; it stored {outcome.twins}"
