"""How many requests a night sends to GitHub, counted where they arrive. A count is the same on every machine.

The limit that the first column is held to: one request for each 100 issues read, one look for each issue that is
written to, and one write for each action (a new issue here gets a label and a comment).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.bench.frame import Line, Setting, at_most, benchmark
from tests.bench.ground import REPO, Ground, Night, ground

_OPENING = "the repository, the labels, who we are"
_WRITING = f"{_OPENING}; the first comment of a night read once more; the look back"


@benchmark("requests", "requests to GitHub in a night, for N open issues of which M are new")
def requests(setting: Setting) -> Iterator[Line]:
    many = [setting.rows] if setting.rows else [20] if setting.small else [100, 1000]
    for open_issues in many:
        for new in (0, 5) if setting.small else (0, 20, 100):
            folder = setting.folder / f"{open_issues}-{new}"
            yield from _nights(folder, open_issues=open_issues, new=min(new, open_issues))


def _nights(folder: Path, *, open_issues: int, new: int) -> Iterator[Line]:
    """A lost ledger's night, one with new issues and an unchanged one, in this order over the same issues."""
    pages, old = -(-open_issues // 100), open_issues - new
    with ground(folder / "ours") as ours:
        ours.open(old, answered=True)
        lost = ours.night()
        ours.open(new)
        told = ours.night()
        unchanged = ours.night()
        assert ours.comments() == [1] * open_issues, "every issue has one comment, so the counts mean something"
    if not new:
        yield from _lost(open_issues, lost)
        yield from _unchanged(open_issues, pages, unchanged)
        return
    with ground(folder / "naive") as peer:
        peer.open(old, answered=True)
        peer.open(new)
        naive = _naive(peer)
    yield Line(
        f"{open_issues:,} open, {new} new",
        "requests",
        ours=_count(told),
        against={"limit": [pages + 3 * new], "bot without a ledger": [naive]},
        target=at_most(6, of="difference"),
        limit_by=_WRITING,
        note="the bot without a ledger looks at no issue before it writes, and does not look back",
    )


def _lost(open_issues: int, lost: Night) -> Iterator[Line]:
    name = f"{open_issues:,} open, ledger lost, markers there"
    limit = {"limit": [float(-(-open_issues // 100))]}
    yield Line(name, "requests", ours=_count(lost), against=limit, target=at_most(40, of="value"), limit_by=_OPENING)
    yield Line(name, "writes", ours=[len(lost.traffic.writes)], target=at_most(0, of="value"))
    yield Line(name, "model calls", ours=[len(lost.traffic.answers)], target=at_most(0, of="value"))


def _unchanged(open_issues: int, pages: int, night: Night) -> Iterator[Line]:
    name = f"{open_issues:,} open, nothing changed"
    yield Line(
        name,
        "requests",
        ours=_count(night),
        against={"limit": [float(pages)]},
        target=at_most(4, of="difference"),
        limit_by=_OPENING,
    )
    yield Line(name, "model calls", ours=[len(night.traffic.answers)], target=at_most(0, of="value"))


def _count(night: Night) -> Sequence[float]:
    return [float(len(night.traffic.github))]


def _naive(peer: Ground) -> float:
    """What the demo's bot without a ledger sends in one night."""
    from triagebot.demo import naive
    from triagebot.sandbox.hub import TOKEN

    peer.seen()
    naive.night(peer.urls[0], REPO, TOKEN, peer.urls[1], sure=0.6)
    return float(len(peer.seen().github))
