"""The model's answer: what was said, what of it counts, and what is kept."""

from __future__ import annotations

import enum
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from triagebot.core import extract, text

_VOTES = 50  # more than GitHub's form for labels shows; an answer that names more names nothing
_NAME = 100  # characters; GitHub's label names end at 50
_REASON = 500  # characters; the comment shows fewer
_TOKENS = 1_000_000_000


class Outcome(enum.StrEnum):
    """How the work on one text of one issue ended."""

    LABELLED = "labelled"
    NOTHING_FITS = "nothing-fits"
    REFUSED = "refused"
    FILTERED = "filtered"
    TOO_LONG = "too-long"
    STANDING = "standing"  # no verdict is known, but our own comment for this text stands


@dataclass(frozen=True, kw_only=True, slots=True)
class Vote:
    """One label the model would set: `confidence` in 0..1, `reason` in its own words (data, never trusted)."""

    name: str
    confidence: float
    reason: str = ""


def fields_of(record: Vote | Verdict) -> dict[str, object]:
    """For JSON. `dataclasses.asdict` copies every value besides, which was a tenth of the ledger's own time."""
    return {name: getattr(record, name) for name in record.__slots__}


@dataclass(frozen=True, kw_only=True, slots=True)
class Usage:
    """What an answer cost. `None` means the server did not say, which is not zero."""

    requests: int = 0
    tokens_in: int | None = None
    tokens_out: int | None = None

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            requests=self.requests + other.requests,
            tokens_in=_sum(self.tokens_in, other.tokens_in),
            tokens_out=_sum(self.tokens_out, other.tokens_out),
        )


def _sum(one: int | None, other: int | None) -> int | None:
    return other if one is None else one if other is None else one + other


@dataclass(frozen=True, kw_only=True, slots=True)
class Reply:
    """What the endpoint sent back, unjudged: the decoded JSON envelope and what it took to get it."""

    envelope: Mapping[str, Any]
    usage: Usage
    model: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Verdict:
    """The checked answer for one text: the labels that passed the policy, or why there is none."""

    outcome: Outcome
    labels: tuple[Vote, ...] = ()
    dropped: tuple[str, ...] = ()  # "name: why", for the report
    model: str = ""
    prompt: str = ""  # digest of the system text and the label list that were asked with

    def to_json(self) -> str:
        return json.dumps(self, default=fields_of, ensure_ascii=False, sort_keys=True)

    @classmethod
    def from_json(cls, stored: str) -> Verdict:
        fields = json.loads(stored)
        verdict = cls(outcome=Outcome(fields.pop("outcome")))
        labels = tuple(Vote(**vote) for vote in fields.pop("labels"))
        return replace(verdict, labels=labels, **fields | {"dropped": tuple(fields["dropped"])})


@dataclass(frozen=True, slots=True)
class Answer:
    """What the model said, well formed but not yet held against the policy; no votes means "nothing fits"."""

    votes: tuple[Vote, ...]


@dataclass(frozen=True, slots=True)
class Unusable:
    """An answer that cannot count. `kind` is refused, filtered, truncated, empty or unparseable.

    `final` is the outcome to record, or `None` where one changed second try is worth it.
    `reason` never quotes the model or the issue.
    """

    kind: str
    reason: str
    final: Outcome | None


_FILTERED = Unusable("filtered", "The endpoint's content filter withheld the answer.", Outcome.FILTERED)
_REFUSED = Unusable("refused", "The model refused to answer.", Outcome.REFUSED)
_TRUNCATED = Unusable("truncated", "The answer was cut off at the token limit (model.max_output_tokens).", None)
_EMPTY = Unusable("empty", "The answer held no text.", None)
_UNPARSEABLE = Unusable("unparseable", "The answer held no whole JSON of the shape that was asked for.", None)


def judge(envelope: Mapping[str, object]) -> Answer | Unusable:
    """Read a chat completion. Total: whatever JSON the endpoint sends, this returns.

    The finish reason is looked at before the content, for half an answer can parse.
    """
    choice = _first(_field(envelope, "choices"))
    message, finish = _field(choice, "message"), _field(choice, "finish_reason")
    if finish == "content_filter" or not isinstance(message, Mapping):
        return _FILTERED
    if _refuses(message):
        return _REFUSED
    if finish in ("length", "max_tokens"):
        return _TRUNCATED
    said = _said(message.get("content"))
    if not extract.without_reasoning(said).strip():
        return _EMPTY
    votes = next((votes for votes in map(_votes, extract.readings(said)) if votes is not None), None)
    return _UNPARSEABLE if votes is None else Answer(votes)


def tokens(envelope: Mapping[str, object]) -> tuple[int | None, int | None]:
    """Return (prompt tokens, completion tokens) as the endpoint counts them; `None` where it does not say."""
    usage = _field(envelope, "usage")
    return _count(_field(usage, "prompt_tokens")), _count(_field(usage, "completion_tokens"))


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _TOKENS else None


def _field(value: object, name: str) -> object:
    return value.get(name) if isinstance(value, Mapping) else None


def _first(value: object) -> object:
    return value[0] if isinstance(value, list | tuple) and value else None


def _parts(content: object) -> Sequence[object]:
    return content if isinstance(content, list | tuple) else ()


def _refuses(message: Mapping[str, object]) -> bool:
    refusals = [message.get("refusal"), *(_field(part, "refusal") for part in _parts(message.get("content")))]
    return any(isinstance(refusal, str) and refusal.strip() for refusal in refusals)


def _said(content: object) -> str:
    if isinstance(content, str):
        return content
    return "".join(words for part in _parts(content) if isinstance(words := _field(part, "text"), str))


def _votes(reading: object) -> tuple[Vote, ...] | None:
    """Return the votes of a reading, or `None` if it has not the shape of an answer.

    A list that is not empty yet holds no usable vote is a broken answer, not "nothing fits".
    """
    items = reading if isinstance(reading, list) else _field(reading, "labels")
    if not isinstance(items, list):
        return None
    best: dict[str, Vote] = {}
    for vote in _readable(items):
        known = best.get(vote.name)
        if known is None and len(best) == _VOTES:
            break
        if known is None or vote.confidence > known.confidence:
            best[vote.name] = vote
    return tuple(best.values()) if best or not items else None


def _readable(items: Sequence[object]) -> Iterator[Vote]:
    for item in items:
        fields = {"name": item} if isinstance(item, str) else item
        name, reason = _line(_field(fields, "name"), _NAME), _line(_field(fields, "reason"), _REASON)
        confidence = _confidence(fields)
        if name and confidence is not None:
            yield Vote(name=name, confidence=confidence, reason=reason)


def _line(value: object, limit: int) -> str:
    return text.canonical(value[:limit]).strip()[:limit].rstrip() if isinstance(value, str) else ""


def _confidence(fields: object) -> float | None:
    """Return 0..1, or `None` for a value that says nothing. A bare name is said without doubt."""
    if not isinstance(fields, Mapping) or "confidence" not in fields:
        return 1.0
    value = fields["confidence"]
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 100:
        return None
    return float(value) if value <= 1 else value / 100
