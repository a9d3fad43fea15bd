"""The idempotency key of one issue text on one day."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from datetime import date

from triagebot.core import text


def digest(title: str | None, body: str | None) -> str:
    """First 16 hex digits of SHA-256 over the canonical JSON of `[title, body]`.

    `updated_at`, labels and comments are never part of it: the bot's own writes
    must not make a new key.
    """
    canonical = json.dumps([text.canonical(title), text.canonical(body)], ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()[:16]


def key(day: date, digest: str) -> str:
    """The idempotency key `triage:{day}:{digest}`."""
    return f"triage:{day.isoformat()}:{digest}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Ref:
    """One text of one issue on one day: the identity of all work.

    Two issues can say the same, and one number exists in many repositories, so the
    key alone identifies nothing.
    """

    repo_id: int
    issue: int
    day: date
    digest: str

    @property
    def key(self) -> str:
        return key(self.day, self.digest)
