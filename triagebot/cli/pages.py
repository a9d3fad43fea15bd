"""The GitHub step summary: what needs somebody first, then what went well, within the bytes that GitHub takes.

Strangers' text (titles, reasons, what servers said) stands in code spans, where it is shown and never acts.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from triagebot.cli import durations, summary
from triagebot.core import unseen
from triagebot.nightly.report import Ended, Entry, Summary
from triagebot.nightly.tour import Told

MOST = 900_000
"""Bytes. GitHub refuses a step summary of more than 1 MiB as a whole, and the step may have written before us."""

_NOTES = 50
_TITLE, _WHY, _NOTE, _SENTENCE = 80, 200, 500, 2000
_MOST_LABELS = 5


class Page:
    """Markdown that stops growing in time: what has no room is counted instead."""

    def __init__(self, most: int = MOST) -> None:
        self._lines: list[str] = []
        self._room = most

    def __str__(self) -> str:
        return "\n".join([*self._lines, ""])

    def put(self, *lines: str) -> bool:
        """Add all of the lines, or none of them where there is no room."""
        size = sum(len(line.encode("utf-8", "replace")) + 1 for line in lines)
        if size > self._room:
            return False
        self._room -= size
        self._lines += lines
        return True

    def table(self, columns: Sequence[str], rows: Sequence[Sequence[str]], *, most: int = summary.SHOWN) -> None:
        """Its first rows, and how many more there would be."""
        if not rows or not self.put("", _row(columns), _row(["---"] * len(columns))):
            return
        shown = 0
        while shown < min(len(rows), most) and self.put(_row(rows[shown])):
            shown += 1
        if shown < len(rows):
            self.put("", f"And {len(rows) - shown} more.")

    def folded(self, title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """A table to be opened by whoever wants it; the blank line lets GitHub read Markdown inside of HTML."""
        if rows and self.put("", f"<details><summary>{title}</summary>"):
            self.table(columns, rows)
            self._lines += ["", "</details>"]


def add(path: Path, page: str) -> None:
    """Add the page to the step summary; where that cannot be done, say so."""
    try:
        with path.open("a", encoding="utf-8", errors="backslashreplace") as there:
            there.write(page)
    except OSError as error:  # the night went as it went: what cannot be told there is told elsewhere
        sys.stderr.write(f"triagebot: GITHUB_STEP_SUMMARY {path} cannot be written: {error.strerror}.\n")


def of_none(sentence: str, exit_code: int) -> str:
    """The page of what could not be done, or no further, and what has to be mended."""
    page = Page()
    page.put("", f"### triagebot: exit code {exit_code}", "", code(sentence[:_SENTENCE]))
    return str(page)


def of_one(night: Summary, site: str | None) -> str:
    """The page of one repository; `site` is where the issues are shown."""
    page = Page()
    _write(page, night, site, level="###")
    return str(page)


def of_many(told: Sequence[Told], site: str | None) -> str:
    """Several repositories: all of them together, then a section each, those that need somebody first."""
    page = Page()
    nights = [each.summary for each in told if each.summary]
    page.put(f"### triagebot: {len(told)} repositories", "", f"**{_headline_of_all(told)}**", "")
    page.put(f"- issues: {_counts(nights)}")
    page.put(f"- writes: {summary.joined(summary.writes(nights)) or 'none'}", f"- model: {summary.cost(nights)}")
    for each in told:
        if each.summary is None:
            page.put(f"- {code(each.name)}: {code(summary.unreached(each)[:_NOTE])}")
    for night in sorted((n for n in nights if not summary.is_quiet(n)), key=lambda n: n.how == "done"):
        if not _write(page, night, site, level="####"):
            break
    quiet = [n for n in nights if summary.is_quiet(n)]
    rows = [[code(n.place.repository.name), summary.joined(summary.ends(n)), summary.last_good(n)] for n in quiet]
    page.folded(
        f"Repositories with nothing to do: {len(quiet)}", ["repository", "issues", "last good night before"], rows
    )
    return str(page)


def _headline_of_all(told: Sequence[Told]) -> str:
    unreached = sum(each.summary is None for each in told)
    troubled = sum(each.summary is not None and each.summary.how != "done" for each in told)
    bad = summary.joined(
        [
            f"{unreached} of them not worked on" if unreached else "",
            f"{troubled} not finished" if troubled else "",
        ]
    )
    return bad[:1].upper() + bad[1:] or "All done"


def _write(page: Page, night: Summary, site: str | None, *, level: str) -> bool:
    """One night's section; whether there was room for its beginning."""
    name = night.place.repository.name
    if not page.put("", f"{level} triagebot: {name}, {summary.named(night)}", "", *_head(night)):
        return False
    _attention(page, night, site)
    answered = [e for e in summary.talkative(night) if e.ended not in summary.TROUBLE]
    if answered:
        page.put("", "**Answered**")
    page.table(_columns(night), [_cells(night, entry, site) for entry in answered])
    left = [e for e in summary.entries(night) if e.ended is Ended.LEFT]
    rows = [[_number(night, e, site), code(e.title[:_TITLE]), code(e.reason[:_WHY])] for e in left]
    page.folded(f"Left over: {len(left)} issues", ["issue", "title", "why"], rows)
    skipped = sorted(night.tally.skipped.items())
    page.folded(
        f"Skipped: {sum(n for _, n in skipped)} issues", ["why", "issues"], [[code(w), f"{n}"] for w, n in skipped]
    )
    dropped = [[code(what[:_WHY]), f"{count}"] for what, count in sorted(night.tally.dropped.items())]
    page.folded("Answers that are no label of this repository", ["what", "times"], dropped)
    return True


def _head(night: Summary) -> list[str]:
    """How it ended, in one line with what matters first, and the facts that every night has."""
    how, _, why = night.how.partition(": ")
    reason = f": {code(why[:_NOTE])}" if why else ""
    return [
        f"**{how.capitalize()}**{reason} after {durations.spoken(night.seconds)}: {_counts([night])}",
        "",
        *(f"- {line}" for line in summary.left_over(night)),
        f"- writes: {summary.joined(summary.writes([night])) or 'none'}",
        f"- model: {summary.cost([night])}",
        f"- last good night before: {summary.last_good(night)}",
    ]


def _counts(nights: Sequence[Summary]) -> str:
    """What may need somebody before what is fine."""
    first = [ended for ended in Ended if ended in summary.TROUBLE or ended is Ended.LEFT]
    urgent = summary.joined(summary.became(nights, first))
    fine = summary.joined(summary.became(nights, [ended for ended in Ended if ended not in first]))
    seen = f"{sum(night.tally.counts['seen'] for night in nights)} seen"
    return "; ".join(part for part in (f"**{urgent}**" if urgent else "", fine, seen) if part)


def _attention(page: Page, night: Summary, site: str | None) -> None:
    """What somebody may have to do something about."""
    troubled = [e for e in summary.talkative(night) if e.ended in summary.TROUBLE]
    notes = [code(note[:_NOTE]) for note in night.tally.notes[:_NOTES]]
    if troubled or notes:
        page.put("", "**To look at**", "")
    for note in notes:
        page.put(f"- {note}")
    page.table(_columns(night), [_cells(night, entry, site) for entry in troubled])


def _columns(night: Summary) -> list[str]:
    return ["issue", "title", "labels", "why", "ended", "calls", "tokens", *(["USD"] if _priced(night) else [])]


def _cells(night: Summary, entry: Entry, site: str | None) -> list[str]:
    usage = entry.usage
    labels = ", ".join(f"{code(vote.name)} {vote.confidence:.2f}" for vote in entry.labels[:_MOST_LABELS])
    why = "; ".join(vote.reason for vote in entry.labels if vote.reason) or summary.why(entry)
    tokens = "" if usage.tokens_in is None else f"{usage.tokens_in} + {usage.tokens_out or 0}"
    money = [f"{night.purse.usd(usage):.4f}" if usage.requests else ""] if _priced(night) else []
    title = code(entry.title[:_TITLE])
    calls = f"{usage.requests}" if usage.requests else ""
    return [_number(night, entry, site), title, labels, code(why[:_WHY]), entry.ended.value, calls, tokens, *money]


def _priced(night: Summary) -> bool:
    return bool(night.purse.budget.price_in or night.purse.budget.price_out)


def _number(night: Summary, entry: Entry, site: str | None) -> str:
    there = summary.link(night, entry.issue, site)
    return f"[{entry.issue}]({there})" if there else f"{entry.issue}"


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def code(text: str) -> str:
    """Strangers' words as one inert code span, without the characters that nobody sees."""
    inert = " ".join(unseen.visible(text).split()).replace("`", "'").replace("|", "¦")
    return f"`{inert}`" if inert else ""
