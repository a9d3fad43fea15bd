"""A process of its own that works on a ledger until it is told, killed or done. Started by `test_processes`."""

from __future__ import annotations

import json
import os
import sys
import time

from tests.ledger.pieces import BOTH, LABELLED, POSTED, REPO, SPENT, night, text
from triagebot.core.rows import Claim, Unclaimed
from triagebot.ledger.ledger import Ledger
from triagebot.ledger.opening import open_ledger


def race(ledger: Ledger, issues: int, days: int) -> list[int]:
    """Claim every issue, on whatever day; the claims that were given."""
    tonight, won = night(ledger), []
    for issue in range(1, issues + 1):
        for day in range(days):
            given = ledger.claim(text(issue=issue, day=(day + os.getpid()) % days), tonight, lease=600)
            assert given is not Unclaimed.BUSY
            won += [issue] if isinstance(given, Claim) else []
    return won


def work(ledger: Ledger) -> list[int]:
    """Finish and deliver without an end, saying each step first and when it is on disk."""
    tonight = night(ledger)
    for issue in range(1, 100_000):
        held = ledger.claim(text(issue=issue), tonight, lease=600)
        if isinstance(held, Unclaimed):
            continue
        ledger.finish(held, LABELLED, BOTH, SPENT)
        print(f"done {issue}", flush=True)  # noqa: T201 - how it talks to the test
        parcel = ledger.claim_parcel(REPO, tonight, lease=600)
        for row in parcel.rows if parcel else ():
            ledger.sent(row, POSTED)
            print(f"sent {row.id}", flush=True)  # noqa: T201 - how it talks to the test
    return []


def deliver(ledger: Ledger) -> list[int]:
    """Take every parcel that is due; the rows that were given."""
    tonight, rows = night(ledger), []
    while (parcel := ledger.claim_parcel(REPO, tonight, lease=600)) is not None:
        rows += [row.id for row in parcel.rows]
    return rows


def main(address: str, start: float, verb: str, *numbers: int) -> None:
    while time.time() < start:
        pass
    with open_ledger(address) as ledger:
        result = {"race": race, "work": work, "deliver": deliver}[verb](ledger, *numbers)
    print(json.dumps(result), flush=True)  # noqa: T201 - how it talks to the test


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]), sys.argv[3], *map(int, sys.argv[4:]))
