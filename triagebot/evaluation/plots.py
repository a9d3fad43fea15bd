"""The report's plots, as SVG that sits inside the page. The only module that knows matplotlib, and only when called.

Colours are placeholders that become the page's own variables, so that one drawing is right in light and in dark.
"""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from triagebot.evaluation.cases import Prediction
from triagebot.evaluation.scoring import Figure, Report, SystemScore
from triagebot.evaluation.thresholds import GOAL

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_INK, _FAINT, _MAIN, _OTHER, _GOAL = "#010101", "#020202", "#030303", "#040404", "#050505"
_COLOURS = {
    _INK: "currentColor",
    _FAINT: "var(--faint)",
    _MAIN: "var(--main)",
    _OTHER: "var(--other)",
    _GOAL: "var(--goal)",
}
_STYLE: Any = {
    "svg.fonttype": "none",  # text stays text: it can be read aloud, searched and resized
    "svg.hashsalt": "triagebot",  # the same report is the same file
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": _FAINT,
    "axes.labelcolor": _INK,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": _FAINT,
    "grid.linewidth": 0.4,
    "text.color": _INK,
    "xtick.color": _INK,
    "ytick.color": _INK,
    "legend.frameon": False,
}
_WIDTH = 4.4  # inches; on a phone of 390 px a 9 pt letter then comes out at some 10 px
_BINS = 10


def scores(report: Report) -> str:
    """Macro-F1 with its interval: all repositories together and each of them, beside what else was measured."""
    systems = [report.system, *report.beside]
    repos = [*report.system.repos] if len(report.system.repos) > 1 else []
    rows = ["all", *repos]

    def draw(axes: Axes) -> None:
        for place, system in enumerate(systems):
            figures = [system.macro_f1, *(system.repos[repo].macro_f1 for repo in repos if repo in system.repos)]
            at = [row + 0.16 * (place - (len(systems) - 1) / 2) for row in range(len(figures))]
            _whiskers(axes, figures, at, system.name, place)
        axes.set_yticks(range(len(rows)), [_wrapped(row) for row in rows])
        axes.set_ylim(len(rows) - 0.5, -0.5)
        axes.set_xlim(0, 1)
        axes.set_xlabel("macro-F1, with its 95 % interval")
        axes.legend(loc="lower center", bbox_to_anchor=(0.4, 1.0), ncols=1)

    return _svg(draw, height=1.3 + 0.42 * len(rows) + 0.16 * len(systems))


def _whiskers(axes: Axes, figures: Sequence[Figure], at: Sequence[float], name: str, place: int) -> None:
    values = [figure.value for figure in figures]
    low = [max(0.0, figure.value - figure.interval[0]) for figure in figures]
    high = [max(0.0, figure.interval[1] - figure.value) for figure in figures]
    axes.errorbar(
        values,
        at,
        xerr=[low, high],
        fmt="os^Dv"[place % 5],
        color=_MAIN if place == 0 else _OTHER,
        markersize=5,
        capsize=2.5,
        linewidth=1.3,
        label=name,
    )


def coverage(report: Report) -> str:
    """Precision against coverage, from the strictest threshold to none, with the goal and the suggestion."""
    points = [point for point in report.system.points if point.precision is not None]

    def draw(axes: Axes) -> None:
        axes.plot([p.coverage for p in points], [p.precision or 0.0 for p in points], color=_MAIN, linewidth=1.8)
        for point in points[::10]:
            axes.plot(point.coverage, point.precision or 0.0, "o", color=_MAIN, markersize=3.5)
        axes.axhline(GOAL, color=_GOAL, linewidth=1, linestyle="--")
        axes.text(1.02, GOAL, "the goal: nine in ten", color=_GOAL, ha="right", va="bottom")
        _mark_suggestion(axes, report.system)
        axes.set_xlim(0, 1.02)
        least = min([GOAL, *(p.precision or 0.0 for p in points)])
        axes.set_ylim(max(0.0, least - 0.08), 1.02)
        axes.set_xlabel("coverage: share of the issues that get a label")
        axes.set_ylabel("precision")

    return _svg(draw, height=3.0)


def _mark_suggestion(axes: Axes, system: SystemScore) -> None:
    point = system.suggested
    if point is None or point.precision is None:
        return
    axes.plot(point.coverage, point.precision, "o", color=_GOAL, markersize=8, markerfacecolor="none")
    axes.annotate(
        f"{point.min_confidence:.2f}",
        (point.coverage, point.precision),
        xytext=(6, 6),
        textcoords="offset points",
        color=_GOAL,
        weight="bold",
    )


def reliability(predictions: Sequence[Prediction]) -> str:
    """Whether a confidence of 0.7 is right seven times in ten: ten bins of equal width (DeGroot and Fienberg 1983)."""
    told = [p for p in predictions if p.said.top is not None]
    bins: list[list[Prediction]] = [[] for _ in range(_BINS)]
    for prediction in told:
        bins[min(_BINS - 1, int(prediction.said.confidence * _BINS))].append(prediction)
    filled = [each for each in bins if each]

    def draw(axes: Axes) -> None:
        axes.plot([0, 1], [0, 1], color=_FAINT, linewidth=1, linestyle="--")
        axes.plot(
            [sum(p.said.confidence for p in each) / len(each) for each in filled],
            [sum(p.said.top in p.case.truth for p in each) / len(each) for each in filled],
            "o-",
            color=_MAIN,
            linewidth=1.3,
            markersize=4,
        )
        axes.set_xlim(0, 1.02)
        axes.set_ylim(0, 1.02)
        axes.set_xlabel("confidence")
        axes.set_ylabel("share that is right")

    return _svg(draw, height=2.8)


def _wrapped(name: str) -> str:
    """A repository's name on two lines: on a phone the plot needs the width."""
    return name.replace("/", "/\n", 1)


def _svg(draw: Any, *, height: float) -> str:
    import matplotlib as mpl
    from matplotlib.figure import Figure as Canvas

    with mpl.rc_context(_STYLE):
        canvas = Canvas(figsize=(_WIDTH, height), layout="constrained")
        canvas.patch.set_alpha(0)
        axes = canvas.subplots()
        axes.patch.set_alpha(0)
        draw(axes)
        file = io.StringIO()
        canvas.savefig(file, format="svg", metadata={"Date": None, "Creator": None})
    return _for_the_page(file.getvalue())


def _for_the_page(svg: str) -> str:
    """The element alone, without its fixed size, and with the page's colours."""
    svg = svg[svg.index("<svg") :]
    for size in ("width", "height"):
        svg = re.sub(rf'(<svg[^>]*?) {size}="[^"]*"', r"\1", svg, count=1)
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    for placeholder, colour in _COLOURS.items():
        svg = svg.replace(placeholder, colour)
    return svg
