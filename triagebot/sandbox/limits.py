"""GitHub's rate limits, counted on the hub's clock: the hourly quota always, the limits on writing when asked to."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from triagebot.sandbox import refusals
from triagebot.sandbox.exchange import Answer, Call
from triagebot.sandbox.state import Token

if TYPE_CHECKING:
    from triagebot.sandbox.hub import Hub

HOUR = 3600
WRITES = ((60, 80), (HOUR, 500))  # seconds, content-creating requests: docs.github.com, "About secondary rate limits"


@dataclass(kw_only=True, slots=True)
class _Window:
    start: datetime
    used: int = 0


class Limits:
    """`quota` is requests an hour for each account, REST ("core") and GraphQL apart."""

    def __init__(self, hub: Hub) -> None:
        self.quota = {"core": 5000, "graphql": 5000}
        self._hub = hub
        self._windows: dict[tuple[str, str], _Window] = {}
        self._writes: list[datetime] = []

    def charge(self, call: Call, token: Token) -> Answer | None:
        """Count a request; the refusal if it is one too many. GET /rate_limit costs nothing."""
        if call.path == "/rate_limit":
            return None
        resource = "graphql" if call.is_graphql else "core"
        window = self._window(resource, token)
        window.used += 1
        if window.used > self.quota[resource]:
            reset, limit = self._reset(window), self.quota[resource]
            if call.is_graphql:
                return refusals.graphql_limit(reset=reset, limit=limit)
            return refusals.primary_limit(reset=reset, limit=limit)
        return self._charge_write() if self._hub.enforce_limits and call.is_write else None

    def told(self, resource: str, token: Token) -> dict[str, int]:
        """One entry of GET /rate_limit."""
        window, limit = self._window(resource, token), self.quota[resource]
        used = min(window.used, limit)
        return {"limit": limit, "used": used, "remaining": limit - used, "reset": self._reset(window)}

    def headers(self, call: Call, token: Token) -> dict[str, str]:
        resource = "graphql" if call.is_graphql else "core"
        told = {f"x-ratelimit-{name}": str(value) for name, value in self.told(resource, token).items()}
        return told | {"x-ratelimit-resource": resource}

    def _window(self, resource: str, token: Token) -> _Window:
        now, key = self._hub.now(), (resource, token.account.login)
        window = self._windows.get(key)
        if window is None or (now - window.start).total_seconds() >= HOUR:
            window = self._windows[key] = _Window(start=now)
        return window

    def _charge_write(self) -> Answer | None:
        now = self._hub.now()
        self._writes = [at for at in self._writes if (now - at).total_seconds() < HOUR]
        for seconds, most in WRITES:
            if sum((now - at).total_seconds() < seconds for at in self._writes) >= most:
                return refusals.secondary_limit(retry_after="60")
        self._writes.append(now)
        return None

    @staticmethod
    def _reset(window: _Window) -> int:
        return int(window.start.timestamp()) + HOUR
