"""The world that the night's tests run in."""

from __future__ import annotations

from tests.world import world

__all__ = ["world"]
