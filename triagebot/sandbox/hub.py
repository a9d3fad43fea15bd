"""The embedded GitHub's memory: repositories, accounts, tokens, what was asked, and what shall go wrong.

One lock guards everything; every public method may be called from any thread while
the hub is served (see `sandbox.github.app`). What is stored here is the truth that
tests assert on, never what an answer said.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import ClassVar

from triagebot.sandbox.apps import Apps
from triagebot.sandbox.arming import Faults
from triagebot.sandbox.exchange import Call, Exchange, Seen
from triagebot.sandbox.limits import Limits
from triagebot.sandbox.repository import PERMISSIONS, Repository
from triagebot.sandbox.state import Account, Comment, Issue, Token

BOT = "triagebot-app[bot]"
TOKEN = "sandbox-token"  # noqa: S105 - opens nothing but the sandbox

# Real ids have outgrown 32 bits for comments (since 2024), not for repositories and accounts.
FIRST_IDS = {"account": 150_000_000, "repository": 900_000_000, "comment": 2_400_000_000}


class Hub:
    """A GitHub with nothing in it but the bot's account and its token.

    `now` is the clock behind every time, limit and lag. `listing_lag` is how many seconds
    a new comment stays out of lists. `on_request` is called with each request before it is
    handled, `on_stored` after a write was stored and before it is answered: both in a thread
    of their own, outside the lock, so they may block, act on the hub, or kill a process.
    `observers` are told each exchange right before its answer goes out; `watchers` are those of every new hub.
    """

    watchers: ClassVar[tuple[Callable[[Exchange], None], ...]] = ()

    def __init__(self, now: Callable[[], datetime] | None = None) -> None:
        self.lock = threading.RLock()
        self.now = now or _utc_now
        self.listing_lag = 0.0
        self.enforce_limits = False
        self.faults = Faults()
        self.limits = Limits(self)
        self.apps = Apps(self)
        self.on_request: Callable[[Call], None] | None = None
        self.on_stored: Callable[[Call], None] | None = None
        self.observers: list[Callable[[Exchange], None]] = [*self.watchers]
        self.nodes: dict[str, Issue | Comment] = {}
        self._counters: dict[str, itertools.count[int]] = {}
        self._seen: list[Seen] = []
        self._accounts: dict[str, Account] = {}
        self._repositories: dict[str, Repository] = {}
        self._tokens: dict[str, Token] = {}
        self.add_token(TOKEN, BOT)

    # --- accounts and tokens

    def account(self, login: str) -> Account:
        """The account of that login, made when first asked for; a login that ends in "[bot]" is an app's."""
        with self.lock:
            known = self._accounts.get(login.casefold())
            if known is None:
                kind = "Bot" if login.endswith("[bot]") else "User"
                known = Account(login=login, id=self.next_id("account"), kind=kind, created_at=self.moment())
                self._accounts[login.casefold()] = known
            return known

    def rename_account(self, login: str, new_login: str) -> None:
        """Same account, same number, another name."""
        with self.lock:
            account = self._accounts.pop(login.casefold())
            account.login = new_login
            self._accounts[new_login.casefold()] = account

    def delete_account(self, login: str) -> None:
        """What it wrote stays, without an author."""
        with self.lock:
            self._accounts.pop(login.casefold()).deleted = True

    def add_token(
        self,
        secret: str,
        login: str,
        *,
        write: bool = True,
        until: datetime | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Token:
        """A token for the account, which ends at `until`; `headers` come with every answer to it."""
        with self.lock:
            token = Token(account=self.account(login), write=write, until=until, headers=headers or {})
            self._tokens[secret] = token
            return token

    def token(self, secret: str) -> Token | None:
        with self.lock:
            token = self._tokens.get(secret)
            ended = token is not None and token.until is not None and token.until <= self.now()
            return None if ended else token

    # --- repositories

    def create_repository(
        self,
        full_name: str,
        *,
        labels: Iterable[tuple[str, str] | str] = (),
        archived: bool = False,
        issues_enabled: bool = True,
        private: bool = False,
        permission: str = "WRITE",
    ) -> Repository:
        """Create "owner/name"; `labels` are names, or pairs of a name and what it means."""
        if permission not in PERMISSIONS:
            raise ValueError(f"{permission!r} is no permission: {', '.join(PERMISSIONS)}.")
        with self.lock:
            repo = Repository(self, full_name, id=self.next_id("repository"), created_at=self.moment())
            repo.archived, repo.issues_enabled, repo.private = archived, issues_enabled, private
            repo.permission = permission
            self._repositories[full_name.casefold()] = repo
            for label in labels:
                repo.add_label(*((label,) if isinstance(label, str) else label))
            return repo

    def repository(self, full_name: str) -> Repository:
        """The repository that has this name, or had it last. Raises `KeyError`."""
        with self.lock:
            return self._repositories[full_name.casefold()]

    def owner(self, repo: Repository) -> Account:
        return self.account(repo.full_name.partition("/")[0])

    def repository_by_id(self, repo_id: int) -> Repository:
        """Raises `KeyError`."""
        return {repo.id: repo for repo in self.repositories()}[repo_id]

    def repositories(self) -> list[Repository]:
        with self.lock:
            return [*dict.fromkeys(self._repositories.values())]

    def renamed(self, repo: Repository, full_name: str) -> None:
        """Let the repository answer to a new name besides its old ones."""
        self._repositories[full_name.casefold()] = repo

    def shown(self, issue: Issue) -> list[Comment]:
        """The comments that lists show by now."""
        now = self.now()
        return [comment for comment in issue.comments if comment.shown_from <= now]

    def forget(self, issue: Issue) -> None:
        for node in (issue.node, *(comment.node for comment in issue.comments)):
            self.nodes.pop(node, None)

    # --- what was asked

    @property
    def requests(self) -> list[Seen]:
        """Every request that reached the server so far, first to last."""
        with self.lock:
            return [*self._seen]

    def writes(self) -> list[Seen]:
        """The requests that would change something: no GET, no GraphQL query."""
        return [seen for seen in self.requests if seen.is_write]

    def saw(self, call: Call, token: Token | None) -> Seen:
        """Record a request on its arrival."""
        seen = Seen(
            method=call.method,
            path=call.path,
            operation=call.operation,
            is_write=call.is_write,
            at=self.moment(),
            login=token.account.login if token else None,
            body=call.body,
        )
        with self.lock:
            self._seen.append(seen)
        return seen

    # --- numbers and time

    def next_id(self, kind: str) -> int:
        with self.lock:
            return next(self._counters.setdefault(kind, itertools.count(FIRST_IDS.get(kind, 3_000_000_000))))

    def count_from(self, kind: str, first: int) -> None:
        """Let the ids of a kind (comment, issue, account ...) go on from `first`."""
        with self.lock:
            self._counters[kind] = itertools.count(first)

    def moment(self, at: datetime | None = None) -> datetime:
        """`at` (or now) as GitHub would show it: UTC, whole seconds."""
        return (at or self.now()).astimezone(UTC).replace(microsecond=0)


def _utc_now() -> datetime:
    return datetime.now(UTC)
