"""What a night needs from the world: a ledger, a tracker, a model, a clock. The night owns these interfaces.

The edges implement them and raise only the faults of `core.faults`. Seconds are
floats, times are aware UTC datetimes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime
from threading import Event
from typing import Protocol

from triagebot.core import history
from triagebot.core.actions import Receipt, Write
from triagebot.core.history import Cursor
from triagebot.core.issue import Comment, Identity, Label, Repository, Snapshot
from triagebot.core.key import Ref
from triagebot.core.outcomes import LabelOutcome
from triagebot.core.past import Past
from triagebot.core.prompt import Question
from triagebot.core.rows import Claim, Memory, Night, OutboxRow, Parcel, Planned, Recorded, Retraction, Unclaimed
from triagebot.core.verdict import Reply, Usage, Verdict
from triagebot.nightly.stop import Stop


class Clock(Protocol):
    """Time as a night sees it, so that tests can own it."""

    def now(self) -> datetime: ...

    def monotonic(self) -> float: ...

    def sleep(self, seconds: float) -> None:
        """Wait; returns early when the night is asked to stop."""

    def wait(self, event: Event, seconds: float) -> None:
        """Wait until `event` is set, at most `seconds`."""


class Hand(Protocol):
    """One thread of a night."""

    def start(self) -> None: ...

    def come_home(self, seconds: float | None = None) -> bool:
        """Join; False if it is still away after `seconds`. Raises what ended it."""


class Crew(Protocol):
    """Hires the threads of a night."""

    def __call__(self, name: str, work: Callable[[], None], stop: Stop) -> Hand: ...


class Model(Protocol):
    """Something that answers one question about one issue."""

    def ask(self, question: Question) -> Reply:
        """Raises `ModelUnusable`, `ModelUnreachable` or `QuestionRefused`; never retries a judged answer."""


class Pupil(Protocol):
    """Something that learns from the history before it can answer."""

    def learn(self, repo_id: int, labels: Sequence[str]) -> None:
        """Once, before the first question. Raises `TooLittleHistory`, which ends the night."""

    def forget(self) -> None:
        """The last question is answered; what was learnt may go."""


class Tracker(Protocol):
    """The tracker's verbs. A failed read is an error, never "not found"; a write goes out once."""

    @property
    def account(self) -> tuple[str, str]:
        """(API host, login): the pace is kept for this pair."""

    def repository(self) -> Repository:
        """Resolve the repository once. Raises `Misconfigured` where it cannot be."""

    def identity(self) -> Identity:
        """Who we are. Raises `Misconfigured` where that cannot be told: then nothing is written."""

    def labels(self) -> Sequence[Label]:
        """All labels of the repository, every page."""

    def sweep(self) -> Iterator[Snapshot]:
        """All open issues, oldest first, each with every nested list read to its end."""

    def look(self, number: int, recorded: Sequence[Recorded]) -> Snapshot:
        """One issue as it is now, with our comments from the list and by recorded id. Raises `Gone`, `Moved`."""

    def look_again(self, nodes: Sequence[str]) -> Iterator[Snapshot]:
        """Issues by node id as they are now, 100 to a request; unknown ones are left out."""

    def comment(self, recorded: Recorded) -> Comment | None:
        """One comment by id, as the look reads it; `None` if it is gone or not recognised as ours."""

    def labelled(self, *, since: datetime | None, after: str | None) -> Iterator[history.Page]:
        """Issues in any state and what labels people gave them, up to 100 to a page: the newest ones first, or
        those that changed at or after `since`, oldest change first. `after` goes on behind a page."""

    def send(self, write: Write) -> Receipt:
        """Carry out one write, once, following nothing. Raises one of `core.faults.TrackerFault`."""


class History(Protocol):
    """What people labelled before. It may get lost: every method raises `HistoryUnusable`, and a night goes on."""

    def cursor(self, repo_id: int) -> Cursor | None: ...

    def remember(
        self, repo_id: int, page: Iterable[Past], cursor: Cursor | None = None, *, gone: Collection[int] = ()
    ) -> None:
        """Take in a page, forget the numbers in `gone`, and note how far that is: all of it or nothing."""

    def trim(self, repo_id: int, keep: int) -> None:
        """Forget all but the newest `keep` issues."""

    def forget(self, repo_id: int) -> None: ...

    def similar(
        self,
        repo_id: int,
        title: str,
        body: str,
        *,
        limit: int,
        exclude: int | None = None,
        before: datetime | None = None,
        allowed: Collection[str] | None = None,
    ) -> Sequence[Past]:
        """Labelled issues like this text, likest first, never `exclude` nor the very same text."""

    def examples_pay(self, *, model: str, prompt: str | None = None) -> bool:
        """Whether a measure says that examples make this model better."""


class Ledger(Protocol):
    """Claim, run, finish; deliver. Every write to a row names owner and attempt or raises `LeaseLost`."""

    @property
    def owner(self) -> str:
        """A fresh UUID for each process."""

    # --- nights
    def open_night(self, *, repo_id: int, repo: str, day: date) -> Night: ...

    def close_night(self, night: Night, *, how: str, counts: Mapping[str, int]) -> None: ...

    # --- runs: claim, finish (or fail, or release)
    def recall(self, repo_id: int, issue: int, digest: str) -> Memory: ...

    def claim(self, ref: Ref, night: Night, *, lease: float, again: bool = False) -> Claim | Unclaimed:
        """One statement, one winner. Counts the try."""

    def finish(self, claim: Claim, verdict: Verdict, planned: Sequence[Planned], usage: Usage) -> None:
        """Verdict, outbox rows and `done` in one transaction; older pending rows become withdrawn (superseded)."""

    def fail(self, claim: Claim, reason: str, usage: Usage) -> None:
        """The issue's own failure; three failed days make the text dead."""

    def release(self, claim: Claim, reason: str, usage: Usage) -> None:
        """Not the issue's failure: the try is given back. Works on a claim that is running or just failed."""

    def adopt(self, ref: Ref, night: Night, comment: Recorded) -> bool:
        """Record that our own comment for this text stands (a lost ledger found its answer). False if known."""

    # --- outbox
    def mend(self, ref: Ref, planned: Planned, *, revise: bool = False) -> bool:
        """Open the row, or reopen a sent or withdrawn one; False where one is on its way already."""

    def next_due(self, repo_id: int, night: Night) -> float | None:
        """Seconds until the next row can be claimed (0 is now), `None` when none waits for tonight."""

    def claim_parcel(self, repo_id: int, night: Night, *, lease: float) -> Parcel | None:
        """Claim all due rows of the one issue that has waited longest; crashed sends become `unknown` first."""

    def renew(self, row: OutboxRow, *, lease: float) -> None: ...

    def sent(self, row: OutboxRow, comment: Recorded | None) -> None: ...

    def postpone(self, row: OutboxRow, *, seconds: float, reason: str) -> None:
        """Surely not written: back to the status it was claimed from, not before `seconds` from now."""

    def unclear(self, row: OutboxRow, *, settle: float, reason: str) -> None:
        """Maybe delivered: unknown, looked at again after `settle`; the third such night makes it dead."""

    def rest(self, row: OutboxRow, night: Night, *, reason: str) -> None:
        """Written once tonight without proof: unknown, and left alone until another night."""

    def withdraw(self, row: OutboxRow, *, reason: str) -> None: ...

    def bury(self, row: OutboxRow, *, reason: str) -> None: ...

    def keep_comment(self, repo_id: int, issue: int, comment: Recorded) -> None:
        """Healing: this comment stays; every recorded comment of the issue's rows becomes this one."""

    def waiting(self, repo_id: int) -> Mapping[str, int]:
        """How many outbox rows are `pending` or `unknown` now, by status."""

    # --- take back
    def issues_written(self, night: int) -> Sequence[int]:
        """The issues that a night took in hand to write to; none where the journal of that night is pruned."""

    def claim_written(
        self, repo_id: int, issue: int, *, night: int | None, lease: float
    ) -> Retraction | Unclaimed | None:
        """Hold the newest ended rows of the issue, of that night or any, unless a write is in flight there."""

    def put_back(self, row: OutboxRow) -> None:
        """Held and left: as it was before `claim_written`."""

    # --- what people did with the labels
    def outcomes(self, repo_id: int, *, since: datetime) -> Sequence[LabelOutcome]:
        """What was noted of the labels that were set at or after `since`: one query for the whole repository."""

    def note_outcomes(self, repo_id: int, changed: Sequence[LabelOutcome]) -> None:
        """Note these outcomes in one transaction; the model and the prompt behind a label only the first time."""

    # --- deleted comments
    def silence(self, repo_id: int, issue: int, *, reason: str) -> None: ...

    def lift_silence(self, repo_id: int, issue: int, *, settled: frozenset[str]) -> None: ...

    # --- pace
    def reserve_slot(self, account: tuple[str, str], *, per_second: float | None, per_hour: int | None) -> float:
        """Reserve the next write's slot; returns the seconds to wait for it."""

    def gate(self, account: tuple[str, str]) -> float:
        """Seconds until writing is allowed again; 0 when the gate is open."""

    def close_gate(self, account: tuple[str, str], *, seconds: float | None) -> float:
        """A limit was met: close for `seconds`, or 60 s doubling where unknown; only ever later, at most 24 h."""

    def open_gate(self, account: tuple[str, str]) -> None:
        """A write was answered: the doubling starts anew. Never moves a closed gate."""
