"""From a path to an index. Nothing is opened, read or created before the index is first used."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from triagebot.core.past import Past
from triagebot.history.database import Database
from triagebot.history.index import HistoryIndex
from triagebot.history.measures import Measures

_ANY = 0


def open_history(path: str | Path) -> HistoryIndex:
    """The index in the file `path`, which is created (mode 0600) by the first thing that is put into it.

    A file that is damaged, or of another version of the program, is thrown away with a warning and
    built anew; one that is another program's database is `HistoryUnusable`, and stays.
    """
    return HistoryIndex(Database(Path(path)))


def throwaway(*, copy_of: str | Path | None = None) -> HistoryIndex:
    """An index in memory, empty or a copy of a file, of which not a byte changes."""
    return HistoryIndex(Database(None, source=None if copy_of is None else Path(copy_of)))


def from_export(past: Iterable[Past], *, measured_in: str | Path | None = None) -> HistoryIndex:
    """An index in memory of an export's labelled issues, whichever repository is asked for.

    What examples are worth is read from, and written to, the index file `measured_in`.
    """
    measures = None if measured_in is None else Measures(Database(Path(measured_in)))
    index = HistoryIndex(Database(None), measures, only=_ANY)
    index.remember(_ANY, past)
    return index
