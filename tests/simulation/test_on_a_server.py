"""The same histories with their ledgers on PostgreSQL: each goes as it goes on SQLite, step for step."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.ledger.pieces import parse_server
from triagebot.ledger import opening, postgres
from triagebot.simulator import history, script


@dataclass
class Schemas:
    """A `Shelf` on a server; its backup is a file."""

    base: str
    backup: Path
    made: set[str] = field(default_factory=set)

    def address(self, name: str) -> str:
        self.made.add(name)
        return f"{self.base}_{name}"

    def lose(self, name: str) -> None:
        postgres.drop_schema(parse_server(self.address(name)))

    def back_up(self, name: str) -> None:
        self.backup.unlink(missing_ok=True)
        opening.copy(self.address(name), self.backup)

    def restore(self, name: str) -> None:
        opening.copy(self.backup, self.address(name))

    @property
    def has_backup(self) -> bool:
        return self.backup.exists()


def check(seeds: range, schema: str, folder: Path) -> None:
    for seed in seeds:
        drawn = script.draw(seed)
        shelf = Schemas(f"{schema}_{seed}", folder / f"{seed}.db")
        there, here = history.run_on(shelf, drawn), history.run(drawn)
        for name in shelf.made:
            shelf.lose(name)
        assert there.violations == here.violations == []
        assert there.counts == here.counts, seed


def test_a_history_goes_the_same_way(schema: str, tmp_path: Path) -> None:
    check(range(6), schema, tmp_path)


@pytest.mark.slow
def test_many_histories_go_the_same_way(schema: str, tmp_path: Path) -> None:
    check(range(6, 150), schema, tmp_path)
