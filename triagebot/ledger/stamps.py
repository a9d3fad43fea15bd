"""The number that every ledger carries and every transaction checks: its schema's version, while it is whole.

A ledger into which a copy has not ended carries a number below zero, which that copy drew: so nobody works on half
a ledger, and of two copies into one only the one that stamped it last goes on.
"""

from __future__ import annotations

import secrets

from triagebot.core.faults import LedgerUnusable

_LEAST = 2**31 - 1
"""SQLite keeps the number in 32 bits (sqlite.org/fileformat2.html#user_version)."""


def drawn() -> int:
    """A number for a copy that begins or goes on."""
    return -1 - secrets.randbelow(_LEAST)


def is_whole(stamp: int) -> bool:
    return stamp >= 0


def check(found: int, expected: int, *, called: str) -> None:
    """Raise `LedgerUnusable` where the ledger, `called` so in the sentence, carries another number than expected."""
    if found == expected:
        return
    if not is_whole(expected):
        raise LedgerUnusable(
            f"ledger {called}: another `triagebot ledger copy` has taken over the copy into it; leave it to that one"
        )
    check_whole(found, called=called)
    raise LedgerUnusable(
        f"ledger {called}: was replaced or migrated by another version of triagebot meanwhile; start again with one "
        "version"
    )


def check_whole(found: int, *, called: str) -> None:
    """Raise `LedgerUnusable` where a copy into the ledger has not ended."""
    if not is_whole(found):
        raise LedgerUnusable(
            f"ledger {called}: a copy into this ledger was interrupted, or is still under way; run `triagebot ledger "
            "copy FROM TO` again"
        )


def check_known(found: int, newest: int, *, called: str, other: str) -> None:
    """Raise `LedgerUnusable` for a version that this program does not know yet. `other` is what else to name."""
    if found > newest:
        raise LedgerUnusable(
            f"ledger {called}: was written by a newer triagebot (schema {found}, this one knows {newest}); upgrade "
            f"triagebot, or name another {other}"
        )
