"""Real processes on one ledger: races, kills, forks and threads."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.ledger.conftest import OpenAgain
from tests.ledger.pieces import (
    BOTH,
    COMMENT,
    LEASE,
    REPO,
    SPENT,
    answer,
    claim,
    night,
    run_of,
    stored,
    text,
)
from triagebot.core.faults import LedgerUnusable
from triagebot.core.rows import Claim, RowStatus
from triagebot.ledger.ledger import Ledger

ROOT = Path(__file__).parents[2]


def start(address: str, *argv: object, at: float = 0.0) -> subprocess.Popen[str]:
    words = [sys.executable, "-m", "tests.ledger.worker", address, str(at), *map(str, argv)]
    return subprocess.Popen(words, cwd=ROOT, stdout=subprocess.PIPE, text=True)


def together(address: str, *argv: object, processes: int = 4) -> list[list[int]]:
    """What each of several processes says that start at the same moment."""
    at = time.time() + 1.0
    workers = [start(address, *argv, at=at) for _ in range(processes)]
    said = [worker.communicate()[0] for worker in workers]
    assert [worker.returncode for worker in workers] == [0] * processes
    return [json.loads(each) for each in said]


def test_four_processes_and_two_hundred_keys_have_two_hundred_winners(address: str) -> None:
    """They also create the ledger at the same moment."""
    won = Counter(issue for each in together(address, "race", 200, 1) for issue in each)
    assert won == Counter(range(1, 201))


def test_a_claim_is_exclusive_across_days(address: str) -> None:
    won = Counter(issue for each in together(address, "race", 60, 3) for issue in each)
    assert won == Counter(range(1, 61))


def test_a_row_is_delivered_by_one_process(address: str, open_again: OpenAgain) -> None:
    ledger = open_again(now=None)
    tonight = night(ledger)
    for issue in range(1, 41):
        answer(ledger, text(issue=issue), *BOTH, tonight=tonight)
    taken = Counter(row for each in together(address, "deliver") for row in each)
    assert taken == Counter(range(1, 81))


def test_what_a_killed_process_said_is_on_disk_and_nothing_is_half_done(address: str, open_again: OpenAgain) -> None:
    said: list[str] = []
    for kill in range(3):
        with start(address, "work") as worker:
            assert worker.stdout
            said += [worker.stdout.readline() for _ in range(20 + 7 * kill)]
            worker.kill()
            said += [line for line in worker.stdout.read().splitlines(keepends=True) if line.endswith("\n")]
    ledger = open_again(now=None)
    done = [int(n) for n in re.findall(r"^done (\d+)$", "".join(said), re.MULTILINE)]
    sent = {int(n) for n in re.findall(r"^sent (\d+)$", "".join(said), re.MULTILINE)}
    assert len(done) == len(set(done)) > 20
    for issue in done:
        memory = ledger.recall(REPO, issue, text(issue=issue).digest)
        assert memory.verdict
        assert [row.action for row in memory.rows] == [planned.action for planned in BOTH]
        assert all(row.status is RowStatus.SENT for row in memory.rows if row.id in sent)
    known = ledger.status()
    assert known.issues["done"] - len(done) in range(4)  # a kill may come between the commit and the word
    assert known.issues.get("running", 0) <= 3


def test_a_process_that_dies_in_a_transaction_has_done_nothing(address: str, open_again: OpenAgain) -> None:
    ledger = open_again(now=None)
    held = claim(ledger, text())
    code = (
        "import os, sys; from triagebot.ledger.opening import open_ledger; "
        "transaction = open_ledger(sys.argv[1])._database.transaction(); tx = transaction.__enter__(); "
        f"tx.all('silence', repo_id={REPO}, issue=1, reason='deleted'); "
        f"print(len(tx.all('tombstone', repo_id={REPO}, issue=1)), flush=True); os.kill(os.getpid(), 9)"
    )
    died = subprocess.run([sys.executable, "-c", code, address], cwd=ROOT, check=False, capture_output=True, text=True)
    assert (died.returncode, died.stdout) == (-signal.SIGKILL, "1\n")
    assert not ledger.recall(REPO, 1, "").silence.silent
    ledger.fail(held, "the ledger is not locked", SPENT)


# --- threads and forks


def test_each_thread_has_a_connection_of_its_own(ledger: Ledger) -> None:
    tonight, barrier = night(ledger), threading.Barrier(4)

    def work(worker: int) -> list[int]:
        barrier.wait()
        given = [ledger.claim(text(issue=issue), tonight, lease=LEASE) for issue in range(1, 51)]
        return [claimed.ref.issue for claimed in given if isinstance(claimed, Claim)]

    with ThreadPoolExecutor(4) as pool:
        won = Counter(issue for each in pool.map(work, range(4)) for issue in each)
    assert won == Counter(range(1, 51))


def test_a_closed_ledger_is_closed_for_every_thread(open_again: OpenAgain) -> None:
    ledger = open_again()
    tonight = night(ledger)
    with ThreadPoolExecutor(1) as pool:
        pool.submit(claim, ledger, text(), tonight).result()
        ledger.close()
        with pytest.raises(LedgerUnusable, match="is closed; open it again"):
            pool.submit(night, ledger).result()
    with pytest.raises(LedgerUnusable, match="is closed; open it again"):
        night(ledger)
    ledger.close()


def test_a_forked_child_may_not_use_its_parents_ledger(open_again: OpenAgain) -> None:
    """SQLite forbids it and would not notice."""
    ledger = open_again(now=None)
    answer(ledger, text(), COMMENT)
    child = os.fork()
    if child == 0:
        try:
            night(ledger)
        except LedgerUnusable as fault:
            ledger.close()
            os._exit(7 if "opened before a fork" in str(fault) else 8)
        os._exit(9)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    assert stored(ledger, text()).status is RowStatus.PENDING
    assert run_of(ledger, text())["status"] == "done"


# --- transactions


def test_an_interrupted_transaction_is_rolled_back(ledger: Ledger) -> None:
    def interrupted() -> None:
        with ledger._database.transaction() as tx:
            tx.all("silence", repo_id=REPO, issue=1, reason="deleted")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert not ledger.recall(REPO, 1, "").silence.silent
    assert night(ledger).first


def test_a_reader_does_not_wait_for_a_writer(ledger: Ledger, open_again: OpenAgain) -> None:
    hasty = open_again(timeout=0.05)
    answer(ledger, text(), COMMENT)
    tonight = night(ledger)
    with ledger._database.transaction() as tx:
        tx.all("silence", repo_id=REPO, issue=1, reason="deleted")
        assert not hasty.recall(REPO, 1, text().digest).silence.silent
        assert hasty.next_due(REPO, tonight) == 0.0
