"""Each rule of the drill can fail: the shipped ledger is broken in one way at a time, and the drill says so."""

from __future__ import annotations

from pathlib import Path

import pytest

from triagebot.cli import drills
from triagebot.cli.boundary import ExitCode
from triagebot.cli.environment import Environment
from triagebot.core.faults import LedgerUnusable
from triagebot.drill.drill import Plan
from triagebot.drill.rounds import Terms
from triagebot.drill.score import Rule

QUICK = Terms(lease=0.3, patience=0.3, haste=0.05, answer=15.0)


def drill(folder: Path, opener: str, **how: object) -> int:
    plan = Plan(times=2, processes=3, terms=QUICK, opener=f"tests.drill.broken:{opener}", **how)
    return drills.run(Environment(ledger=folder / "ledger.db"), plan, None, as_json=False)


BREAKS = {
    "gives_to_all": (Rule.ONE_WINNER, "3 of 3 processes were given one key: 1 x attempt"),
    "asks_first": (Rule.ONE_WINNER, "3 of 3 processes were given one key: 3 x attempt 1"),
    "gives_to_nobody": (Rule.ONE_WINNER, "0 of 3 processes were given one key: 3 x ledger busy"),
    "ignores_the_lease": (Rule.LEASE, "a killed process's key was given 0."),
    "frees_all_at_the_start": (Rule.LEASE, "for the key of a killed process, an hour before its lease ends"),
    "shortens_the_lease": (Rule.LEASE, "a killed process's key was given 0."),
    "never_takes_over": (Rule.LEASE, "a killed process's key was given to 0 of 1 processes, 0.3 s after its lease"),
    "keeps_the_attempt": (Rule.LEASE, "it was given as attempt [1], not 2"),
    "finishes_in_two_steps": (Rule.SENT_ONCE, "killed in the midst of a finish left a verdict and 0 writes to send"),
    "forgets_a_write": (Rule.SENT_ONCE, "a finish left a verdict and 1 of 2 writes"),
    "gives_a_row_on_its_way": (Rule.SENT_ONCE, "by two couriers at once, the comment of one key was sent 2 times"),
    "forgets_that_it_was_sent": (Rule.SENT_ONCE, "sent the comment of one key 3 times and was about to go on"),
    "finishes_without_fence": (Rule.FENCED, "finish: accepted from a worker whose work was taken over"),
    "sends_without_fence": (Rule.FENCED, "sent: accepted from a worker whose work was taken over"),
    "fences_the_owner_only": (Rule.FENCED, "release: accepted from a worker whose work was taken over"),
    "refuses_but_leaves_a_trace": (Rule.FENCED, "a late worker left behind: event 'late'"),
    "takes_a_lock_for_a_win": (Rule.LOCKED, "a claim on a locked ledger came back as 'a claim', not as busy"),
    "raises_at_a_lock": (Rule.LOCKED, "process 2 raised LedgerBusy: the ledger stayed locked"),
    "dies_in_a_claim": (Rule.ONE_WINNER, "ended with exit code 7: it left no word"),
}


@pytest.mark.parametrize("opener", BREAKS)
def test_a_broken_ledger_is_found_out(opener: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rule, seen = BREAKS[opener]
    code = drill(tmp_path, opener)
    *lines, last = [line for line in capsys.readouterr().out.splitlines() if line.startswith("broken in round ")]
    assert code == ExitCode.INCOMPLETE
    assert [line for line in lines if f", {rule}: " in line and seen in line], lines
    assert last.endswith("run no night here, and report the lines above")
    assert list(tmp_path.iterdir()) == []


def test_a_ledger_that_cannot_be_used_is_no_finding(tmp_path: Path) -> None:
    """A full disk says nothing of the promise; it ends the drill with the ledger's own sentence."""
    with pytest.raises(LedgerUnusable, match="disk full"):
        drill(tmp_path, "cannot_be_opened")
    assert list(tmp_path.iterdir()) == []
