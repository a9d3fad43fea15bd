"""What the night may still spend: the budget as a counter that every worker asks first."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

from triagebot.core.verdict import Usage
from triagebot.nightly.settings import Budget


@dataclass
class Purse:
    """Admits calls while the budget lasts. Spending is known only afterwards, so a call is reserved first."""

    budget: Budget
    spent: Usage = Usage()
    _reserved: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def admit(self) -> str | None:
        """Reserve one call; returns which part of the budget is used up instead, if one is."""
        with self._lock:
            empty = self._empty()
            if empty is None:
                self._reserved += 1
            return empty

    def settle(self, usage: Usage) -> None:
        """Exchange a reservation for what the call really took."""
        with self._lock:
            self._reserved -= 1
            self.spent = self.spent + usage

    def usd(self, usage: Usage) -> float:
        """What `usage` costs at the configured prices; tokens the server did not tell cost nothing here."""
        tokens_in, tokens_out = usage.tokens_in or 0, usage.tokens_out or 0
        return (tokens_in * self.budget.price_in + tokens_out * self.budget.price_out) / 1e6

    def _empty(self) -> str | None:
        tokens = (self.spent.tokens_in or 0) + (self.spent.tokens_out or 0)
        if _reached(self.spent.requests + self._reserved, self.budget.calls):
            return "budget.calls"
        if _reached(tokens, self.budget.tokens):
            return "budget.tokens"
        return "budget.usd" if _reached(self.usd(self.spent), self.budget.usd) else None


def _reached(spent: float, limit: float | None) -> bool:
    return limit is not None and spent >= limit
