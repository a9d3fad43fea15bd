"""The server on which histories are played besides files."""

from __future__ import annotations

from tests.ledger.places import schema, server

__all__ = ["schema", "server"]
