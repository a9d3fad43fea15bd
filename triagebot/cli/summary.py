"""How a night went, told from one set of records: for the terminal and for machines. The step summary is in `pages`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import reduce
from typing import Any

from triagebot.cli import durations, terminal
from triagebot.core.faults import Fault
from triagebot.core.verdict import Usage
from triagebot.nightly.report import Ended, Entry, Summary
from triagebot.nightly.tour import Told

SHOWN = 200
"""Issues listed in a summary for people: nobody reads more."""

QUIET = frozenset({Ended.SKIPPED, Ended.STANDING, Ended.LEFT})
"""Ends of which the number says enough."""

TROUBLE = frozenset({Ended.FAILED, Ended.DEAD, Ended.WAITING, Ended.HELD, Ended.UNANSWERABLE})

_WRITES = ("labels_written", "comments_posted", "comments_edited", "twins_removed", "withdrawn", "unclear", "adopted")


def discreet(summary: Summary, clean: Callable[[str], str]) -> Summary:
    """The same night without what nobody may see, whoever's words it is in; `clean` takes it out of a text."""
    tally = summary.tally
    told = replace(
        tally,
        entries={number: _discreet_entry(entry, clean) for number, entry in tally.entries.items()},
        dropped=_cleaned(tally.dropped, clean),
        skipped=_cleaned(tally.skipped, clean),
        notes=[clean(note) for note in tally.notes],
    )
    return replace(summary, tally=told, how=clean(summary.how))


def discreet_told(told: Told, clean: Callable[[str], str]) -> Told:
    """The same of one repository among several; its fault is then no more than its words."""
    night = told.summary and discreet(told.summary, clean)
    return replace(told, summary=night, fault=told.fault and Fault(clean(str(told.fault))))


def _discreet_entry(entry: Entry, clean: Callable[[str], str]) -> Entry:
    labels = tuple(replace(vote, name=clean(vote.name), reason=clean(vote.reason)) for vote in entry.labels)
    return replace(entry, title=clean(entry.title), labels=labels, reason=clean(entry.reason))


def _cleaned(counts: Counter[str], clean: Callable[[str], str]) -> Counter[str]:
    cleaned: Counter[str] = Counter()
    for what, count in counts.items():
        cleaned[clean(what)] += count
    return cleaned


# --- for machines


def as_json(summary: Summary, site: str | None) -> dict[str, Any]:
    """Everything, with stable names; `site` is where the issues are shown."""
    tally = summary.tally
    return {
        "repo": summary.place.repository.name,
        "night": summary.night.id,
        "day": summary.night.day.isoformat(),
        "how": summary.how,
        "seconds": round(summary.seconds, 3),
        "last_good": summary.night.last_good and summary.night.last_good.isoformat(),
        "counts": dict(tally.totals()),
        "skipped": dict(tally.skipped),
        "dropped": dict(tally.dropped),
        "waiting": summary.waiting,
        "left": {"issues": number(summary, Ended.LEFT), "oldest": summary.oldest_left},
        "usd": round(summary.purse.usd(tally.usage), 6),
        "issues": [_entry(summary, entry, site) for entry in entries(summary)],
        "notes": list(tally.notes),
    }


def _entry(summary: Summary, entry: Entry, site: str | None) -> dict[str, Any]:
    return {
        "issue": entry.issue,
        "ended": entry.ended.value,
        "title": entry.title,
        "link": link(summary, entry.issue, site),
        "labels": [{"name": v.name, "confidence": v.confidence, "reason": v.reason} for v in entry.labels],
        "reason": entry.reason,
        "requests": entry.usage.requests,
        "tokens_in": entry.usage.tokens_in,
        "tokens_out": entry.usage.tokens_out,
        "usd": round(summary.purse.usd(entry.usage), 6),
    }


def all_as_json(told: Sequence[Told], site: str | None) -> dict[str, Any]:
    """The nights of several repositories, and what they come to together."""
    summaries = [each.summary for each in told if each.summary]
    return {
        "repos": [_told_as_json(each, site) for each in told],
        "counts": dict(totals(summaries)),
        "waiting": sum(summary.waiting for summary in summaries),
        "usd": round(usd(summaries), 6),
        "failed": [each.name for each in told if each.summary is None or each.fault],
    }


def _told_as_json(told: Told, site: str | None) -> dict[str, Any]:
    night = as_json(told.summary, site) if told.summary else {"repo": told.name, "how": unreached(told)}
    return night | ({"fault": str(told.fault)} if told.fault else {})


# --- for people


def lines(summary: Summary) -> list[str]:
    """The summary for a terminal or a log, one fact a line."""
    told = [
        f"{summary.place.repository.name}, {named(summary)}: {summary.how} after {durations.spoken(summary.seconds)}",
        "  issues: " + joined(ends(summary)),
        "  writes: " + (joined(writes([summary])) or "none"),
        "  model: " + cost([summary]),
        "  last good night before it: " + last_good(summary),
    ]
    told += [f"  skipped: {reason}: {count}" for reason, count in sorted(summary.tally.skipped.items())]
    told += [f"  not a label: {what} ({count})" for what, count in sorted(summary.tally.dropped.items())[:20]]
    told += [_line(summary, entry) for entry in _trouble_last(talkative(summary))]
    told += [f"  {line}" for line in left_over(summary)]
    told += [f"  note: {note}" for note in summary.tally.notes]
    return [terminal.plain(line) for line in told]


def _trouble_last(told: Sequence[Entry]) -> list[Entry]:
    """The end is what a terminal shows; where not all are listed, trouble is."""
    trouble = [entry for entry in told if entry.ended in TROUBLE][:SHOWN]
    return [entry for entry in told if entry.ended not in TROUBLE][: SHOWN - len(trouble)] + trouble


def _line(summary: Summary, entry: Entry) -> str:
    labels = ", ".join(f"{vote.name} {vote.confidence:.2f}" for vote in entry.labels)
    what = labels or ": ".join(part for part in (entry.ended.value, why(entry)) if part)
    paid = f"  ({spent(summary, entry.usage)})" if entry.usage.requests else ""
    return f"  issue {entry.issue}: {what}  {entry.title[:60]}".rstrip() + paid


def all_lines(told: Sequence[Told]) -> list[str]:
    """Several repositories: in full where something happened, else a line each; then what they come to together."""
    shown: list[str] = []
    for each in told:
        if each.summary is None:
            shown.append(f"{each.name}: {unreached(each)}")
        elif each.fault is None and is_quiet(each.summary):
            shown.append(f"{each.name}, {named(each.summary)}: {joined(ends(each.summary))}")
        else:
            shown += lines(each.summary)
    summaries = [each.summary for each in told if each.summary]
    shown += [
        f"in all, {len(summaries)} of {len(told)} repositories: " + joined(together(summaries)),
        "  writes: " + (joined(writes(summaries)) or "none"),
        "  model: " + cost(summaries),
    ]
    return [terminal.plain(line) for line in shown]


def unreached(told: Told) -> str:
    """Why there is no night to tell of."""
    return f"not worked on: {told.fault}" if told.fault else "not reached before the end"


def is_quiet(summary: Summary) -> bool:
    """Whether nothing happened that anybody has to know."""
    return summary.how == "done" and not (talkative(summary) or summary.tally.notes or left_over(summary))


def named(summary: Summary) -> str:
    """The night by the number that `undo` asks for, and by its day."""
    return f"night {summary.night.id} of {summary.night.day}"


def last_good(summary: Summary) -> str:
    ended = summary.night.last_good
    return "none" if ended is None else f"{ended:%Y-%m-%d %H:%M}Z"


def why(entry: Entry) -> str:
    """The reason, where it says more than how the issue ended."""
    return "" if entry.reason == entry.ended.value else entry.reason


def left_over(summary: Summary) -> list[str]:
    if summary.oldest_left is None:
        return []
    return [f"left over: {number(summary, Ended.LEFT)} issues, the oldest is issue {summary.oldest_left}"]


def ends(summary: Summary) -> Iterable[str]:
    return together([summary])


def together(summaries: Sequence[Summary]) -> Iterable[str]:
    """How many issues were seen, and what became of them."""
    yield f"{sum(summary.tally.counts['seen'] for summary in summaries)} seen"
    yield from became(summaries, Ended)


def became(summaries: Sequence[Summary], among: Iterable[Ended]) -> Iterable[str]:
    for ended in among:
        if count := sum(number(summary, ended) for summary in summaries):
            yield f"{count} {ended.value}"


def writes(summaries: Sequence[Summary]) -> Iterable[str]:
    for name in _WRITES:
        if count := sum(summary.tally.counts[name] for summary in summaries):
            yield f"{count} {name.replace('_', ' ')}"


def cost(summaries: Sequence[Summary]) -> str:
    usage = reduce(lambda one, other: one + other, (summary.tally.usage for summary in summaries), Usage())
    saved, money = sum(summary.tally.counts["calls_saved"] for summary in summaries), usd(summaries)
    return joined(
        [
            f"{usage.requests} requests",
            _tokens(usage) if usage.requests else "",
            f"{money:.4f} USD" if money else "",
            f"{saved} issues answered on this machine, without a call" if saved else "",
        ]
    )


def spent(summary: Summary, usage: Usage) -> str:
    """What one issue took, in few words: a line of a terminal is short, and one request is what is to be expected."""
    money = summary.purse.usd(usage)
    calls = f"{usage.requests} requests" if usage.requests > 1 else ""
    tokens = "tokens unknown" if usage.tokens_in is None else f"{usage.tokens_in} + {usage.tokens_out or 0} tokens"
    return joined([calls, tokens, f"{money:.4f} USD" if money else ""])


def _tokens(usage: Usage) -> str:
    return "tokens unknown" if usage.tokens_in is None else f"{usage.tokens_in} tokens in, {usage.tokens_out or 0} out"


def usd(summaries: Sequence[Summary]) -> float:
    return sum(summary.purse.usd(summary.tally.usage) for summary in summaries)


def totals(summaries: Sequence[Summary]) -> Counter[str]:
    return reduce(lambda one, other: one + other, (Counter(s.tally.totals()) for s in summaries), Counter())


def number(summary: Summary, ended: Ended) -> int:
    return sum(entry.ended is ended for entry in summary.tally.entries.values())


def entries(summary: Summary) -> list[Entry]:
    return [entry for _, entry in sorted(summary.tally.entries.items())]


def talkative(summary: Summary) -> list[Entry]:
    """The issues that something was done about, or that something went wrong with."""
    return [entry for entry in entries(summary) if entry.ended not in QUIET]


def link(summary: Summary, issue: int, site: str | None) -> str | None:
    return f"{site}/{summary.place.repository.name}/issues/{issue}" if site else None


def joined(parts: Iterable[str]) -> str:
    return ", ".join(part for part in parts if part)
