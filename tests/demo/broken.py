"""The program with one of its guards taken out: `python broken.py GUARD run ...`. Started by `test_guards`."""

from __future__ import annotations

import re
import sys
from typing import Any

from triagebot.cli.main import entry
from triagebot.core import standing
from triagebot.core.issue import Authorship, Snapshot
from triagebot.core.rows import Memory
from triagebot.github import records
from triagebot.ledger import statements
from triagebot.ledger.ledger import Ledger
from triagebot.nightly import visit
from triagebot.nightly.reconcile import Reconciler


def without_look() -> None:
    """The look right before a comment is made, and not heeded."""

    class Blind:
        def __getattr__(self, name: str) -> Any:
            return getattr(standing, name)

        def comment_step(self, *_: object, **__: object) -> standing.Step:
            return standing.Post()

    visit.standing = Blind()  # type: ignore[assignment]


def _in_sql(guard: str, instead: str = "") -> None:
    """Replace what matches in every statement."""
    expand = statements.expand
    statements.expand = lambda text, macros: expand(re.sub(guard, instead, text), macros)


def without_fence() -> None:
    """No write names its owner and attempt any more."""
    _in_sql(r"AND\s+owner = :owner\s+AND attempt = :attempt")


def without_lease() -> None:
    """A claim takes over whatever is running."""
    _in_sql(r"AND runs\.lease_until <= \{now\}")


def without_author() -> None:
    """Whoever wrote a comment with a marker, it counts as the bot's."""
    records.authorship = lambda *_, **__: Authorship.OWN


def without_memory() -> None:
    """No verdict is remembered, nor that a text was claimed."""
    _in_sql(":again = 1", "1 = 1")
    Ledger.recall = lambda *_: Memory()  # type: ignore[method-assign]


def without_adoption() -> None:
    """A comment that stands is no answer to a ledger that was lost."""
    Reconciler._adopt = lambda *_: False  # type: ignore[method-assign]


def without_silence() -> None:
    """A comment that a person deleted is only a comment that is missing."""
    standing.deleted_by_people = lambda *_: None


def without_heed() -> None:
    """A label that a person took off is only a label that is missing."""
    Snapshot.taken_off = frozenset()  # type: ignore[assignment, method-assign]


if __name__ == "__main__":
    globals()[f"without_{sys.argv.pop(1)}"]()
    entry()
