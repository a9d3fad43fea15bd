"""A tracker that only counts: every write is one line in a file that all processes add to.

Its look never shows a comment, as a tracker might that is slow to show what it stored. So nothing but
the ledger can keep a second courier from writing again.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from triagebot.core import history
from triagebot.core.actions import PostComment, Receipt, Write
from triagebot.core.issue import Authorship, Comment, Identity, Label, Repository, Snapshot
from triagebot.core.rows import Recorded
from triagebot.drill import namespace
from triagebot.drill.votes import VOTE


class Counter:
    """A `nightly.ports.Tracker` whose every issue bears the label of the drill's vote.

    `under_way` is called while a request is on its way: it is stored when that returns.
    """

    def __init__(self, repo_id: int, log: Path, under_way: Callable[[], None]) -> None:
        self._repo_id = repo_id
        self._log = log
        self._under_way = under_way
        self._bodies: dict[int, str] = {}

    @property
    def account(self) -> tuple[str, str]:
        return namespace.account(self._repo_id)

    def repository(self) -> Repository:
        return Repository(id=self._repo_id, name=namespace.REPO)

    def identity(self) -> Identity:
        return Identity(login="drill", id=1)

    def labels(self) -> Sequence[Label]:
        return (Label(name=VOTE.name),)

    def sweep(self) -> Iterator[Snapshot]:
        return iter(())

    def labelled(self, *, since: datetime | None, after: str | None) -> Iterator[history.Page]:
        del since, after
        return iter(())

    def look(self, number: int, recorded: Sequence[Recorded]) -> Snapshot:
        del recorded
        return Snapshot(
            repo_id=self._repo_id,
            number=number,
            node=f"I_{number}",
            title=namespace.title(number),
            body="",
            author=None,
            association="NONE",
            created_at=datetime.now(UTC),
            labels=(VOTE.name,),
        )

    def look_again(self, nodes: Sequence[str]) -> Iterator[Snapshot]:
        del nodes
        return iter(())

    def comment(self, recorded: Recorded) -> Comment | None:
        body = self._bodies.get(recorded.id)
        return None if body is None else Comment(id=recorded.id, node=recorded.node, body=body, by=Authorship.OWN)

    def send(self, write: Write) -> Receipt:
        self._under_way()
        _add(self._log, json.dumps({"issue": write.issue, "write": type(write).__name__}))
        if not isinstance(write, PostComment):
            return Receipt(labels=(VOTE.name,))
        self._bodies[write.issue] = write.body
        return Receipt(comment_id=write.issue, comment_node=f"IC_{write.issue}")


def _add(log: Path, line: str) -> None:
    # O_APPEND: lines of several processes follow one another, none is written over another.
    file = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        os.write(file, f"{line}\n".encode())
    finally:
        os.close(file)


def written(log: Path, issue: int) -> list[str]:
    """The kinds of all writes to one issue that were counted, in their order."""
    lines = log.read_text(encoding="utf-8").splitlines() if log.exists() else []
    return [line["write"] for line in map(json.loads, lines) if line["issue"] == issue]
