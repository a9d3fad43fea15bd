"""Words that flags take, apart from what they mean: help names them without importing it."""

from __future__ import annotations

import enum


class Examples(enum.StrEnum):
    """Whether the endpoint is shown how similar issues were labelled: with and without them, or one of the two."""

    BOTH = "both"
    ON = "on"
    OFF = "off"


class Format(enum.StrEnum):
    """For people, or for machines."""

    TEXT = "text"
    JSON = "json"
