"""Small building blocks for the ledger's tests: texts, nights, verdicts, and a clock that tests own."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

from triagebot.core import key
from triagebot.core.actions import Action
from triagebot.core.key import Ref
from triagebot.core.rows import Claim, Night, OutboxRow, Parcel, Planned, Recorded, Unclaimed
from triagebot.core.verdict import Outcome, Usage, Verdict, Vote
from triagebot.ledger import address as addresses
from triagebot.ledger.address import Server
from triagebot.ledger.ledger import Ledger

REPO = 7
DAY = date(2026, 12, 1)
LEASE = 900.0
SEND = 120.0
SETTLE = 60.0
BUG = Vote(name="bug", confidence=0.9, reason="it crashes")
DOCS = Vote(name="docs", confidence=0.7)
LABELS = Planned(action=Action.LABELS, votes=(BUG,))
COMMENT = Planned(action=Action.COMMENT, votes=(BUG,))
BOTH = (LABELS, COMMENT)
POSTED = Recorded(id=31, node="IC_31")
LABELLED = Verdict(outcome=Outcome.LABELLED, labels=(BUG,), dropped=("p0: unknown",), model="m", prompt="p")
NOTHING = Verdict(outcome=Outcome.NOTHING_FITS)
SPENT = Usage(requests=1, tokens_in=100, tokens_out=10)


@dataclass
class Clock:
    """The database's clock, in the hand of a test."""

    seconds: float = 1_796_000_000.0

    def __call__(self) -> float:
        return self.seconds

    def pass_(self, seconds: float) -> None:
        self.seconds += seconds


def text(words: str = "it crashes", *, issue: int = 1, day: int = 0, repo: int = REPO) -> Ref:
    """The text `words` of an issue, `day` days after the first."""
    return Ref(repo_id=repo, issue=issue, day=DAY + timedelta(days=day), digest=key.digest("title", words))


def night(ledger: Ledger, *, day: int = 0, repo: int = REPO) -> Night:
    return ledger.open_night(repo_id=repo, repo="octo/demo", day=DAY + timedelta(days=day))


def claim(ledger: Ledger, ref: Ref, tonight: Night | None = None, **more: Any) -> Claim:
    """A claim that must be given, in a night of its own unless told."""
    given = ledger.claim(ref, tonight or night(ledger, day=(ref.day - DAY).days), lease=LEASE, **more)
    assert isinstance(given, Claim), given
    return given


def refused(ledger: Ledger, ref: Ref, tonight: Night | None = None, **more: Any) -> Unclaimed:
    given = ledger.claim(ref, tonight or night(ledger, day=(ref.day - DAY).days), lease=LEASE, **more)
    assert isinstance(given, Unclaimed), given
    return given


def answer(
    ledger: Ledger, ref: Ref, *planned: Planned, verdict: Verdict = LABELLED, tonight: Night | None = None, **more: Any
) -> None:
    """Claim the text and finish it."""
    ledger.finish(claim(ledger, ref, tonight, **more), verdict, planned, SPENT)


def fail(ledger: Ledger, ref: Ref, reason: str = "unparseable") -> Claim:
    held = claim(ledger, ref)
    ledger.fail(held, reason, SPENT)
    return held


def take(ledger: Ledger, tonight: Night) -> Parcel:
    """A parcel that must be there."""
    parcel = ledger.claim_parcel(REPO, tonight, lease=SEND)
    assert parcel is not None
    return parcel


def take_row(ledger: Ledger, tonight: Night) -> OutboxRow:
    (row,) = take(ledger, tonight).rows
    return row


def stored(ledger: Ledger, ref: Ref, action: Action = Action.COMMENT) -> OutboxRow:
    row = ledger.recall(ref.repo_id, ref.issue, ref.digest).row(action, ref.digest)
    assert row is not None
    return row


def run_of(ledger: Ledger, ref: Ref) -> dict[str, Any]:
    """The stored run of one text on one day."""
    (found,) = [
        dict(entry.fields)
        for entry in ledger.history(ref.repo_id, ref.issue)
        if entry.kind == "run" and entry.fields["key"] == ref.key
    ]
    return found


def events(ledger: Ledger, issue: int = 1, repo: int = REPO) -> list[str]:
    return [entry.what for entry in ledger.history(repo, issue) if entry.kind == "event"]


def parse_server(address: str) -> Server:
    place = addresses.parse(address)
    assert isinstance(place, Server)
    return place
