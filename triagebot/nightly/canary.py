"""The night's first new comment is read again before the second: a bot that cannot recognise itself must not go on."""

from __future__ import annotations

from dataclasses import dataclass

from triagebot.core.faults import Gone, Misconfigured, Moved
from triagebot.core.issue import Authorship
from triagebot.core.marker import Marker
from triagebot.core.rows import Recorded
from triagebot.nightly.ports import Tracker


@dataclass
class Canary:
    """Knows the first comment of the night until it has been recognised."""

    _first: tuple[int, Recorded] | None = None
    _recognised: bool = False

    def posted(self, issue: int, comment: Recorded) -> None:
        """A new comment was stored; only the first one of the night is kept."""
        if self._first is None:
            self._first = issue, comment

    def check(self, tracker: Tracker) -> None:
        """Read the first comment as the look reads it, once.

        Raises `Misconfigured` where it is not recognised as ours, and whatever the read raises.
        """
        if self._first is None or self._recognised:
            return
        issue, first = self._first
        comment = tracker.comment(first)
        self._recognised = comment is not None and comment.by is Authorship.OWN and isinstance(comment.marker, Marker)
        if self._recognised:
            return
        if not _is_gone(tracker, issue, first):
            raise Misconfigured(
                f"comment {first.id}, posted a moment ago, is not recognised as our own, so writing stops: "
                "check that the token still belongs to the account that wrote it and that nothing rewrites comments"
            )
        self._first = None


def _is_gone(tracker: Tracker, issue: int, first: Recorded) -> bool:
    """Whether somebody was faster, a person or our own healing: that tells nothing, and the next comment is tried."""
    try:
        return first.id in tracker.look(issue, (first,)).gone
    except (Gone, Moved):
        return True
