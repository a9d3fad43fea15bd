"""How a night went, told from one set of records: for the terminal, for the step summary, for machines."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from triagebot.cli import durations, terminal
from triagebot.nightly.night import Summary
from triagebot.nightly.report import Ended, Entry

_SHOWN = 200
"""Issues listed in a summary for people; the step summary may hold 1 MiB, and nobody reads more anyway."""

_WRITES = ("labels_written", "comments_posted", "comments_edited", "twins_removed", "withdrawn", "unclear", "adopted")


def as_json(summary: Summary) -> dict[str, Any]:
    """Everything, with stable names."""
    tally = summary.tally
    return {
        "repo": summary.place.repository.name,
        "day": summary.night.day.isoformat(),
        "how": summary.how,
        "seconds": round(summary.seconds, 3),
        "counts": dict(tally.totals()),
        "skipped": dict(tally.skipped),
        "dropped": dict(tally.dropped),
        "waiting": summary.waiting,
        "left": {"issues": _number(summary, Ended.LEFT), "oldest": summary.oldest_left},
        "usd": round(summary.purse.usd(tally.usage), 6),
        "issues": [_entry(entry) for entry in _sorted(summary)],
        "notes": list(tally.notes),
    }


def _entry(entry: Entry) -> dict[str, Any]:
    return {
        "issue": entry.issue,
        "ended": entry.ended.value,
        "title": entry.title,
        "labels": [{"name": v.name, "confidence": v.confidence, "reason": v.reason} for v in entry.labels],
        "reason": entry.reason,
        "requests": entry.usage.requests,
        "tokens_in": entry.usage.tokens_in,
        "tokens_out": entry.usage.tokens_out,
    }


def lines(summary: Summary) -> list[str]:
    """The summary for a terminal or a log, one fact a line."""
    told = [
        f"{summary.place.repository.name}, night of {summary.night.day}: {summary.how}"
        f" after {durations.format(round(summary.seconds))}",
        "  issues: " + _joined(_ends(summary)),
        "  writes: " + (_joined(_writes(summary)) or "none"),
        "  model: " + _cost(summary),
    ]
    told += [f"  skipped: {reason}: {number}" for reason, number in sorted(summary.tally.skipped.items())]
    told += [f"  not a label: {what} ({number})" for what, number in sorted(summary.tally.dropped.items())[:20]]
    told += [_line(entry) for entry in _talkative(summary)[:_SHOWN]]
    if summary.oldest_left is not None:
        told.append(f"  left over: {_number(summary, Ended.LEFT)} issues, the oldest is issue {summary.oldest_left}")
    told += [f"  note: {note}" for note in summary.tally.notes]
    return [terminal.plain(line) for line in told]


def _line(entry: Entry) -> str:
    labels = ", ".join(f"{vote.name} {vote.confidence:.2f}" for vote in entry.labels)
    what = labels or ": ".join(part for part in (entry.ended.value, entry.reason) if part)
    return f"  issue {entry.issue}: {what}  {entry.title[:60]}".rstrip()


def markdown(summary: Summary, site: str | None) -> str:
    """The GitHub step summary; `site` is where the issues are shown. Strangers' text stands in code spans."""
    head = [f"### triagebot: {summary.place.repository.name}, {summary.night.day}", ""]
    head += [f"- {line.strip()}" for line in lines(summary)[:4]]
    if summary.oldest_left is not None:
        head.append(f"- left over: {_number(summary, Ended.LEFT)} issues, the oldest is issue {summary.oldest_left}")
    head += [f"- note: {_code(note)}" for note in summary.tally.notes[:_SHOWN]]
    issues = f"{site}/{summary.place.repository.name}/issues" if site else None
    shown = _talkative(summary)
    rows = [_row(entry, issues) for entry in shown[:_SHOWN]]
    table = ["", "| issue | title | labels | why | ended |", "| --- | --- | --- | --- | --- |", *rows] if rows else []
    more = ["", f"And {len(shown) - _SHOWN} more."] if len(shown) > _SHOWN else []
    return "\n".join([*head, *table, *more, ""])


def _row(entry: Entry, issues: str | None) -> str:
    number = f"[{entry.issue}]({issues}/{entry.issue})" if issues else f"{entry.issue}"
    labels = ", ".join(f"{_code(vote.name)} {vote.confidence:.2f}" for vote in entry.labels)
    why = "; ".join(vote.reason for vote in entry.labels if vote.reason) or entry.reason
    return f"| {number} | {_code(entry.title[:80])} | {labels} | {_code(why[:200])} | {entry.ended.value} |"


def _code(text: str) -> str:
    inert = " ".join(text.split()).replace("`", "'").replace("|", "¦")
    return f"`{inert}`" if inert else ""


def _ends(summary: Summary) -> Iterable[str]:
    yield f"{summary.tally.counts['seen']} seen"
    for ended in Ended:
        if number := _number(summary, ended):
            yield f"{number} {ended.value}"


def _writes(summary: Summary) -> Iterable[str]:
    for name in _WRITES:
        if number := summary.tally.counts[name]:
            yield f"{number} {name.replace('_', ' ')}"


def _cost(summary: Summary) -> str:
    usage, usd = summary.tally.usage, summary.purse.usd(summary.tally.usage)
    tokens = (
        "tokens unknown" if usage.tokens_in is None else f"{usage.tokens_in} tokens in, {usage.tokens_out or 0} out"
    )
    saved = summary.tally.counts["calls_saved"]
    return _joined(
        [
            f"{usage.requests} requests",
            tokens if usage.requests else "",
            f"{usd:.4f} USD" if usd else "",
            f"{saved} issues answered on this machine, without a call" if saved else "",
        ]
    )


def _number(summary: Summary, ended: Ended) -> int:
    return sum(entry.ended is ended for entry in summary.tally.entries.values())


def _sorted(summary: Summary) -> list[Entry]:
    return [entry for _, entry in sorted(summary.tally.entries.items())]


def _talkative(summary: Summary) -> list[Entry]:
    """The issues that something was done about, or that something went wrong with."""
    quiet = {Ended.SKIPPED, Ended.STANDING, Ended.LEFT}
    return [entry for entry in _sorted(summary) if entry.ended not in quiet]


def _joined(parts: Iterable[str]) -> str:
    return ", ".join(part for part in parts if part)
