"""Trackers that cannot write: the dry run over a real one, and one that is nothing but a file.

A dry run is not an `if` anywhere in the night: the night runs as ever, on a throw-away
ledger, against a tracker whose `send` only notes the exact request.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from triagebot.core import history, text
from triagebot.core.actions import AddLabels, PostComment, Receipt, Write
from triagebot.core.export import ExportedIssue
from triagebot.core.faults import Gone, Misconfigured
from triagebot.core.issue import Actor, Comment, Identity, Label, Repository, Snapshot
from triagebot.core.rows import Recorded
from triagebot.nightly.ports import Tracker

_ALWAYS = datetime(1970, 1, 1, tzinfo=UTC)
"""The age of every issue of a file: they are taken in the order of their numbers."""


@dataclass
class DryRun:
    """Reads through the real tracker and writes nothing; `payloads` is what would have been sent."""

    tracker: Tracker
    api: str
    repo: Mapping[int, str] | str
    payloads: list[dict[str, Any]] = field(default_factory=list)
    _labels: dict[int, tuple[str, ...]] = field(default_factory=dict)
    _posted: dict[int, Comment] = field(default_factory=dict)
    _ids: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    @property
    def account(self) -> tuple[str, str]:
        """A pace of its own: what sends nothing waits for no gate."""
        return "dry-run", self.tracker.account[1]

    def repository(self) -> Repository:
        found = self.tracker.repository()
        self.repo = self.repo or found.name
        return found

    def identity(self) -> Identity:
        return self.tracker.identity()

    def labels(self) -> Sequence[Label]:
        return self.tracker.labels()

    def sweep(self) -> Iterator[Snapshot]:
        return self.tracker.sweep()

    def look(self, number: int, recorded: Sequence[Recorded]) -> Snapshot:
        seen = self.tracker.look(number, [r for r in recorded if r.id not in self._posted])
        self._labels[number] = seen.labels
        return seen

    def look_again(self, nodes: Sequence[str]) -> Iterator[Snapshot]:
        del nodes
        return iter(())

    def comment(self, recorded: Recorded) -> Comment | None:
        return self._posted.get(recorded.id) or self.tracker.comment(recorded)

    def labelled(self, *, since: datetime | None, after: str | None) -> Iterator[history.Page]:
        return self.tracker.labelled(since=since, after=after)

    def send(self, write: Write) -> Receipt:
        """Note the request, and answer as if it had been carried out."""
        request = write.request(self._name(write.issue))
        self.payloads.append(
            {
                "issue": write.issue,
                "action": write.action.value,
                "method": request.method,
                "url": f"{self.api.rstrip('/')}{request.path}",
                "body": dict(request.body),
            }
        )
        match write:
            case AddLabels(names=names):
                return Receipt(labels=(*self._labels.get(write.issue, ()), *names))
            case PostComment(body=body):
                made = Comment(id=-next(self._ids), node="", body=body)
                self._posted[made.id] = made
                return Receipt(comment_id=made.id, comment_node=made.node)
        return Receipt()

    def _name(self, issue: int) -> str:
        return self.repo if isinstance(self.repo, str) else self.repo[issue]


@dataclass
class FromFile:
    """An export of issues as a tracker: no token, no network, no writing. The labels in it are the label set."""

    issues: Mapping[int, ExportedIssue]
    name: str

    @property
    def account(self) -> tuple[str, str]:
        return "file", "dry-run"

    def repository(self) -> Repository:
        return Repository(id=0, name=self.name)

    def identity(self) -> Identity:
        return Identity(login="triagebot", id=None)

    def labels(self) -> Sequence[Label]:
        names = {label for issue in self.issues.values() for label in issue.labels}
        return [Label(name=name) for name in sorted(names)]

    def sweep(self) -> Iterator[Snapshot]:
        return (self._snapshot(number) for number in sorted(self.issues))

    def look(self, number: int, recorded: Sequence[Recorded]) -> Snapshot:
        del recorded
        if number not in self.issues:
            raise Gone(f"the file holds no issue {number}")
        return self._snapshot(number)

    def look_again(self, nodes: Sequence[str]) -> Iterator[Snapshot]:
        del nodes
        return iter(())

    def comment(self, recorded: Recorded) -> Comment | None:
        del recorded
        return None

    def labelled(self, *, since: datetime | None, after: str | None) -> Iterator[history.Page]:
        del since, after
        return iter(())

    def send(self, write: Write) -> Receipt:
        raise Misconfigured(f"a file cannot be written to: the {write.action} for issue {write.issue} is only shown")

    def _snapshot(self, number: int) -> Snapshot:
        """The issue without its own labels: the answer must not be shown to the model, nor stand in its way."""
        issue = self.issues[number]
        return Snapshot(
            repo_id=0,
            number=number,
            node=str(number),
            title=text.canonical(issue.title),
            body=text.canonical(issue.body),
            author=Actor(login=issue.author) if issue.author else None,
            association="NONE",
            created_at=_ALWAYS,
        )


def numbered(issues: Sequence[ExportedIssue], source: str) -> dict[int, ExportedIssue]:
    """Issues by number; rows without one are numbered by their place. Raises `Misconfigured` on a repeated number."""
    found: dict[int, ExportedIssue] = {}
    for place, issue in enumerate(issues, start=1):
        number = issue.number if issue.number is not None else place
        if number in found:
            raise Misconfigured(
                f"{source}: issue number {number} stands there twice (row {place}): export one repository at a time"
            )
        found[number] = issue
    return found
