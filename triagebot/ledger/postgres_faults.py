"""What PostgreSQL and libpq say went wrong, in the project's words: once, here. Passwords are never among them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg

from triagebot.core.faults import LedgerBusy, LedgerUnusable
from triagebot.ledger.statements import Conflict


class Lost(LedgerBusy):
    """The connection ended within a transaction that was not committed: nothing of it was done."""


class Refused(LedgerBusy):
    """The server undid the transaction (a deadlock, a serialization failure) or has no room for another connection."""


class Away(LedgerUnusable):
    """No server answers at the address."""


PASSING = (Lost, Refused, Away)
"""What may be over in a moment: the same transaction may succeed then."""

_RUN_AGAIN = "run again when it is back: what was not recorded was not sent"
_MEND_ADDRESS = "set it right in TRIAGEBOT_LEDGER"

_RIGHT_ONE = "set the right one in the address or in PGPASSWORD"
_FULL_UP = ("has no connection left", "lower `workers`, or raise max_connections at the server")
_NO_HOST = ("has a host name that nobody knows", _MEND_ADDRESS)

# By what libpq says while it connects: it gives no SQLSTATE there. Looked for in this order.
_CONNECTING: tuple[tuple[str, type[LedgerBusy | LedgerUnusable], str, str], ...] = (
    ("password authentication failed", LedgerUnusable, "refuses the password", _RIGHT_ONE),
    ("no password supplied", LedgerUnusable, "asks for a password", _RIGHT_ONE),
    (
        "no pg_hba.conf entry",
        LedgerUnusable,
        "admits no connection from this host, user and encryption",
        "allow it at the server, or add ?sslmode=require to the address",
    ),
    (
        "does not support SSL",
        LedgerUnusable,
        "offers no TLS",
        "take sslmode out of the address, or switch TLS on there",
    ),
    ("certificate", LedgerUnusable, "has a certificate that does not pass", "see sslmode and sslrootcert of libpq"),
    ("too many clients", Refused, *_FULL_UP),
    ("remaining connection slots", Refused, *_FULL_UP),
    ("too many connections", Refused, *_FULL_UP),
    ("starting up", Away, "is starting up", _RUN_AGAIN),
    ("shutting down", Away, "is shutting down", _RUN_AGAIN),
    ("recovery mode", Away, "is recovering from a crash", _RUN_AGAIN),
    ("not yet accepting connections", Away, "is starting up", _RUN_AGAIN),
    ("could not translate host name", LedgerUnusable, *_NO_HOST),
    ("failed to resolve host", LedgerUnusable, *_NO_HOST),
    ('role "', LedgerUnusable, "does not know the user", f"create the role, or {_MEND_ADDRESS}"),
    ('database "', LedgerUnusable, "does not have the database", f"create it (createdb), or {_MEND_ADDRESS}"),
)

_UNUSABLE = {
    "25006": ("is read-only (a standby?)", "name the primary, or add target_session_attrs=read-write to the address"),
    "42501": ("the user may not do this", "as the owner of the schema {schema}, grant it all of it"),
    "53100": ("the server's disk is full", "free some space and run again: what was not recorded was not sent"),
    "58030": ("the server's disk failed", "check it, then run again"),
    "XX001": ("is damaged", "restore it from a backup; the next run goes on from the markers on the issues"),
    "XX002": ("has a damaged index", "REINDEX it, or restore it from a backup"),
    "3F000": ("its schema {schema} is gone", "restore it from a backup, or start again with a new one"),
    "42P01": ("a table of its schema {schema} is gone", "restore it from a backup, or name another schema"),
}
_UNDONE = frozenset({"40001", "40P01", "40003", "53300", "53200", "53400", "55006"})
_CUT = frozenset({"57P01", "57P02", "57P03", "57P05", "25P03", "25P04", "08000", "08003", "08006", "08P01"})


@contextmanager
def translated(called: str, schema: str, timeout: float) -> Iterator[None]:
    """Raise `LedgerBusy`, `LedgerUnusable` or `Conflict` in place of psycopg's exceptions."""
    try:
        yield
    except psycopg.Error as error:
        fault = _named(error, called, schema, timeout)
        if fault is None:
            raise
        raise fault from error


@contextmanager
def connecting(called: str) -> Iterator[None]:
    """The same while a connection is made."""
    try:
        yield
    except psycopg.OperationalError as error:
        raise _unconnected(error, called) from error


def _unconnected(error: psycopg.OperationalError, called: str) -> LedgerBusy | LedgerUnusable:
    told = _one_line(error)
    for words, kind, what, mend in _CONNECTING:
        if words in told and (words[-1] != '"' or "does not exist" in told):
            return kind(f"ledger {called}: {what}; {mend}")
    return Away(f"ledger {called}: cannot be reached ({told}); start the server or {_MEND_ADDRESS}")


def _one_line(error: Exception) -> str:
    """What libpq said last, of one address it tried: it tries all that a name has, and says the same of each."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    told = next((line for line in lines if "failed:" in line or "error:" in line), lines[0] if lines else "no answer")
    return re.sub(
        r"^(connection (failed|is bad): )?(connection to server (at|on socket) .*? failed: )?", "", told
    ).strip(" .")


def lost(called: str) -> Lost:
    return Lost(f"ledger {called}: the connection was lost; {_RUN_AGAIN}")


def _named(error: psycopg.Error, called: str, schema: str, timeout: float) -> Exception | None:
    """The fault that `error` is for the rest of the program; `None` where nobody is at fault but this program."""
    state = error.sqlstate or ""
    if state == "23505":
        return Conflict(str(error))
    if state in {"55P03", "57014"}:
        return LedgerBusy(
            f"ledger {called}: stayed locked for {timeout:g} s; end the other triagebot or session that holds it, "
            "or run again later"
        )
    if state in _UNDONE:
        return Refused(f"ledger {called}: the server undid the work ({state}); run again later")
    if state in _CUT or (isinstance(error, psycopg.OperationalError) and not state):
        return lost(called)
    if state in _UNUSABLE:
        what, mend = (words.format(schema=schema) for words in _UNUSABLE[state])
        return LedgerUnusable(f"ledger {called}: {what} ({state}); {mend}")
    return None
