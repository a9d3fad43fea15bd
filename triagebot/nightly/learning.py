"""Keep the index of labelled issues up to date, and find in it what is like an issue.

The index may get lost and a night does without it, so nothing here ends a night: what goes wrong is noted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta

from triagebot.core import examples
from triagebot.core.faults import HistoryUnusable, TrackerFault, Unclear
from triagebot.core.history import Cursor, Page
from triagebot.core.issue import Snapshot
from triagebot.core.past import Past
from triagebot.nightly.place import Place
from triagebot.nightly.ports import Clock, History, Pupil, Tracker
from triagebot.nightly.report import Tally
from triagebot.nightly.settings import Settings, Use
from triagebot.nightly.stop import Stop

MOST_PAGES = 60
"""Requests of one night: a first reading of 5,000 issues takes 50, at 2 points each. A token of GitHub Actions has
1,000 points an hour for GraphQL."""

_LAG = timedelta(minutes=5)
"""A list may show a change some time after it was made, so each night reads the last minutes once more."""

_RENEWED = timedelta(days=30)
"""Issues that were deleted or moved away, and labels that got another name, are told by no later change."""


@dataclass
class Learner:
    """The history of a night's repository. `until` is the night's deadline, on the monotonic clock."""

    history: History | None
    pupil: Pupil | None
    tracker: Tracker
    place: Place
    settings: Settings
    clock: Clock
    stop: Stop
    tally: Tally
    until: float
    _shows: bool = False

    def prepare(self, questions: int) -> None:
        """Decide whether examples are shown tonight, bring the index up to date where anything uses it, and have
        whatever answers learn from it.

        Without a question to ask it does nothing, so an unchanged night costs no request for it. Raises
        `TooLittleHistory` before any issue is taken.
        """
        if questions and self.history is not None:
            self._follow(self.history)
        if questions and self.pupil is not None:
            self.tally.observer.stage("learn")
            self.pupil.learn(self._repo_id, [label.name for label in self.place.usable])

    def _follow(self, history: History) -> None:
        with self._noting("the issues of tonight are asked about without examples"):
            self._shows = self._wanted(history)
        if self.settings.learning.follow and (self._shows or self.pupil is not None):
            self.tally.observer.stage("history")
            with self._noting("the history stays as it was"):
                self._read(history)

    def examples(self, issue: Snapshot) -> Sequence[Past]:
        """What the model is shown beside `issue`, likest last; nothing where examples are not in use."""
        if self.history is None or not self._shows:
            return ()
        count = self.settings.learning.examples
        with self._noting("some issues are asked about without examples"):
            ranked = self.history.similar(
                self._repo_id,
                issue.title,
                issue.body,
                limit=count * examples.POOL,
                exclude=issue.number,
                allowed=[label.name for label in self.place.usable],
            )
            return examples.choose(ranked, count)
        return ()

    def _wanted(self, history: History) -> bool:
        learning = self.settings.learning
        if learning.use is Use.OFF or not learning.examples or not learning.limit:
            return False
        return learning.use is Use.ON or history.examples_pay(model=learning.model, prompt=learning.prompt)

    # --- reading

    def _read(self, history: History) -> None:
        """First the newest issues, as many as are wanted, over several nights if need be; then whatever changed."""
        cursor = history.cursor(self._repo_id)
        now = self.clock.now()
        if cursor is None or now - cursor.begun > _RENEWED:
            history.forget(self._repo_id)
            cursor = Cursor(begun=now)
        first = cursor.since is None or cursor.after is not None
        pages = self.tracker.labelled(since=None if first else cursor.since, after=cursor.after)
        for number, page in enumerate(self._from(pages, cursor), start=1):
            cursor = self._after_first(cursor, page) if first else _after_change(cursor, page)
            history.remember(self._repo_id, page.past, cursor, gone=page.gone)
            self.tally.count("learned", len(page.past))
            self.tally.observer.advance(page.size)
            if number == MOST_PAGES or (first and cursor.after is None) or self._closing_time():
                break
        history.trim(self._repo_id, self.settings.learning.limit)

    def _from(self, pages: Iterator[Page], cursor: Cursor) -> Iterator[Page]:
        """The pages to come. Where none can be had behind the page of an earlier night, the next night begins anew."""
        try:
            yield next(pages)
        except StopIteration:
            return
        except Unclear:
            if cursor.after is not None and self.history is not None:
                self.history.forget(self._repo_id)
            raise
        yield from pages

    def _after_first(self, cursor: Cursor, page: Page) -> Cursor:
        """Behind a page of the first reading. Any change after its first page was shown is told by later nights."""
        read = cursor.read + page.size
        over = read >= self.settings.learning.limit
        since = cursor.since or (page.updated and page.updated - _LAG)
        return replace(cursor, since=since, read=read, after=None if over else page.after)

    def _closing_time(self) -> bool:
        return self.stop.asked or self.clock.monotonic() >= self.until

    @property
    def _repo_id(self) -> int:
        return self.place.repository.id

    @contextmanager
    def _noting(self, consequence: str) -> Iterator[None]:
        try:
            yield
        except (HistoryUnusable, TrackerFault) as fault:
            self.tally.note(f"{str(fault).rstrip('.')}: {consequence}")


def _after_change(cursor: Cursor, page: Page) -> Cursor:
    """Behind a page of changes. Its place in the list is good for one night only; the time goes on being good."""
    if page.updated is None or cursor.since is None:
        return cursor
    return replace(cursor, since=max(cursor.since, page.updated - _LAG))
