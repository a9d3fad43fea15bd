"""Whether size matters: claims in a ledger of millions of rows and in one of a thousand, and a large copy.

`--rows N` is the size of the large ledger (N each of runs, writes, outcomes and lines of the journal), 5 million
unless told; that takes some 8 GB in SQLite, as much again in PostgreSQL, and an hour's quarter to fill.
"""

from __future__ import annotations

import contextlib
import itertools
import random
import re
import sqlite3
import statistics
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import date
from pathlib import Path
from typing import Any

from tests.bench import filling
from tests.bench.frame import Line, Measure, Setting, at_most, benchmark, interleaved
from triagebot.core.key import Ref
from triagebot.core.rows import Claim, Night
from triagebot.core.verdict import Usage
from triagebot.ledger import opening, sqlite
from triagebot.ledger.ledger import Ledger

_DAY = date(2026, 12, 1)
_SMALL = 1_000
_CLAIMS, _PARCELS = 100, 20
_WALKED = {
    "claim": ("lapse_runs", "claim", "why_unclaimed"),
    "outbox claim": ("lapse_sendings", "due_rows", "claim_row", "next_due"),
}
_ASKED: Mapping[str, Any] = {
    "repo_id": filling.REPO, "issue": 17, "key": "triage:2026-12-01:0123456789abcdef", "digest": "0123456789abcdef",
    "day": "2026-12-01", "owner": "o", "night": 1, "lease": 900.0, "again": 0, "max_tries": 3, "settle": 60.0,
    "max_unproven": 3, "most": 64, "id": 17,
}  # fmt: skip


@benchmark("big", "claims at millions of rows, and a large copy")
def big(setting: Setting) -> Iterator[Line]:
    from tests.ledger import servers

    rows = setting.size(5_000_000, small=2_000)
    small, large = filling.sqlite(setting.folder / "small.db", _SMALL), setting.folder / "large.db"
    yield from _claims(setting, "SQLite", rows, small, filling.sqlite(large, rows))
    yield _scans("SQLite", rows, lambda statement: _sqlite_plan(large, statement))
    large.unlink()
    with servers.own("max_wal_size = 4GB") as server:
        uri = server.get_uri()
        addresses = [filling.postgres(uri, f"bench_{size}", size) for size in (_SMALL, rows)]
        yield from _claims(setting, "PostgreSQL", rows, *addresses)
        yield _scans("PostgreSQL", rows, lambda statement: _postgres_plan(uri, f"bench_{rows}", statement))
        yield from _copy(setting, uri)


# --- claims


def _claims(setting: Setting, database: str, rows: int, small: str, large: str) -> Iterator[Line]:
    with contextlib.ExitStack() as stack:
        little = Hand(stack.enter_context(opening.open_ledger(small)), _SMALL)
        much = Hand(stack.enter_context(opening.open_ledger(large, searched=False)), rows)
        for what, measure in (("claim", Hand.claims), ("outbox claim", Hand.parcels)):
            measures: dict[str, Measure] = {
                "ours": lambda measure=measure: measure(much),  # type: ignore[misc]
                f"at {_SMALL:,} rows": lambda measure=measure: measure(little),  # type: ignore[misc]
            }
            taken = interleaved(setting, measures)
            yield Line(
                f"{database}: {what} at {rows:,} rows",
                "s",
                ours=taken.pop("ours"),
                against=taken,
                target=at_most(1.5),
                limit_by="the commit; a deeper index costs a page or two more",
            )


class Hand:
    """Claims from a ledger, all over its history, and tells how long one takes."""

    def __init__(self, ledger: Ledger, rows: int) -> None:
        self._ledger = ledger
        self._night: Night = ledger.open_night(repo_id=filling.REPO, repo="octo/demo", day=_DAY)
        self._issues = itertools.cycle(random.Random(1).sample(range(1, rows + 1), min(rows, 100_000)))
        self._texts = itertools.count(1)

    def claims(self) -> float:
        """Seconds for a claim of a new text, half-way through those of many issues."""
        taken = []
        for issue in itertools.islice(self._issues, _CLAIMS):
            ref = Ref(repo_id=filling.REPO, issue=issue, day=_DAY, digest=f"{next(self._texts):015x}f")
            began = time.perf_counter()
            claim = self._ledger.claim(ref, self._night, lease=900.0)
            taken.append(time.perf_counter() - began)
            assert isinstance(claim, Claim), claim
            self._ledger.release(claim, "measured", Usage())
        return statistics.median(taken)

    def parcels(self) -> float:
        """Seconds for a claim of what is to be sent."""
        taken = []
        for _ in range(_PARCELS):
            began = time.perf_counter()
            parcel = self._ledger.claim_parcel(filling.REPO, self._night, lease=120.0)
            taken.append(time.perf_counter() - began)
            assert parcel is not None
            for row in parcel.rows:
                self._ledger.postpone(row, seconds=0.0, reason="measured")
        return statistics.median(taken)


# --- plans


def _scans(database: str, rows: int, plan: Callable[[str], str]) -> Line:
    walked = [name for names in _WALKED.values() for name in names]
    scanned = [name for name in walked if _reads_whole_table(plan(name))]
    return Line(
        f"{database}: statements of a claim that read a whole table, at {rows:,} rows",
        "statements",
        ours=[float(len(scanned))],
        target=at_most(0, of="value"),
        note=f"{', '.join(scanned)} do" if scanned else f"EXPLAIN of {', '.join(walked)}",
    )


def _reads_whole_table(plan: str) -> bool:
    """SQLite calls a table by its alias, and what a WITH has made by its own: that one holds few rows."""
    tables = "runs|outbox|events" if "MATERIALIZE" in plan else "runs|outbox|events|r"
    return re.search(rf"\b(SCAN|Seq Scan on) ({tables})\b", plan) is not None


def _sqlite_plan(path: Path, name: str) -> str:
    with contextlib.closing(sqlite.open_file(path, searched=False)) as database:
        text = f"EXPLAIN QUERY PLAN {database._sql[name]}"
    with contextlib.closing(sqlite3.connect(path)) as connection:
        return "\n".join(row[3] for row in connection.execute(text, _ASKED))


def _postgres_plan(uri: str, schema: str, name: str) -> str:
    import psycopg

    from tests.ledger.pieces import parse_server
    from triagebot.ledger import postgres, postgres_rows

    with contextlib.closing(postgres.open_schema(parse_server(f"{uri}&schema={schema}"))) as database:
        text = f"EXPLAIN {postgres_rows.psycopg_style(database._sql[name])}"
    with psycopg.connect(uri) as connection:
        connection.execute(f"SET search_path TO {schema}")
        return "\n".join(row[0] for row in connection.execute(text, _ASKED))


# --- a copy there and back


def _copy(setting: Setting, uri: str) -> Iterator[Line]:
    each = setting.size(250_000, small=200) if setting.rows is None else setting.rows // 4
    source = filling.sqlite(setting.folder / "source.db", each)
    there, back = f"{uri}&schema=bench_copy", f"sqlite:///{setting.folder / 'back.db'}"
    seconds, digests = {}, set()
    for name, (start, end) in {"to PostgreSQL": (source, there), "and back": (there, back)}.items():
        began = time.perf_counter()
        copied = opening.copy(start, end)
        seconds[name] = time.perf_counter() - began
        digests.add(copied.digest)
    rows = sum(copied.rows.values())
    for name, took in seconds.items():
        yield Line(f"copy of {rows:,} rows {name}", "rows/s", ours=[rows / took], note=f"{took:.0f} s")
    yield Line(
        "digests of the copies, of which there should be one",
        "digests",
        ours=[float(len(digests))],
        target=at_most(1, of="value"),
    )
