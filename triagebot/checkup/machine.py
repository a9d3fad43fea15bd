"""This machine and what it reaches: settings, GitHub's server, the model's endpoint, ledger, clock and schedule."""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path

from triagebot.checkup.finding import Finding, broken, doubtful, failed, fine, parted
from triagebot.core import verdict
from triagebot.core.faults import Fault, Limited, Misconfigured
from triagebot.core.verdict import Reply
from triagebot.github.survey import Account
from triagebot.ledger.inspection import Found, Hindrance
from triagebot.ledger.reports import Status

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
_TELLABLE = 60.0  # seconds: what two clocks that are kept right never differ by
_WRONG = 86_400.0  # seconds: from here on the day in each key, and whether an issue is young or old, are wrong
_USUAL = timedelta(hours=36)  # a night a day, and half a day of a scheduler's delay


@dataclass(frozen=True, kw_only=True, slots=True)
class Route:
    """How a server is reached: its address, the proxy on the way ("" for none), the authorities that are trusted."""

    address: str
    proxy: str = ""
    ca: str = ""

    @property
    def in_the_clear(self) -> bool:
        return self.address.startswith("http://")

    def __str__(self) -> str:
        through = f" through {self.proxy}" if self.proxy else ""
        return f"{self.address}{through}" + (f", authorities in {self.ca}" if self.ca and not self.in_the_clear else "")


@dataclass(frozen=True, kw_only=True, slots=True)
class Asked:
    """What one question to the endpoint came to; `rung` is the `response_format` that it took."""

    reply: Reply
    rung: str
    seconds: float


def settings(path: Path, exists: bool) -> Finding:
    return fine("settings", f"{path} is valid" if exists else f"no {path}, so the defaults count")


def server(route: Route, account: Account, *, near: bool) -> Finding:
    """`near` tells that the address is on this machine, where nobody listens on the way."""
    told = f"{route} answers" + (f", GitHub Enterprise Server {account.server}" if account.server else "")
    if route.in_the_clear and not near:
        return doubtful("github", f"{told}; the token goes there in the clear", "write https in GITHUB_API_URL")
    return fine("github", told)


def unreachable(fault: Fault, route: Route) -> Finding:
    """GitHub cannot be asked; where its fault knows no better, the address is the first thing to look at."""
    fact, told = parted(str(fault))
    fact += _by_the_way(route)
    where = "check GITHUB_API_URL and the network; on a server of your own the address ends in /api/v3"
    return broken("github", fact, "wait, and ask again" if isinstance(fault, Limited) else told or where)


def _by_the_way(route: Route) -> str:
    """A proxy on the way is as likely to blame as the server, and no library's words name it."""
    return f", asked through the proxy {route.proxy}" if route.proxy else ""


def endpoint(model: str, route: Route, asked: Asked | Fault | None, *, sends_key: bool) -> Finding:
    """`asked` is `None` where no question was paid for; `sends_key` whether a key leaves this machine."""
    where = f"{model} at {route}"
    if isinstance(asked, Fault):
        known = isinstance(asked, Misconfigured)
        found = failed("endpoint", asked, "" if known else "check that it runs, OPENAI_BASE_URL and model.timeout")
        return replace(found, fact=found.fact + _by_the_way(route))
    if asked is not None:
        answer = verdict.judge(asked.reply.envelope)
        told = f"{where} answered in {asked.seconds:.1f} s, response_format {asked.rung}{_cost(asked.reply)}"
        if isinstance(answer, verdict.Unusable):
            mend = "try another model, or raise model.max_output_tokens for one that thinks aloud"
            return doubtful("endpoint", f"{told}, but not with what was asked for ({answer.kind})", mend)
        where = told
    if sends_key and route.in_the_clear:
        return doubtful("endpoint", f"{where}; the key goes there in the clear", "write https in OPENAI_BASE_URL")
    return fine("endpoint", where if asked else f"{where}, not asked; --ask asks one small question")


def _cost(reply: Reply) -> str:
    usage = reply.usage
    return "" if usage.tokens_in is None else f", {usage.tokens_in} tokens in, {usage.tokens_out or 0} out"


def ledger(found: Found, status: Status | None, *, kept: bool, now: datetime) -> Finding:
    """`kept` is whether this machine is still there tomorrow; a workflow's is not. `status` is `None` if not read."""
    path = found.called
    if found.hindrance is not None:
        return _hindered(found, found.hindrance)
    place = f" on {found.file_system}" if found.file_system else ""
    if not found.exists:
        told, carry = f"{path}{place} is not there yet and will be made", "carry it from run to run of the workflow"
        return fine("ledger", told) if kept or found.server else doubtful("ledger", told, carry)
    size = "" if found.server else f", {found.size / 1024:.0f} KiB" if found.size else ", empty"
    told = f"{path}{place}{size}, {_schema(found)}, writable{_last(status, now)}"
    if found.volatile:
        return doubtful("ledger", f"{told}; it is gone at the next restart", "put it on a disk: TRIAGEBOT_LEDGER")
    return fine("ledger", told)


def _hindered(found: Found, by: Hindrance) -> Finding:
    told = f"{found.called} cannot be written ({os.strerror(by.errno)})"
    if by.errno in _FULL:
        return broken("ledger", told, "free some space there, or name another in TRIAGEBOT_LEDGER")
    so = "" if found.exists else ", so that it can be made"
    return broken("ledger", told, f"make {by.place} writable for this user{so}, or name another in TRIAGEBOT_LEDGER")


def _schema(found: Found) -> str:
    if not found.version and not found.server:
        return f"to be given schema {found.known}"
    return f"schema {found.version}" + (f", to be brought to {found.known}" if found.version < found.known else "")


def _last(status: Status | None, now: datetime) -> str:
    if status is None:
        return ""
    return f", last night {_rough(now - status.nights[0].started_at)} ago" if status.nights else ", no night yet"


def clock(ahead: float) -> Finding:
    """By how many seconds our clock is ahead of GitHub's.

    A steady difference breaks nothing: every gate and lease goes by one clock, and GitHub's times are compared with
    its own. But somebody sets such a clock right one day, and a jump within the settle time of a POST is one of the
    three ways to a twin. From a day on, keys and ages are wrong.
    """
    told = f"{abs(ahead):.0f} s {'ahead of' if ahead > 0 else 'behind'} GitHub's" if abs(ahead) >= 1 else "as GitHub's"
    mend = "set it right while no night runs, and keep it so (NTP)"
    if abs(ahead) >= _WRONG:
        return broken("clock", told, mend)
    return doubtful("clock", told, mend) if abs(ahead) > _TELLABLE else fine("clock", told)


def schedule(last_good: datetime | None, max_age: timedelta | None, now: datetime) -> Finding:
    """Too old is an alarm, and as such `broken`, only where it was asked how old is too old."""
    if last_good is None:
        told, mend = "there has been no good night yet", "run one by hand, then put it into cron or a workflow"
        return doubtful("schedule", told, mend) if max_age is None else broken("schedule", told, mend)
    age = now - last_good
    told, mend = f"the last good night was {_rough(age)} ago", "look at the scheduler and its logs"
    if max_age is not None and age > max_age:
        return broken("schedule", told, mend)
    return doubtful("schedule", told, mend) if max_age is None and age > _USUAL else fine("schedule", told)


def _rough(age: timedelta) -> str:
    minutes = max(0, round(age.total_seconds() / 60))
    if minutes < 120:
        return f"{minutes} min"
    return f"{minutes / 60:.0f} h" if minutes < 72 * 60 else f"{minutes / 1440:.0f} days"
