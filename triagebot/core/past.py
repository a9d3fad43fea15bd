"""How people labelled issues before: what the local classifier learns from, and what examples are made of."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class Past:
    """One issue of the past with the labels that people gave it, under the repository's names.

    `labels` empty means that people looked at it and set none that is allowed: it teaches
    when to say nothing. `repo` is OWNER/NAME, or empty where there is only one.
    """

    title: str
    body: str
    labels: tuple[str, ...]
    number: int | None = None
    created_at: datetime | None = None
    repo: str = ""
