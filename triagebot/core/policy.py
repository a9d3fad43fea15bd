"""Which labels the bot may set, and which of the model's votes pass."""

from __future__ import annotations

import enum
from dataclasses import dataclass


class Mode(enum.StrEnum):
    """Whether labels are set, or only named in the comment."""

    APPLY = "apply"
    SUGGEST = "suggest"


@dataclass(frozen=True, kw_only=True, slots=True)
class LabelPolicy:
    """The `labels` section of the config. `allow`, `deny` and the members of `groups` are globs."""

    mode: Mode = Mode.APPLY
    allow: tuple[str, ...] = ("*",)
    deny: tuple[str, ...] = ("duplicate", "wontfix", "invalid", "security", "automerge", "release*", "*-approved")
    groups: tuple[tuple[str, ...], ...] = ()
    max: int = 3
    min_confidence: float = 0.6
