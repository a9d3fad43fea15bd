"""What became of a transaction whose COMMIT got no answer: it may have been done, or not.

It is looked up once, by its number, on the same server. Where that cannot be believed (the server was restarted
or replaced meanwhile, so that the number may be another transaction's), the work is done again, which is safe:
every write that could then be done twice names an owner and an attempt and hits nothing the second time, or is
the same both times. What that costs: a claim that was given, and is now refused to its own worker, waits for its
lease; a finish that was done is told as a lost lease; a slot of the pace or a night may stand there unused.
Where nobody can be asked, the fault says so, and no claim is taken for given.
"""

from __future__ import annotations

from dataclasses import dataclass

from triagebot.core.faults import LedgerBusy
from triagebot.ledger import postgres_faults
from triagebot.ledger.postgres_pool import Connection

NUMBER = "SELECT pg_current_xact_id()::text AS number, pg_postmaster_start_time()::text AS server"
_HERE = "SELECT pg_postmaster_start_time()::text AS server"
_FATE = "SELECT pg_xact_status(%(number)s::xid8) AS fate"


@dataclass(frozen=True, kw_only=True, slots=True)
class Begun:
    """The number of a transaction, and when its server was started: only there does the number tell its fate."""

    number: str = ""
    server: str = ""


class Unproven(LedgerBusy):
    """No answer to a COMMIT."""

    def __init__(self, called: str, begun: Begun) -> None:
        super().__init__(f"ledger {called}: the connection was lost at a commit, which may be done; run again later")
        self.begun = begun


def is_committed(connection: Connection, begun: Begun, called: str) -> bool:
    """Raises `Lost` while the server is still at it: a session may outlive its connection for a moment.

    On another server the number may lie ahead of everything that it has seen, which is an error there.
    """
    (here,) = connection.execute(_HERE).fetchall()
    if here["server"] != begun.server:
        return False
    (row,) = connection.execute(_FATE, {"number": begun.number}).fetchall()
    if row["fate"] == "in progress":
        raise postgres_faults.lost(called)
    return bool(row["fate"] == "committed")
