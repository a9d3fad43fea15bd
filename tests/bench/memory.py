"""The most memory that a night ever holds, as the kernel counts it for a process that is only the program.

A night should hold a page of the sweep and the issues that it will ask about tonight, however many there are; so
the bound is one number. The floor is the same night over one small issue: the interpreter and its libraries. Units
are 1,000,000 bytes, and issues are plain ASCII, of which a character is a byte.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tests.bench.frame import Line, Setting, at_most, benchmark
from tests.bench.ground import CONFIG, Ground, NotNight, ground

SIZE = 20_000
LARGE = 3_000_000

_GIVES_BACK = {"MALLOC_MMAP_THRESHOLD_": "262144"}
"""For glibc: else it raises this bound to the size of what was freed, and keeps the like from then on."""

BUDGET = CONFIG.replace("issues: off", "issues: 50")
"""The default, for a first night over a repository that has long been without a bot."""


@benchmark("memory", "the most memory that a night holds")
def memory(setting: Setting) -> Iterator[Line]:
    issues = setting.size(10_000, small=200)
    floor = _floor(setting.folder / "floor")
    with ground(setting.folder / "new") as ours:
        ours.open(issues, size=SIZE)
        first, second = _peak(ours), _peak(ours)
    yield _line(f"{issues:,} issues of {SIZE // 1000} kB, none answered, 50 a night", first, floor)
    yield _line("the night after it", second, floor)
    with ground(setting.folder / "answered") as ours:
        ours.open(issues, size=SIZE, answered=True)
        lost, unchanged = _peak(ours), _peak(ours)
    yield _line(f"{issues:,} issues of {SIZE // 1000} kB, all answered, ledger lost", lost, floor)
    yield _line("the night after it, nothing changed", unchanged, floor)
    yield from _large(setting.folder / "large", floor)


def _line(name: str, peak: float, floor: float) -> Line:
    return Line(
        name,
        "MB",
        ours=[peak],
        against={"one small issue": [floor]},
        target=at_most(150, of="value"),
        limit_by="the libraries, then a page of 100 issues: as it came, as text, and decoded",
    )


def _large(folder: Path, floor: float) -> Iterator[Line]:
    name = f"one issue of {LARGE // 1_000_000} MB"
    with ground(folder) as ours:
        ours.open(1, size=LARGE)
        given_back = _peak(ours, **_GIVES_BACK)
        ours.lose_the_ledger()
        kept = _peak(ours, "--again")
    yield Line(
        f"{name}, held at one time",
        "MB",
        ours=[given_back],
        against={"one small issue": [floor]},
        target=at_most(8 * LARGE / 1e6, of="difference"),
        limit_by="the answer as text and decoded, the canonical form, and the steps of cleaning it for the prompt",
        note="eight copies at the most; measured with an allocator that gives back at once what is freed",
    )
    yield Line(
        f"{name}, with what the allocator keeps",
        "MB",
        ours=[kept],
        against={"one small issue": [floor]},
        target=at_most(150, of="value"),
        limit_by="the allocator, which keeps what each of three threads has freed",
        note="GitHub itself takes bodies of 0.26 MB at the most",
    )


def _floor(folder: Path) -> float:
    with ground(folder) as ours:
        ours.open(1)
        return _peak(ours)


def _peak(ours: Ground, *argv: str, **environ: str) -> float:
    night = ours.night(*argv, config=BUDGET, **environ)
    if night.peak_mb is None:
        raise NotNight("this system does not tell the most memory that a process held: measure on Linux")
    return night.peak_mb
