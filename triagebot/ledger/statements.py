"""The named SQL of the ledger, and the one way to run it: inside a transaction, every row fetched at once.

Nothing here knows a database; a dialect gives the words for its macros and runs the text.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Any, Protocol, TypeVar

T = TypeVar("T")
Row = Mapping[str, Any]

_NAME = re.compile(r"^-- name: (\w+)$", re.MULTILINE)


class Conflict(Exception):
    """A unique index refused the statement. A normal outcome in this room; never leaves it."""


class Transaction:
    """Runs statements by name. A context manager of the `Database` begins and ends it."""

    def __init__(
        self,
        execute: Callable[[str, Mapping[str, object]], Sequence[Row]],
        sql: Mapping[str, str],
        execute_many: Callable[[str, Sequence[Row]], object] = lambda *_: None,
    ) -> None:
        self._execute = execute
        self._execute_many = execute_many
        self._sql = sql

    def all(self, name: str, **values: object) -> Sequence[Row]:
        """Every row that the statement returns. Raises `Conflict` where a unique index refuses."""
        return self._execute(self._sql[name], values)

    def first(self, name: str, **values: object) -> Row | None:
        """The first row, or `None`: a fenced write that returns none has hit nothing."""
        return next(iter(self.all(name, **values)), None)

    def one(self, name: str, **values: object) -> Row:
        """The row of a statement that always returns exactly one."""
        (row,) = self.all(name, **values)
        return row

    def each(self, name: str, rows: Sequence[Row]) -> None:
        """Run a statement that returns nothing once for each row of values, all of them in few messages."""
        self._execute_many(self._sql[name], rows)

    def run(self, text: str, **values: object) -> Sequence[Row]:
        """The rows of a statement that only one dialect has."""
        return self._execute(text, values)

    def hold(self, repo_id: int, issue: int) -> None:
        """Keep others from changing anything about an issue until this transaction ends: what it reads stays true.

        Every write transaction about an issue begins with this, and none holds two issues, so that none can wait
        for another in a circle.
        """
        self.one("hold_issue", repo_id=repo_id, issue=issue)


class Database(Protocol):
    """What a dialect offers. All raise `LedgerBusy` or `LedgerUnusable`, and roll back on any exception.

    `work` is done as a whole or not at all. Where the connection is lost, it may be done again from the start,
    and it may have been done already then: so everything that it writes has to be fenced, or harmless twice.
    """

    def write(self, work: Callable[[Transaction], T]) -> T:
        """Do `work` in a write transaction, durable when this returns. Raises `Conflict`, too."""

    def view(self, work: Callable[[Transaction], T]) -> T:
        """Do `work`, which only reads, in one consistent view; never waits for a writer."""

    @property
    def stamp(self) -> int:
        """The number that the ledger has to carry, or each transaction stops: see `stamps`."""

    def restamp(self, stamp: int, work: Callable[[Transaction], T]) -> T:
        """Do `work` in a write transaction, while no other one runs, which gives the ledger another number."""

    def transaction(self) -> AbstractContextManager[Transaction]:
        """A single attempt at a write transaction."""

    def read(self) -> AbstractContextManager[Transaction]:
        """A single attempt at a view."""

    def close(self) -> None: ...


def queries(macros: Mapping[str, str]) -> dict[str, str]:
    """Every named statement, in the words of one dialect: `{now}` becomes `macros["now"]`."""
    return {name: expand(text, macros) for name, text in _shipped().items()}


def migrations(macros: Mapping[str, str]) -> tuple[str, ...]:
    """The numbered steps of the schema, first to last; the schema's version is their number."""
    return tuple(expand(step.read_text(encoding="utf-8"), macros) for step in _files("migrations"))


def version() -> int:
    """The schema's version that this program writes."""
    return len(_files("migrations"))


def expand(text: str, macros: Mapping[str, str]) -> str:
    """Replace every `{name}`; a name that the dialect does not know is a `KeyError`."""
    return re.sub(r"\{(\w+)\}", lambda found: macros[found[1]], text)


def named(texts: Mapping[str, str]) -> dict[str, str]:
    """The statements of several files by their names, each of which may stand once."""
    found: dict[str, str] = {}
    for file, text in texts.items():
        _, *parts = _NAME.split(text)
        for name, statement in zip(parts[::2], parts[1::2], strict=True):
            if name in found:
                raise ValueError(f"{file}: a second statement is named {name}")
            found[name] = statement.strip()
    return found


@functools.cache
def _shipped() -> Mapping[str, str]:
    return named({file.name: file.read_text(encoding="utf-8") for file in _files()})


def _files(folder: str = ".") -> list[Traversable]:
    entries = resources.files("triagebot.ledger").joinpath("sql", folder).iterdir()
    return sorted((e for e in entries if e.name.endswith(".sql")), key=lambda e: e.name)
