"""What `doctor` looks at on GitHub and on the way to it: reads only, each thing asked for once."""

from __future__ import annotations

import ipaddress
import urllib.request
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import urlsplit

from triagebot.checkup.machine import Route
from triagebot.cli import accounts, wiring
from triagebot.cli.config import Config
from triagebot.cli.environment import Environment
from triagebot.cli.wiring import Choices
from triagebot.core.faults import Fault, Misconfigured
from triagebot.core.issue import Identity, Label, Repository
from triagebot.github.survey import Account, Traces

if TYPE_CHECKING:
    from triagebot.github.tracker import GitHubTracker

T = TypeVar("T")
U = TypeVar("U")


def look(seek: Callable[[], T]) -> T | Fault:
    """What is found, or the fault that kept it from being found."""
    try:
        return seek()
    except Fault as fault:
        return fault


def then(before: U | Fault | None, seek: Callable[[U], T]) -> T | Fault | None:
    """What is found behind `before`; `None` where that could not be had."""
    return None if before is None or isinstance(before, Fault) else look(lambda: seek(before))


class Site:
    """What GitHub tells. `blamed` is the check that keeps the others from being looked at, "" where none does."""

    def __init__(self, env: Environment, choices: Choices, chosen: Config) -> None:
        self.env = env
        self.choices = choices
        self.chosen = chosen
        built = look(lambda: wiring.tracker(chosen, env, choices))
        account = then(built, lambda tracker: tracker.account_facts())
        self.fault = next((seen for seen in (built, account) if isinstance(seen, Fault)), None)
        self.tracker = None if isinstance(built, Fault) else built
        self.blamed = "" if self.fault is None else self._to_blame(self.fault)
        self.account: Account | None = None if isinstance(account, Fault) else account
        self.spent = self.account is not None and self.account.spent
        self._look_around(None if self.fault or self.spent else self.tracker)

    def _look_around(self, tracker: GitHubTracker | None) -> None:
        self.repository: Repository | Fault | None = then(tracker, lambda to: to.repository())
        self.identity: Identity | Fault | None = then(tracker, lambda to: to.identity())
        there = None if isinstance(self.repository, Fault) else tracker
        self.labels: Sequence[Label] | Fault | None = then(there, lambda to: to.labels())
        known = None if isinstance(self.identity, Fault) else there
        self.traces: Traces | Fault | None = then(known, lambda to: to.newest())

    def _to_blame(self, fault: Fault) -> str:
        """Who trusts no authority, or names no repository, cannot even ask; then the token, or the server and the way.

        A token that GitHub refuses is `NotPermitted`, an App that is set up wrongly `Misconfigured`.
        """
        if isinstance(look(lambda: accounts.trusted(self.env)), Fault):
            return "github"
        if isinstance(look(lambda: wiring.repository(self.chosen, self.env, self.choices)), Fault):
            return "repository"
        return "token" if self.tracker is None or isinstance(fault, Misconfigured) else "github"

    def seen(self, check: str, value: T | Fault | None) -> T | Fault | None:
        """What a check is to judge: `value`, or the fault where it is to blame."""
        return self.fault if self.blamed == check else value

    @property
    def first(self) -> str:
        """What is to be mended before what was not looked at."""
        if self.spent:
            return "limits"
        return self.blamed or ("repository" if isinstance(self.repository, Fault) else "identity")


def route(address: str, ca: str | None, *, direct: bool = False) -> Route:
    """How `address` is reached, as both libraries take it from the environment; `direct` past any proxy."""
    parts = urlsplit(address)
    proxies = urllib.request.getproxies_environment()
    through = proxies.get(parts.scheme) or proxies.get("all") or ""
    past = direct or bool(urllib.request.proxy_bypass(parts.hostname or ""))
    return Route(address=address, proxy="" if past else _without_password(through), ca=ca or "")


def _without_password(address: str) -> str:
    scheme, separator, rest = address.rpartition("://")
    return f"{scheme}{separator}{rest.rpartition('@')[2]}"


def near(address: str) -> bool:
    """Whether the address is on this machine."""
    host = urlsplit(address).hostname or ""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
