"""The server on which drills are held besides files."""

from __future__ import annotations

from tests.ledger.places import schema, server

__all__ = ["schema", "server"]
