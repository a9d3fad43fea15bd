"""The model's answer: what was said, what of it counts, and what is kept."""

from __future__ import annotations

import enum
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any


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
        return json.dumps(asdict(self), ensure_ascii=False, sort_keys=True)

    @classmethod
    def from_json(cls, stored: str) -> Verdict:
        fields = json.loads(stored)
        verdict = cls(outcome=Outcome(fields.pop("outcome")))
        labels = tuple(Vote(**vote) for vote in fields.pop("labels"))
        return replace(verdict, labels=labels, **fields | {"dropped": tuple(fields["dropped"])})
