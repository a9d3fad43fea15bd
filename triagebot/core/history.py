"""Reading a repository's past page by page: what a page tells, and how far the reading has come."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from triagebot.core.past import Past


@dataclass(frozen=True, kw_only=True, slots=True)
class Page:
    """One page of issues as they are now.

    `past` are those that people have judged (`selection.judged`), `gone` the numbers of the others,
    which are to be forgotten where they were known. `after` is the cursor of the next page, `None` behind the
    last one; `updated` the latest change of any issue on the page, by the tracker's clock.
    """

    past: tuple[Past, ...] = ()
    gone: tuple[int, ...] = ()
    after: str | None = None
    updated: datetime | None = None

    @property
    def size(self) -> int:
        return len(self.past) + len(self.gone)


@dataclass(frozen=True, kw_only=True, slots=True)
class Cursor:
    """How far a repository's past has been read.

    `since`: whatever changed before it is known, by the tracker's clock. While the first reading lasts,
    `after` is the page to go on behind and `read` the number of issues read; `None` when it is over.
    `begun` is our own clock at its start.
    """

    begun: datetime
    since: datetime | None = None
    after: str | None = None
    read: int = 0
