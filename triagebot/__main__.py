"""`python -m triagebot`, the same as `triagebot`."""

from __future__ import annotations

from triagebot.cli.main import entry

entry()
