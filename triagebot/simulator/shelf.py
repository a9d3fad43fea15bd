"""Where the ledgers of a simulated installation lie, and what can happen to them there."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol


class Shelf(Protocol):
    """Ledgers by name, and the one backup that somebody keeps."""

    def address(self, name: str) -> str | Path: ...

    def lose(self, name: str) -> None:
        """Remove a ledger, if it is there; nobody has it open any more."""

    def back_up(self, name: str) -> None:
        """Take the backup anew, as a careful administrator does: by the database's own means."""

    def restore(self, name: str) -> None:
        """Put the backup in the place of a ledger that is lost. There is one."""

    @property
    def has_backup(self) -> bool: ...


@dataclass
class Files:
    """SQLite files in a folder."""

    folder: Path

    def address(self, name: str) -> Path:
        return self.folder / f"{name}.db"

    def lose(self, name: str) -> None:
        for file in self.folder.glob(f"{name}.db*"):
            file.unlink()

    def back_up(self, name: str) -> None:
        source, copy = sqlite3.connect(self.address(name)), sqlite3.connect(self._backup)
        with closing(source), closing(copy):
            source.backup(copy)

    def restore(self, name: str) -> None:
        shutil.copy(self._backup, self.address(name))

    @property
    def has_backup(self) -> bool:
        return self._backup.exists()

    @property
    def _backup(self) -> Path:
        return self.folder / "backup.db"
