"""The embedded GitHub's memory as a tracker without HTTP, with faults, latency and listing lag drawn from the seed.

What the real edge would translate (5xx, resets, 3xx, odd and cut answers, limits) arrives
here as the named fault that the edge makes of it; whether the write was stored is drawn
apart. It also watches: what is sent must fit what was looked at.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from triagebot.core import history
from triagebot.core.actions import (
    AddLabels,
    DeleteComment,
    EditComment,
    MinimizeComment,
    PostComment,
    Receipt,
    RemoveLabel,
    Write,
)
from triagebot.core.faults import Gone, Limited, Locked, NotPermitted, ReadOnly, Refused, Unclear, Undelivered
from triagebot.core.issue import Comment, Identity, Label, Repository, Snapshot
from triagebot.core.rows import Recorded
from triagebot.sandbox import repository as stored
from triagebot.sandbox import state
from triagebot.sandbox.exchange import Call
from triagebot.sandbox.hub import BOT, TOKEN, Hub
from triagebot.simulator import shown
from triagebot.simulator.scheduler import Scheduler
from triagebot.simulator.script import Weather

_TIMEOUT = 15.0
_STORMS = (
    "5xx stored",
    "5xx lost",
    "hang stored",
    "hang lost",
    "cut JSON stored",
    "odd answer stored",
    "3xx lost",
    "refused connection",
    "refused for good",
    "late",
)

Watch = Callable[["SimTracker", Write, Snapshot | None], None]


@dataclass
class SimTracker:
    """One process's tracker. `looked` is the last look at each issue, which a write must follow from."""

    hub: Hub
    repo: stored.Repository
    scheduler: Scheduler
    random: random.Random
    weather: Weather
    counts: Counter[str]
    watch: Watch
    stored: Callable[[Write, Receipt], None]
    later: Callable[[float, Callable[[], None]], None]
    looked: dict[int, tuple[float, Snapshot]] = field(default_factory=dict)
    known: frozenset[str] = frozenset()
    name: str = ""

    @property
    def account(self) -> tuple[str, str]:
        return "sim", BOT

    def repository(self) -> Repository:
        self._request("repository")
        self.name, archived, enabled = self.repo.full_name, self.repo.archived, self.repo.issues_enabled
        return Repository(id=self.repo.id, name=self.name, archived=archived, issues_enabled=enabled)

    def identity(self) -> Identity:
        self._request("identity")
        return shown.identity(self.hub)

    def labels(self) -> Sequence[Label]:
        self._request("labels")
        self.known = frozenset(label.name for label in self.repo.labels())
        return [Label(name=label.name) for label in self.repo.labels()]

    def sweep(self) -> Iterator[Snapshot]:
        self._request("sweep")
        if self.weather.sweep:
            self._rough("sweep", self.weather.sweep)
        issues = self.repo.issues() if self.repo.issues_enabled else []
        page = [shown.snapshot(self.hub, self.repo.id, issue) for issue in issues if issue.state == "open"]
        yield from page

    def look(self, number: int, recorded: Sequence[Recorded]) -> Snapshot:
        self._request("look")
        self._rough("look", self.weather.read)
        issue = self.repo.kept.get(number)
        if not self.repo.issues_enabled:
            raise ReadOnly("issues are switched off: none is shown, and none is gone")
        if not isinstance(issue, state.Issue):
            raise Gone(f"issue {number} is gone")
        self.known = frozenset(label.name for label in self.repo.labels())
        seen = replace(shown.snapshot(self.hub, self.repo.id, issue, recorded), known=tuple(self.known))
        self.looked[number] = (self.scheduler.now, seen)
        return seen

    def look_again(self, nodes: Sequence[str]) -> Iterator[Snapshot]:
        self._request("look_again")
        self._rough("look_again", self.weather.read)
        found = [self.hub.nodes.get(node) for node in nodes]
        yield from [shown.snapshot(self.hub, self.repo.id, issue) for issue in found if isinstance(issue, state.Issue)]

    def labelled(self, *, since: datetime | None, after: str | None) -> Iterator[history.Page]:
        """Simulated nights show no examples, so nothing is asked for."""
        del since, after
        return iter(())

    def comment(self, recorded: Recorded) -> Comment | None:
        self._request("comment")
        self._rough("comment", self.weather.read)
        node = self.hub.nodes.get(recorded.node)
        return shown.comment(self.hub, node) if isinstance(node, state.Comment) else None

    def send(self, write: Write) -> Receipt:
        """One write: maybe refused, maybe stored without an answer, maybe stored long after we gave up."""
        name = f"send.{type(write).__name__}"
        self.counts[name] += 1
        self.scheduler.step(f"github.{name}")
        looked = self.looked.get(write.issue)
        self.watch(self, write, looked[1] if looked else None)
        self.scheduler.sleep(self.random.uniform(0.05, 0.4))
        self._charge("POST", "/a-write")
        self._limited()
        self._closed()
        self._refused(write)
        if self.random.random() >= self.weather.write:
            receipt = self._store(write)
            self.scheduler.step(f"github.{name}.stored")
            return receipt
        return self._stormy(name, write)

    # --- trouble

    def _stormy(self, name: str, write: Write) -> Receipt:
        what = self.random.choice(_STORMS)
        if what == "late" and not self.weather.late:
            what = "dropped stored"
        self.counts[f"{name}: {what}"] += 1
        if what == "refused connection":
            raise Undelivered("connection refused")
        if what == "refused for good":
            raise Refused("422")
        if what == "late":
            self.later(self.random.uniform(1.0, 150.0), lambda: self._store_late(write))
        elif what.endswith("stored"):
            self._store(write)
            self.scheduler.step(f"github.{name}.stored")
        if what.startswith("hang") or what == "late":
            self.scheduler.sleep(_TIMEOUT)
        raise Unclear(what)

    def _store_late(self, write: Write) -> None:
        try:
            self._closed()
            self._refused(write)
            self._store(write)
        except (Gone, Locked, Unclear, ReadOnly, NotPermitted):
            self.counts["late write refused"] += 1

    def _limited(self) -> None:
        if self.random.random() >= self.weather.limits:
            return
        seconds = self.random.choice([None, 5.0, 90.0, 4000.0])
        self.counts[f"limit {seconds}"] += 1
        raise Limited("simulated limit", seconds=seconds, primary=seconds == 4000.0)

    def _charge(self, method: str, path: str) -> None:
        """Where the hub enforces GitHub's limits, they are counted on the simulated clock."""
        token = self.hub.token(TOKEN) if self.hub.enforce_limits else None
        if token is None:
            return
        refusal = self.hub.limits.charge(Call(method=method, path=path, base="sim"), token)
        if refusal is not None:
            self.counts["limit of our own making"] += 1
            raise Limited(f"{refusal.body!r}", seconds=60.0)

    def _closed(self) -> None:
        """The repository takes no writes, or not from this token, or not under this name any more."""
        if self.repo.archived or not self.repo.issues_enabled:
            self.counts["closed to writing"] += 1
            raise ReadOnly("archived, or without issues")
        if self.repo.allowed(self.hub.account(BOT)) == "READ":
            self.counts["not permitted"] += 1
            raise NotPermitted("Resource not accessible by integration")
        if self.name != self.repo.full_name:
            self.counts["redirected"] += 1
            raise Unclear("307")

    def _refused(self, write: Write) -> None:
        issue = self.repo.kept.get(write.issue)
        if not isinstance(issue, state.Issue):
            raise Gone(f"issue {write.issue} is gone")
        if issue.locked and isinstance(write, PostComment | AddLabels):
            raise Locked("locked")

    def _rough(self, name: str, chance: float) -> None:
        if self.random.random() < chance:
            what = self.random.choice(["unclear", "undelivered", "limit"])
            self.counts[f"{name}: {what}"] += 1
            if what == "limit":
                raise Limited("simulated limit on a read", seconds=20.0)
            raise Unclear("cut JSON") if what == "unclear" else Undelivered("refused")

    def _request(self, name: str) -> None:
        self.counts[name] += 1
        self.scheduler.step(f"github.{name}")
        self.scheduler.sleep(self.random.uniform(0.05, 0.4))
        self._charge("POST", "/graphql")

    # --- storing

    def _store(self, write: Write) -> Receipt:
        receipt = self._carry_out(write)
        self.stored(write, receipt)
        return receipt

    def _carry_out(self, write: Write) -> Receipt:
        match write:
            case AddLabels() | RemoveLabel():
                return self._change_labels(write)
            case PostComment():
                made = self.repo.comment(write.issue, write.body, by=BOT)
                return Receipt(comment_id=made.id, comment_node=made.node)
            case EditComment():
                self._own(write.comment_id)
                self.repo.edit_comment(write.comment_id, write.body, by=BOT)
                return Receipt(comment_id=write.comment_id)
            case DeleteComment() | MinimizeComment():
                return self._take_away(write)

    def _change_labels(self, write: AddLabels | RemoveLabel) -> Receipt:
        if isinstance(write, AddLabels):
            self.repo.label(write.issue, *write.names, by=BOT)
        elif write.name in self.repo.stored(write.issue).labels:
            self.repo.unlabel(write.issue, write.name, by=BOT)
        return Receipt(labels=tuple(self.repo.issue(write.issue).labels))

    def _take_away(self, write: DeleteComment | MinimizeComment) -> Receipt:
        if isinstance(write, MinimizeComment):
            node = self.hub.nodes.get(write.node)
            if isinstance(node, state.Comment):
                node.minimized = "DUPLICATE"
        elif any(c.id == write.comment_id for c in self.repo.stored(write.issue).comments):
            self.repo.delete_comment(write.comment_id, by=BOT)
        return Receipt()

    def _own(self, comment_id: int) -> None:
        try:
            self.repo.find_comment(comment_id)
        except KeyError as gone:
            raise Unclear("PATCH answered 404") from gone
