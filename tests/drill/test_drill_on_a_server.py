"""The drill on PostgreSQL: the shipped ledger holds, a broken one is found out, and nothing is left behind."""

from __future__ import annotations

import psycopg
import pytest

from tests.drill.test_rules import QUICK
from tests.ledger.pieces import answer, parse_server, text
from triagebot.cli import drills
from triagebot.cli.boundary import ExitCode
from triagebot.cli.environment import Environment
from triagebot.cli.main import main
from triagebot.drill.drill import Plan
from triagebot.drill.score import Rule
from triagebot.ledger import copying
from triagebot.ledger.opening import open_ledger


def schemas(server: str) -> set[str]:
    with psycopg.connect(server) as connection:
        return {name for (name,) in connection.execute("SELECT nspname FROM pg_namespace")}


def knows(address: str) -> copying.Copied:
    with open_ledger(address) as ledger:
        return copying.contents(ledger.database)


def test_the_shipped_ledger_holds_on_a_schema_of_its_own(
    schema: str, server: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TRIAGEBOT_LEDGER", schema)
    assert main(["drill", "--times", "2", "--processes", "4"]) == 0
    said = capsys.readouterr()
    assert said.out.splitlines()[-1] == "2/2 single-winner"
    assert f"a schema of its own on {parse_server(schema).called}" in said.err
    assert not [name for name in schemas(server) if name.startswith("triagebot_drill")]
    assert parse_server(schema).schema not in schemas(server), "a drill makes no ledger"


def test_a_given_ledger_is_as_it_was(schema: str, capsys: pytest.CaptureFixture[str]) -> None:
    with open_ledger(schema) as ledger:
        answer(ledger, text())
    before = knows(schema)
    assert main(["drill", "--times", "1", "--processes", "2", "--ledger", schema]) == 0
    assert knows(schema) == before


@pytest.mark.parametrize("processes", [8, 64])
@pytest.mark.slow
def test_many_processes_and_many_rounds(
    schema: str, processes: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TRIAGEBOT_LEDGER", schema)
    assert main(["drill", "--times", "20", "--processes", str(processes)]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "20/20 single-winner"


BREAKS = {
    "gives_to_all": Rule.ONE_WINNER,
    "ignores_the_lease": Rule.LEASE,
    "gives_a_row_on_its_way": Rule.SENT_ONCE,
    "sends_without_fence": Rule.FENCED,
    "takes_a_lock_for_a_win": Rule.LOCKED,
}


@pytest.mark.parametrize("opener", BREAKS)
@pytest.mark.slow
def test_a_broken_ledger_is_found_out(opener: str, schema: str, capsys: pytest.CaptureFixture[str]) -> None:
    plan = Plan(times=2, processes=3, terms=QUICK, opener=f"tests.drill.broken:{opener}")
    code = drills.run(Environment(ledger=schema), plan, None, as_json=False)
    assert code == ExitCode.INCOMPLETE
    assert f"broken in round 1, {BREAKS[opener]}: " in capsys.readouterr().out
