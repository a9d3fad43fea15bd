"""The report as one page that needs nothing else: it can be mailed, kept, and read on a phone."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import resources
from typing import Any

import jinja2
from markupsafe import Markup, escape

from triagebot.evaluation import plots
from triagebot.evaluation.intervals import Interval
from triagebot.evaluation.scoring import Report, Spent
from triagebot.evaluation.thresholds import Point

_MOST_NAMES = 20
"""A confusion matrix with more names than that is no picture any more; the JSON has it."""

_NARROW = "\u00a0"  # a blank at which no line ends

_SHOWN = (0, 40, 50, 60, 70, 80, 90, 95)
"""Thresholds in the table, in hundredths."""


def html(report: Report) -> str:
    """Render the page; needs the extra `eval`. Names of labels and repositories are escaped: strangers chose them."""
    template = resources.files("triagebot.evaluation").joinpath("page.html.j2").read_text(encoding="utf-8")
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, keep_trailing_newline=True
    )
    environment.filters |= {"percent": _percent, "three": _three, "interval": _interval, "breakable": _breakable}
    return environment.from_string(template).render(
        report=report,
        system=report.system,
        systems=[report.system, *report.beside],
        rows=[point for point in report.system.points if _shown(point, report.system.suggested)],
        confusion=_confusion(report.system.confusion),
        hundred=_hundred,
        scores=plots.scores(report),
        coverage=plots.coverage(report),
        reliability=plots.reliability(report.predictions),
    )


def _shown(point: Point, suggested: Point | None) -> bool:
    return point == suggested or round(100 * point.min_confidence) in _SHOWN


def _confusion(table: Mapping[str, Mapping[str, int]]) -> dict[str, Any] | None:
    """The matrix with each cell's share of its row, which is how dark it is."""
    names = sorted({name for row in table.values() for name in row})
    if len(names) > _MOST_NAMES or len(table) > _MOST_NAMES:
        return None
    rows = [
        (truth, [(row.get(name, 0), row.get(name, 0) / sum(row.values()), name == truth) for name in names])
        for truth, row in table.items()
    ]
    return {"names": names, "rows": rows}


def _hundred(spent: Spent) -> list[tuple[str, str]]:
    """What 100 issues take, as (what, how much)."""
    each = 100 / max(1, spent.issues)
    told = [("requests", f"{spent.calls * each:.0f}")]
    for name, value in (("tokens in", spent.tokens_in), ("tokens out", spent.tokens_out)):
        told.append((name, "unknown" if value is None else f"{value * each:,.0f}"))
    return [*told, ("USD", "unknown" if spent.usd is None else f"{spent.usd * each:.4f}")]


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.1f}{_NARROW}%"  # noqa: RUF001 - a dash where there is no number


def _breakable(name: str) -> Markup:
    """A repository's name that may go on in the next line after its slash."""
    return escape(name).replace("/", Markup("/<wbr>"))


def _three(value: float) -> str:
    return f"{value:.3f}"


def _interval(interval: Interval) -> str:
    return f"{interval[0]:.3f} to {interval[1]:.3f}"
