"""Attacks run through whole nights."""

from __future__ import annotations

from tests.world import world

__all__ = ["world"]
