"""Every way in which a server can be missing, foreign or closed ends in one sentence, the way out and no password."""

from __future__ import annotations

import contextlib
import re
import sqlite3
import sys
import threading
import uuid
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.ledger import servers
from tests.ledger.pieces import (
    BOTH,
    COMMENT,
    LEASE,
    NOTHING,
    REPO,
    SPENT,
    answer,
    claim,
    night,
    parse_server,
    run_of,
    stored,
    take,
    text,
)
from triagebot.core.faults import LedgerBusy, LedgerUnusable, Misconfigured
from triagebot.core.rows import Claim, RowStatus
from triagebot.ledger import address as addresses
from triagebot.ledger import copying, postgres, postgres_rows, statements
from triagebot.ledger.opening import backup, open_ledger

here = pytest.mark.skipif(bool(servers.ELSEWHERE), reason="needs the embedded server, which this may set up")


@pytest.fixture
def admin(server: str) -> Iterator[psycopg.Connection]:
    with psycopg.connect(server, autocommit=True) as connection:
        yield connection


@pytest.fixture
def used(schema: str) -> str:
    """A ledger that knows an answered issue."""
    with open_ledger(schema) as ledger:
        answer(ledger, text(), *BOTH)
    return schema


def one_sentence(fault: BaseException, address: str) -> str:
    said = str(fault)
    assert said.startswith(f"ledger {parse_server(address).called}: "), said
    assert "\n" not in said
    assert ";" in said
    assert "hunter2" not in said
    return said


def refused(address: str, kind: type[Exception] = LedgerUnusable, **how: Any) -> str:
    with pytest.raises(kind) as told:
        open_ledger(address, **how)
    return one_sentence(told.value, address)


def tables(address: str) -> Mapping[str, list[str]]:
    place = parse_server(address)
    with psycopg.connect(place.url, autocommit=True) as connection:
        found = connection.execute(
            "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = %s "
            "ORDER BY table_name, ordinal_position",
            (place.schema,),
        ).fetchall()
    return {table: [column for name, column in found if name == table] for table, _ in found}


# --- the address


@pytest.mark.parametrize(
    ("written", "called", "schema"),
    [
        ("postgresql://bot:hunter2@db.example:5433/triage", "postgresql://db.example:5433/triage", "triagebot"),
        ("postgres://bot:hunter2@a:1,b:2/triage?sslmode=require", "postgresql://a:1,b:2/triage", "triagebot"),
        ("postgresql://[::1]:5432/t?schema=other", "postgresql://[::1]:5432/t?schema=other", "other"),
        ("postgresql:///t?host=/run/pg&password=hunter2", "postgresql:///t?host=/run/pg", "triagebot"),
        ("postgresql://", "postgresql:///", "triagebot"),
    ],
)
def test_an_address_names_a_schema_and_is_told_without_its_password(written: str, called: str, schema: str) -> None:
    place = parse_server(written)
    assert (place.called, place.schema) == (called, schema)
    assert "hunter2" not in f"{place} {place!r}"
    assert "schema=" not in place.url


@pytest.mark.parametrize(
    "written",
    [
        "postgresql://bot:hunter2/4@db/triage",
        "postgresql://bot:hunter2?4@db/triage",
        "postgresql://bot:hunter2 4@db/triage",
        "postgresql://bot:hunter2",
        "postgresql://bot:hunter2@db/triage?schema=Robert'); DROP TABLE",
        "postgresql://bot:hunter2@db/triage?schema=pg_catalog",
        "postgresql://bot:hunter2@db/triage?passwort=x",
        "postgresql://bot:hunter2%zz@db/triage",
    ],
)
def test_an_address_that_cannot_be_one_is_refused_without_repeating_it(written: str) -> None:
    with pytest.raises(Misconfigured) as told:
        open_ledger(written)
    assert "hunter2" not in f"{told.value}"
    assert "hunter2" not in f"{told.value.__cause__} {told.value.__context__}"


def test_every_form_of_a_password_is_known_to_be_a_secret() -> None:
    assert set(addresses.passwords("postgresql://bot:hunter%2F2@db/t?sslpassword=k%21")) == {
        "hunter%2F2", "hunter/2", "k!",
    }  # fmt: skip
    assert [*addresses.passwords("~/a:b@c.db")] == []
    assert "hunter2/4" in set(addresses.passwords("postgresql://bot:hunter2/4@db/triage"))


def test_without_the_extra_a_sentence_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "triagebot.ledger.postgres")
    monkeypatch.delattr("triagebot.ledger.postgres")
    monkeypatch.setitem(sys.modules, "psycopg", None)
    said = refused("postgresql://bot:hunter2@db/triage", Misconfigured)
    assert said.endswith("install it with pip install 'triagebot[postgres]'")


# --- a server that does not let us in


@pytest.mark.parametrize(
    ("server_at", "said"),
    [
        ("postgresql://bot:hunter2@127.0.0.1:1/triage", "cannot be reached (Connection refused"),
        ("postgresql://bot:hunter2@nobody.invalid/triage", "has a host name that nobody knows; set it right in"),
        ("postgresql://bot:hunter2@/triage?host=/nowhere", "cannot be reached (No such file or directory"),
    ],
)
def test_a_server_that_is_not_there_is_named(server_at: str, said: str) -> None:
    assert said in refused(server_at, timeout=0.1)


def at(server: str, user: str, *, database: str = "postgres", **options: str) -> str:
    """Another way into the embedded server."""
    folder = re.search(r"host=([^&]+)", server)
    assert folder
    more = "".join(f"&{name}={value}" for name, value in options.items())
    return f"postgresql://{user}:hunter2@/{database}?host={folder[1]}{more}"


@here
def test_whoever_may_not_come_in_is_told_why(server: str, admin: psycopg.Connection) -> None:
    for role in (servers.LOCKED_OUT, servers.BARRED):
        with contextlib.suppress(psycopg.errors.DuplicateObject):
            admin.execute(f"CREATE ROLE {role} LOGIN PASSWORD 'another'")
    assert "refuses the password; set the right one" in refused(at(server, servers.LOCKED_OUT))
    assert "asks for a password; set" in refused(at(server, servers.LOCKED_OUT).replace(":hunter2", ""))
    assert "cannot be reached" in refused(at(server, servers.BARRED))
    assert "does not have the database; create it" in refused(at(server, "postgres", database="nothing"))
    assert "does not know the user; create the role" in refused(at(server, "nobody"))


@here
def test_a_server_without_tls_says_so(server: str) -> None:
    from tests.ledger import proxy

    with proxy.before(server) as way:
        address = way.address("any").replace("sslmode=disable", "sslmode=require")
        assert "offers no TLS; take sslmode out" in refused(address)


@here
def test_who_may_not_make_the_schema_is_told_what_to_ask_for(server: str, admin: psycopg.Connection) -> None:
    role = f"poor_{uuid.uuid4().hex[:8]}"
    admin.execute(f"CREATE ROLE {role} LOGIN")
    address = at(server, role, schema=f"schema_of_{role}")
    said = refused(address)
    assert f"the user {role} may not make the schema schema_of_{role}; as the database's owner run: " in said
    admin.execute(said.partition("owner run: ")[2])
    with open_ledger(address) as ledger:
        answer(ledger, text(), *BOTH)
    admin.execute(f"REVOKE ALL ON ALL TABLES IN SCHEMA schema_of_{role} FROM {role}")


@here
def test_who_may_read_and_not_write_reads(server: str, used: str, admin: psycopg.Connection) -> None:
    role, name = f"reader_{uuid.uuid4().hex[:8]}", parse_server(used).schema
    admin.execute(f"CREATE ROLE {role} LOGIN; GRANT USAGE ON SCHEMA {name} TO {role}")
    admin.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA {name} TO {role}")
    address = at(server, role, schema=name)
    with open_ledger(address, must_exist=True) as ledger:
        assert ledger.recall(REPO, 1, text().digest).verdict
        with pytest.raises(LedgerUnusable) as told:
            night(ledger)
    assert f"may not do this (42501); as the owner of the schema {name}, grant it" in one_sentence(told.value, address)


@here
def test_a_read_only_server_says_so(server: str, used: str, admin: psycopg.Connection) -> None:
    with open_ledger(f"{used}&options=-cdefault_transaction_read_only%3Don") as ledger:
        night(ledger)  # a default that somebody set for others is none of ours
    place = parse_server(used)
    database = postgres.Postgres(place, timeout=1)
    with contextlib.closing(database), pytest.raises(LedgerUnusable) as told:
        database.view(lambda tx: tx.all("silence", repo_id=REPO, issue=1, reason="x"))
    assert "is read-only (a standby?) (25006); name the primary" in one_sentence(told.value, used)


@here
def test_a_database_that_cannot_hold_every_text_is_refused(server: str, admin: psycopg.Connection) -> None:
    name = f"latin_{uuid.uuid4().hex[:8]}"
    admin.execute(f"CREATE DATABASE {name} ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0")
    said = refused(at(server, "postgres", database=name))
    assert "is encoded in LATIN1, which cannot hold every text; make one with createdb --encoding=UTF8" in said


# --- a schema


def test_a_ledger_that_must_exist_is_not_created(schema: str) -> None:
    said = refused(schema, must_exist=True)
    assert "yet; run `triagebot run` first, or name another one" in said
    assert tables(schema) == {}
    open_ledger(schema).close()
    open_ledger(schema, must_exist=True).close()


def test_another_programs_schema_is_left_alone(schema: str, admin: psycopg.Connection) -> None:
    name = parse_server(schema).schema
    admin.execute(f"CREATE SCHEMA {name}; CREATE TABLE {name}.diary (entry TEXT)")
    assert f"the schema {name} is another program's; name another one with ?schema=NAME" in refused(schema)
    assert tables(schema) == {"diary": ["entry"]}


def test_both_databases_end_at_the_same_tables(schema: str, tmp_path: Path) -> None:
    open_ledger(schema).close()
    open_ledger(tmp_path / "ledger.db").close()
    with contextlib.closing(sqlite3.connect(tmp_path / "ledger.db")) as file:
        names = [name for (name,) in file.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')")]
        columns = {name: [row[1] for row in file.execute(f"PRAGMA table_info({name})")] for name in names}
    found = {**tables(schema)}
    assert found.pop("schema_version") == ["version"]
    assert found == columns


def test_every_column_of_every_table_is_copied(schema: str) -> None:
    open_ledger(schema).close()
    sql = statements.queries(postgres._MACROS)
    listed = {table: sql[f"put_{table}"].partition("(")[2].partition(")")[0] for table in copying._TABLES}
    named = {table: re.findall(r"\w+", columns) for table, columns in listed.items()}
    assert named == {name: found for name, found in tables(schema).items() if name in named}
    assert named.keys() | {"schema_version", "done_per_day"} == tables(schema).keys()


STEPS = statements.migrations(postgres._MACROS)
LATER = (*STEPS, "ALTER TABLE nights ADD COLUMN mood TEXT; -- so; it goes\nCREATE INDEX later ON nights (mood);")


def migrated(address: str, steps: tuple[str, ...], **how: Any) -> None:
    postgres.open_schema(parse_server(address), migrations=steps, **how).close()


def test_an_older_ledger_is_migrated_and_keeps_what_it_knows(used: str) -> None:
    migrated(used, LATER)
    assert "mood" in tables(used)["nights"]
    migrated(used, LATER)
    with contextlib.closing(postgres.open_schema(parse_server(used), migrations=LATER)) as database:
        assert len(database.view(lambda tx: tx.all("rows_of_issue", repo_id=REPO, issue=1))) == 2


def test_a_migration_is_done_whole_or_not_at_all(used: str) -> None:
    before = tables(used)
    with pytest.raises(psycopg.errors.DuplicateTable):
        migrated(used, (*STEPS, "ALTER TABLE nights ADD COLUMN mood TEXT;\nCREATE TABLE runs (x INTEGER);"))
    assert tables(used) == before
    migrated(used, LATER)


@pytest.mark.parametrize("new", [True, False])
def test_several_openings_at_once_create_or_migrate_once(schema: str, new: bool) -> None:
    if not new:
        open_ledger(schema).close()
    barrier = threading.Barrier(6)

    def opened(_: int) -> None:
        barrier.wait()
        migrated(schema, LATER)

    with ThreadPoolExecutor(6) as pool:
        assert list(pool.map(opened, range(6))) == [None] * 6


def test_a_newer_ledger_is_refused(used: str) -> None:
    migrated(used, LATER)
    said = refused(used)
    assert f"was written by a newer triagebot (schema {len(LATER)}, this one knows {len(STEPS)}); upgrade" in said


def test_a_ledger_that_is_migrated_under_a_running_process_stops_it(used: str) -> None:
    with open_ledger(used) as ledger:
        tonight = night(ledger)
        migrated(used, LATER)
        for act in (lambda: night(ledger), lambda: ledger.recall(REPO, 1, ""), lambda: take(ledger, tonight)):
            with pytest.raises(LedgerUnusable) as told:
                act()
            assert "migrated by another version of triagebot meanwhile; start again" in one_sentence(told.value, used)


def test_a_ledger_in_use_is_migrated_when_it_comes_free(used: str) -> None:
    with open_ledger(used) as ledger, ledger._database.transaction() as tx:
        tx.all("rows_of_issue", repo_id=REPO, issue=1)
        night(ledger)
        with pytest.raises(LedgerBusy) as told:
            migrated(used, (*STEPS, "ALTER TABLE outbox ADD COLUMN mood TEXT"), timeout=0.1)
        one_sentence(told.value, used)
    migrated(used, (*STEPS, "ALTER TABLE outbox ADD COLUMN mood TEXT"))


def test_a_schema_that_is_gone_is_no_empty_ledger(used: str, admin: psycopg.Connection) -> None:
    with open_ledger(used) as ledger:
        admin.execute(f"DROP SCHEMA {parse_server(used).schema} CASCADE")
        with pytest.raises(LedgerUnusable) as told:
            night(ledger)
        assert "is gone" in one_sentence(told.value, used)


def test_two_schemas_are_two_ledgers(used: str, server: str) -> None:
    beside = f"{used}_b"
    with open_ledger(beside) as ledger:
        assert not ledger.recall(REPO, 1, text().digest).tried
        claim(ledger, text())
    postgres.drop_schema(parse_server(beside))
    with open_ledger(used) as ledger:
        assert stored(ledger, text()).status is RowStatus.PENDING


# --- sessions


def test_a_session_waits_for_nothing_for_ever_and_keeps_what_it_was_told(schema: str) -> None:
    with open_ledger(schema, timeout=7) as ledger:
        asked = ("lock_timeout", "statement_timeout", "idle_in_transaction_session_timeout", "search_path")
        told = ledger._database.view(
            lambda tx: [tx._execute(f"SELECT current_setting('{name}') AS told", {})[0]["told"] for name in asked]
        )
        assert told[:3] == ["7s", "30s", "1min"]
        assert told[3].endswith("pg_temp")
        with ledger._database._pool.lent() as connection:
            (left,) = connection.execute("SELECT current_setting('lock_timeout') AS told").fetchall()
            assert left["told"] == "0", "a pooler gives the session to others"
            known = connection.info.get_parameters()
        assert int(known["connect_timeout"]) == 10
        assert {"tcp_user_timeout", "keepalives_idle"} <= known.keys()


def test_a_commit_is_durable_whatever_the_database_prefers(schema: str) -> None:
    with open_ledger(f"{schema}&options=-csynchronous_commit%3Doff") as ledger:
        told = ledger._database.view(lambda tx: tx._execute("SELECT current_setting('synchronous_commit') AS told", {}))
    assert [row["told"] for row in told] == ["on"]


@pytest.mark.parametrize("odd", ["a\0b", "half \ud83d of a pair", "100 %s :name '' \\"])
def test_any_text_can_be_stored(schema: str, odd: str) -> None:
    with open_ledger(schema) as ledger:
        held = claim(ledger, text())
        ledger.fail(held, odd, SPENT)
        (reason,) = {e.fields["reason"] for e in ledger.history(REPO, 1) if e.kind == "run"}
    assert len(reason) == len(odd)
    assert "\0" not in reason


# --- what a server does otherwise than a file


def until_somebody_waits(admin: psycopg.Connection) -> None:
    """Until a session of the ledger's waits for a lock."""
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND application_name = 'triagebot'"
    while admin.execute(waiting).fetchone() == (0,):
        pass


def test_a_lease_begins_when_it_is_given_and_not_when_it_was_asked_for(schema: str, admin: psycopg.Connection) -> None:
    with open_ledger(schema) as ledger, ThreadPoolExecutor(1) as pool:
        tonight = night(ledger)
        with ledger._database.transaction() as tx:
            tx.hold(REPO, 1)
            asked = pool.submit(ledger.claim, text(), tonight, lease=LEASE)
            until_somebody_waits(admin)
            (now,) = admin.execute("SELECT extract(epoch FROM clock_timestamp())::float").fetchone() or (0.0,)
        assert isinstance(asked.result(), Claim)
        assert run_of(ledger, text())["lease_until"] >= now + LEASE


def test_a_row_that_somebody_else_is_at_holds_up_no_courier(schema: str, admin: psycopg.Connection) -> None:
    """One crashed, and another session has just come to record it: whoever comes next leaves that to it."""
    name = parse_server(schema).schema
    with open_ledger(schema, timeout=0.2) as ledger:
        tonight = night(ledger)
        for issue in (1, 2):
            answer(ledger, text(issue=issue), COMMENT, tonight=tonight)
        assert take(ledger, tonight).issue == 1
        held = claim(ledger, text(issue=3), tonight)
        admin.execute(f"UPDATE {name}.outbox SET lease_until = 0 WHERE status = 'sending'")
        admin.execute(f"UPDATE {name}.runs SET lease_until = 0 WHERE status = 'running'")
        with admin.transaction():
            admin.execute(f"SELECT * FROM {name}.outbox WHERE status = 'sending' FOR UPDATE")
            admin.execute(f"SELECT * FROM {name}.runs WHERE status = 'running' FOR UPDATE")
            assert take(ledger, tonight).issue == 2
            assert night(ledger)
        assert run_of(ledger, held.ref)["status"] == "running"
        night(ledger)
        assert run_of(ledger, held.ref)["status"] == "failed"


def test_a_backup_of_a_server_is_the_servers_affair(used: str, tmp_path: Path) -> None:
    with pytest.raises(Misconfigured) as told:
        backup(used, tmp_path / "copy.db")
    assert "lies on a server; back it up with pg_dump --schema=" in one_sentence(told.value, used)


def test_parameters_are_written_as_psycopg_wants_them_and_nothing_else_is_touched() -> None:
    shared = "SELECT ':no', a::text, :yes -- it's :no and 5 %\n || 'HH24:MI' || '7%' % :yes"
    assert postgres_rows.psycopg_style(shared) == "SELECT ':no', a::text, %(yes)s \n || 'HH24:MI' || '7%%' %% %(yes)s"


def test_a_verdict_of_nothing_comes_back_whole(schema: str) -> None:
    with open_ledger(schema) as ledger:
        answer(ledger, text(), verdict=NOTHING)
        known = ledger.status()
        assert known.usage == SPENT
        assert {type(known.usage.requests), type(known.days[0].done)} == {int}
