"""A night knows when the last good one before it ended; on each database."""

from __future__ import annotations

from tests.ledger.pieces import DAY, REPO, Clock
from triagebot.ledger.ledger import Ledger


def test_a_night_is_told_the_end_of_the_last_good_one_before_it(ledger: Ledger, clock: Clock) -> None:
    def lived(how: str | None, repo_id: int = REPO) -> None:
        night = ledger.open_night(repo_id=repo_id, repo=f"octo/r{repo_id}", day=DAY)
        clock.pass_(60)
        if how is not None:
            ledger.close_night(night, how=how, counts={})

    assert ledger.open_night(repo_id=REPO, repo="octo/demo", day=DAY).last_good is None
    lived("done")
    good = ledger.status(f"octo/r{REPO}").last_good
    lived("incomplete")
    lived(None)
    lived("done", repo_id=REPO + 1)
    night = ledger.open_night(repo_id=REPO, repo="octo/demo", day=DAY)
    assert night.last_good == good
    assert good is not None
