"""How long a whole night takes, from the start of the process to its end, against what must take that long.

Three things bound a night and no program can be faster: the model (latency times questions, by the workers),
GitHub's pace (a second between two writes), and the settle time, after which the close looks back at tonight's
posts. So the limit of a night without a pace is the model's, and that of one with a pace is the spacing of its
writes; a night that settles waits that much longer, after the last write, and its limit with it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from tests.bench.frame import Line, Setting, at_most, benchmark, interleaved
from tests.bench.ground import CONFIG, Ground, Night, ground

WORKERS = 8


@benchmark("wall-clock", "a night of new issues that a slow model answers, without a pace")
def wall_clock(setting: Setting) -> Iterator[Line]:
    issues, latency = setting.size(200, small=16), 0.2 if setting.small else 1.0
    nights: list[Night] = []

    def night() -> float:
        with ground(setting.folder / f"model-{len(nights)}", latency=latency) as ours:
            ours.open(issues)
            nights.append(ours.night("--workers", str(WORKERS)))
            assert ours.comments() == [1] * issues, "every issue has its comment, or less was measured"
        return nights[-1].seconds

    taken = interleaved(setting, {"ours": night}, warm_up=False)
    limit = latency * -(-issues // WORKERS)
    yield Line(
        f"{issues} new issues, {latency} s a model call, {WORKERS} workers",
        "s",
        ours=taken["ours"],
        against={"limit": [limit]},
        target=at_most(1.15),
        limit_by="the model; the limit is latency x issues / workers, the rest the start of the process (imports)",
        note="settle 0s, or its wait would come on top of both",
    )
    yield from _overlap(nights)


def _overlap(nights: list[Night]) -> Iterator[Line]:
    yield Line(
        "from the model's last answer to the last write",
        "s",
        ours=[night.traffic.writes[-1] - night.traffic.answers[-1] for night in nights],
        against={
            "first answer to last write": [night.traffic.writes[-1] - night.traffic.answers[0] for night in nights]
        },
        target=at_most(0.1),
        limit_by="the writes of the last answers, which all come at once",
        note="were delivery to begin only when triage has ended, it would be most of the second number",
    )


@dataclass(frozen=True, kw_only=True)
class Paced:
    """A night in which writing is the limit: one write a second, the fastest pace that the settings take.

    `settle` and `github`, the time that GitHub takes for an answer, are seconds.
    """

    issues: int
    settle: int
    github: float

    @property
    def limit(self) -> float:
        return 2 * self.issues - 1 + self.settle

    @property
    def config(self) -> str:
        pace = f"settle: {self.settle}s, per_second: 1, per_hour: off"
        return CONFIG.replace("settle: 0s, per_second: off, per_hour: off", pace)

    def __str__(self) -> str:
        return (
            f"{self.issues} new issues, 1 write a second, {self.github:g} s an answer of GitHub, settle {self.settle} s"
        )


@benchmark("pace", "a night in which writing is the limit")
def pace(setting: Setting) -> Iterator[Line]:
    issues = setting.size(100, small=3)
    real = Paced(issues=issues, settle=2, github=0.0)
    slow = Paced(issues=min(issues, 20), settle=2, github=0.3)
    for number, paced in enumerate([real] if setting.small else [real, slow]):
        with ground(setting.folder / f"pace-{number}", latency=0.05, github_latency=paced.github) as ours:
            yield from _paced(ours, paced)


def _paced(ours: Ground, paced: Paced) -> Iterator[Line]:
    ours.open(paced.issues)
    night = ours.night("--workers", str(WORKERS), config=paced.config)
    writes = night.traffic.writes
    assert len(writes) == 2 * paced.issues, "a label and a comment for each issue, or less was measured"
    if not paced.github:
        yield Line(
            str(paced),
            "s",
            ours=[night.seconds],
            against={"limit": [paced.limit]},
            target=at_most(1.05),
            limit_by="the pace; the limit is the spacing of the writes and the settle time",
            note="once: nearly all of it is waiting",
        )
    yield Line(
        f"{paced}: first to last write",
        "s",
        ours=[writes[-1] - writes[0]],
        against={"spacing": [len(writes) - 1.0]},
        target=at_most(1.05),
        limit_by="the pace: each look is taken while its slot is waited for",
        note=f"the longest gap was {max(after - before for before, after in pairwise(writes)):.2f} s",
    )
