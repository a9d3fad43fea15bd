"""The acts, in the order in which they are played. Each opens its own issues and goes on from what stands.

Together they open every sample issue, those too on which the model finds no label: none is chosen for being easy.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date

from triagebot.core import key
from triagebot.core.marker import Marker
from triagebot.demo.stage import Stage
from triagebot.sandbox import faults

COPIED = 4
DELETED = 15
TAKEN_OFF = 9


@dataclass(frozen=True, kw_only=True, slots=True)
class Act:
    """`play` plays it and returns how many questions to the model it should take; `runs` is its nights."""

    title: str
    told: str
    runs: int
    play: Callable[[Stage], int]


def _a_night(stage: Stage) -> int:
    stage.open_issues(1, 2, 3, COPIED, 5, 8, 10, 11, 16, 19, 20, 24)
    issue = stage.repo.issue(COPIED)
    copy = Marker(date(2026, 10, 19), key.digest(issue.title, issue.body or ""))
    stage.repo.comment(COPIED, f"{copy}\nNothing to see here.", by="stranger")
    stage.night()
    return 12


def _again(stage: Stage) -> int:
    stage.night()
    return 0


def _two_at_once(stage: Stage) -> int:
    """Neither gets its list of issues before both have asked for it; the model is slow enough to be asked by both."""
    stage.open_issues(6, 14, 17, 23)
    holds = [stage.hub.faults.add(faults.hangs(stage.bot.lists)) for _ in range(2)]
    nights = [stage.start() for _ in range(2)]
    for hold, night in zip(holds, nights, strict=True):
        stage.reached(hold, night)
    stage.stand.latency = 0.2
    for hold in holds:
        hold.release()
    for night in nights:
        stage.end(night, codes=(0, 1))  # 1: issues were held by the other one
    stage.stand.latency = 0.0
    return 4


def _stalls(stage: Stage) -> int:
    """The first night holds an answer that is out of date when the second is in the middle of its write."""
    stage.open_issues(18)
    add = stage.hub.faults.add
    add(faults.secondary_limit(faults.POST_COMMENT, status=429, retry_after="0"))
    stall = add(faults.stored_then_hangs(stage.bot.looks), skip=stage.bot.before)
    write = add(faults.stored_then_hangs(faults.POST_COMMENT))
    first = stage.start()
    stage.reached(stall, first)
    stage.let_leases_end()
    second = stage.start()
    stage.reached(write, second)
    stall.release()
    stage.end(first, codes=(0, 1))  # 1: it lost its lease
    write.release()
    stage.end(second, codes=(0, 1))
    return 1


def _killed(stage: Stage) -> int:
    stage.open_issues(7, 13, 22)
    stage.hub.faults.add(faults.stored_then(faults.POST_COMMENT, 502))
    stored = stage.hub.faults.add(faults.stored_then_hangs(faults.POST_COMMENT), skip=1)
    night = stage.start()
    stage.reached(stored, night)
    stage.kill(night)
    stage.let_leases_end()
    stage.night()
    return 3


def _lost(stage: Stage) -> int:
    known = stage.unmarked
    stage.open_issues(TAKEN_OFF, 12, DELETED, 21)
    stage.lose_the_ledger()
    stage.night()
    return known + 4


def _taken_back(stage: Stage) -> int:
    stage.delete_comment(DELETED)
    stage.take_off_labels(TAKEN_OFF)
    stage.night()
    stage.lose_the_ledger()
    stage.night()
    return stage.unmarked


ACTS = (
    Act(
        title="A night",
        told="12 issues. On one a stranger has left a copy of the bot's marker; for some no label fits.",
        runs=1,
        play=_a_night,
    ),
    Act(title="The same night again", told="Nothing has changed.", runs=1, play=_again),
    Act(
        title="Two nights at once",
        told="4 new issues. Both nights have read the list before either of them writes.",
        runs=2,
        play=_two_at_once,
    ),
    Act(
        title="A night wakes up late",
        told="1 new issue. GitHub answers 429; then the night stalls right after its last look. Another one takes "
        "over, and while its comment is under way the first goes on.",
        runs=2,
        play=_stalls,
    ),
    Act(
        title="Killed after a POST",
        told="3 new issues. One comment is stored and answered 502; when another is stored, the night gets SIGKILL "
        "before it can note that. Then the next night.",
        runs=2,
        play=_killed,
    ),
    Act(
        title="The ledger is lost",
        told="4 new issues; then a night. Of the others, only those on which no comment stands are asked about again.",
        runs=1,
        play=_lost,
    ),
    Act(
        title="A maintainer objects",
        told="She deletes a comment, and takes the labels off another issue. A night; the ledger is lost; "
        "another night.",
        runs=2,
        play=_taken_back,
    ),
)
