"""Ledgers of any size, filled by the database itself: the past of one repository, as its nights would have left it.

Every issue has one answered run, one outbox row (odd ones a comment, even ones labels), one line in the journal and
one label that people judged: `rows` of each. A few issues wait for a write and a few have failed, as many in a small
ledger as in a large one: what a night has before it does not grow with what lies behind it.
"""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path

from triagebot.ledger.opening import open_ledger

REPO = 7
WAITING = 200
_WORDS = {
    "repo": REPO,
    "waiting": WAITING,
    "owner": "3f0c2f44-6f0e-4b58-9d52-2f2b8c1d7a10",
    "at": "2026-10-19T02:17:45.123Z",
    "payload": '[{"name": "bug", "confidence": 0.9, "reason": "It stops with an error message."}]',
    "verdict": (
        '{"dropped": [], "labels": [{"confidence": 0.9, "name": "bug", "reason": "It stops with an error message."}],'
        ' "model": "gpt-5-mini", "outcome": "labelled", "prompt": "0123456789abcdef"}'
    ),
}

_FILL = """
INSERT INTO nights (id, repo_id, repo, day, owner, started_at, finished_at, how)
SELECT i, {repo}, 'octo/demo', {day}, '{owner}', '{at}', '{at}', 'done' FROM {series} AS n WHERE i <= 1000;

INSERT INTO runs (repo_id, issue, key, day, digest, status, owner, attempt, tries, night, claimed_at, ended_at,
                  outcome, reason, verdict, model, prompt, requests, tokens_in, tokens_out)
SELECT {repo}, i, 'triage:' || {day} || ':' || {digest}, {day}, {digest},
       CASE WHEN i <= {waiting} THEN 'failed' ELSE 'done' END, '{owner}', 1, 1, 1 + i % 1000, '{at}', '{at}',
       'labelled', NULL, '{verdict}', 'gpt-5-mini', '0123456789abcdef', 1, 900, 60
  FROM {series} AS n;

INSERT INTO outbox (id, repo_id, issue, action, digest, key, day, status, was, payload, owner, attempt, night,
                    remote_id, remote_node, created_at, updated_at)
SELECT i, {repo}, i, CASE WHEN i % 2 = 0 THEN 'labels' ELSE 'comment' END, {digest},
       'triage:' || {day} || ':' || {digest}, {day}, CASE WHEN i <= {waiting} THEN 'pending' ELSE 'sent' END,
       'pending', '{payload}', '{owner}', 1, 1 + i % 1000, 1000000 + i, 'IC_kwDOABCDEF', '{at}', '{at}'
  FROM {series} AS n;

INSERT INTO events (id, at, what, repo_id, issue, action, key, owner, attempt, night, detail)
SELECT i, '{at}', 'finished', {repo}, i, NULL, 'triage:' || {day} || ':' || {digest}, '{owner}', 1,
       1 + i % 1000, 'labelled'
  FROM {series} AS n;

INSERT INTO outcomes (repo_id, issue, label, digest, model, prompt, set_at, outcome, noted_at)
SELECT {repo}, i, 'label ' || (i % 20), {digest}, 'gpt-5-mini', '0123456789abcdef', '{at}',
       CASE WHEN i % 10 = 0 THEN 'removed' ELSE 'kept' END, '{at}'
  FROM {series} AS n
"""
_SQLITE = {
    "series": "(WITH RECURSIVE s (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM s WHERE i < {rows}) SELECT i FROM s)",
    "day": "date('2024-01-01', (i % 1000) || ' days')",
    "digest": "printf('%016x', i)",
}
_POSTGRES = {
    "series": "(SELECT i FROM generate_series(1, {rows}) AS s (i))",
    "day": "CAST(DATE '2024-01-01' + CAST(i % 1000 AS INTEGER) AS TEXT)",
    "digest": "lpad(to_hex(i), 16, '0')",
}


def sqlite(path: Path, rows: int) -> str:
    """The address of a new ledger of so many rows in a file."""
    address = f"sqlite:///{path}"
    open_ledger(address).close()
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA synchronous = OFF")
        for statement in _statements(_SQLITE, rows):
            connection.execute(statement)
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return address


def postgres(server: str, schema: str, rows: int) -> str:
    """The same in a schema of a server."""
    import psycopg

    address = f"{server}{'&' if '?' in server else '?'}schema={schema}"
    open_ledger(address).close()
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"SET search_path TO {schema}")
        for statement in _statements(_POSTGRES, rows):
            connection.execute(statement)
        for table in ("nights", "runs", "outbox", "events", "outcomes"):
            connection.execute(f"VACUUM ANALYZE {table}")  # as the server itself does once rows have come
        for table in ("nights", "outbox", "events"):
            connection.execute(f"SELECT setval(pg_get_serial_sequence('{table}', 'id'), max(id)) FROM {table}")
    return address


def _statements(words: dict[str, str], rows: int) -> list[str]:
    written = _FILL.format(**_WORDS | words | {"series": words["series"].format(rows=rows)})
    return [statement for statement in written.split(";\n") if statement.strip()]
