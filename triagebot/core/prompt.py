"""The question that is put to the model: pure text in, pure text out."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Question:
    """One question about one issue.

    `system` is the instruction with the label list, `user` the issue as JSON data,
    `labels` the names that an answer may use (the enum of the JSON schema).
    """

    system: str
    user: str
    labels: tuple[str, ...]
