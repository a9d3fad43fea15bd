"""Claim, run, finish: one winner, fenced writes, a budget of failures."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.ledger.conftest import OpenAgain
from tests.ledger.pieces import (
    BOTH,
    COMMENT,
    DAY,
    DOCS,
    LABELLED,
    LABELS,
    LEASE,
    NOTHING,
    POSTED,
    REPO,
    SETTLE,
    SPENT,
    Clock,
    answer,
    claim,
    events,
    fail,
    night,
    refused,
    run_of,
    stored,
    take,
    take_row,
    text,
)
from triagebot.core.actions import Action
from triagebot.core.faults import LeaseLost, LedgerBusy
from triagebot.core.rows import Claim, Planned, Recorded, RowStatus, Unclaimed
from triagebot.core.verdict import Outcome, Usage
from triagebot.ledger.ledger import Ledger

# --- the claim


def test_a_text_is_claimed_by_one_worker(ledger: Ledger, other: Ledger) -> None:
    held = claim(ledger, text())
    assert held == Claim(ref=text(), night=held.night, owner=ledger.owner, attempt=1)
    assert refused(other, text()) is Unclaimed.HELD


def test_an_issue_is_claimed_by_one_worker_whatever_its_text_and_day(ledger: Ledger, other: Ledger) -> None:
    claim(ledger, text())
    assert refused(other, text("edited")) is Unclaimed.HELD
    assert refused(other, text(day=1)) is Unclaimed.HELD


def test_equal_texts_and_numbers_elsewhere_are_other_work(ledger: Ledger, other: Ledger) -> None:
    for ref in (text(), text(issue=2), text(repo=8)):
        assert claim(other, ref).attempt == 1


def test_a_text_with_a_verdict_of_any_day_is_answered(ledger: Ledger) -> None:
    answer(ledger, text())
    answer(ledger, text(issue=2), verdict=NOTHING)
    for issue in (1, 2):
        assert refused(ledger, text(issue=issue)) is Unclaimed.ANSWERED
        assert refused(ledger, text(issue=issue, day=40)) is Unclaimed.ANSWERED


def test_another_text_of_an_answered_issue_is_claimable(ledger: Ledger) -> None:
    answer(ledger, text())
    assert claim(ledger, text("edited")).attempt == 1


def test_a_failed_text_is_claimed_at_most_once_a_night(ledger: Ledger) -> None:
    tonight = night(ledger)
    ledger.fail(claim(ledger, text(), tonight), "unparseable", SPENT)
    assert refused(ledger, text(), tonight) is Unclaimed.TRIED
    assert claim(ledger, text()).attempt == 2


def test_a_key_has_three_tries_and_the_next_day_has_new_ones(ledger: Ledger) -> None:
    for _ in range(3):
        fail(ledger, text())
    assert refused(ledger, text()) is Unclaimed.SPENT
    assert claim(ledger, text(day=1)).attempt == 1


def test_a_text_that_failed_on_three_days_is_dead(ledger: Ledger) -> None:
    fail(ledger, text())
    fail(ledger, text(day=1))
    assert ledger.recall(REPO, 1, text().digest).dead is None
    fail(ledger, text(day=2), "cut off")
    assert ledger.recall(REPO, 1, text().digest).dead == "failed on 3 days: cut off"
    assert refused(ledger, text(day=2)) is Unclaimed.DEAD
    assert refused(ledger, text(day=3)) is Unclaimed.DEAD
    assert claim(ledger, text("edited", day=3)).attempt == 1
    assert events(ledger)[-2:] == ["dead", "claimed"]


def test_three_failures_on_one_day_are_one_failed_day(ledger: Ledger) -> None:
    for _ in range(3):
        fail(ledger, text())
    fail(ledger, text(day=1))
    assert ledger.recall(REPO, 1, text().digest).dead is None


def test_again_claims_what_is_answered_failed_or_dead_once_a_night(ledger: Ledger) -> None:
    answer(ledger, text())
    for day in range(3):
        fail(ledger, text(issue=2, day=day))
    for _ in range(3):
        fail(ledger, text(issue=3))
    for ref in (text(), text(day=1), text(issue=2, day=2), text(issue=2, day=3), text(issue=3)):
        tonight = night(ledger)
        ledger.release(claim(ledger, ref, tonight, again=True), "interrupted", SPENT)
        assert refused(ledger, ref, tonight, again=True) is Unclaimed.TRIED


def test_again_takes_nothing_from_a_worker(ledger: Ledger, other: Ledger) -> None:
    claim(ledger, text())
    assert refused(other, text(), again=True) is Unclaimed.HELD
    assert refused(other, text(day=1), again=True) is Unclaimed.HELD


def test_a_locked_ledger_is_a_failed_claim(
    ledger: Ledger, open_again: OpenAgain, monkeypatch: pytest.MonkeyPatch
) -> None:
    tonight, hasty = night(ledger), open_again(timeout=0.05)
    with ledger._database.transaction() as tx:
        tx.hold(REPO, 1)
        assert hasty.claim(text(), tonight, lease=LEASE) is Unclaimed.BUSY
        with pytest.raises(LedgerBusy, match=r"stayed locked for 0.05 s; end the other"):
            hasty.mend(text(), COMMENT)
    assert isinstance(hasty.claim(text(), tonight, lease=LEASE), Claim)


# --- leases


def test_a_lease_that_is_over_can_be_claimed_in_another_night(ledger: Ledger, other: Ledger, clock: Clock) -> None:
    late = claim(ledger, text())
    clock.pass_(LEASE - 1)
    assert refused(other, text()) is Unclaimed.HELD
    clock.pass_(1)
    taken = claim(other, text())
    assert taken.attempt == 2
    for write in (
        lambda: ledger.finish(late, LABELLED, BOTH, SPENT),
        lambda: ledger.fail(late, "late", SPENT),
        lambda: ledger.release(late, "late", SPENT),
    ):
        with pytest.raises(LeaseLost, match=r"attempt 1 .* no longer holds the claim"):
            write()
    assert run_of(ledger, text())["owner"] == other.owner
    assert run_of(ledger, text())["status"] == "running"
    assert ledger.recall(REPO, 1, text().digest).rows == ()
    other.finish(taken, LABELLED, (), SPENT)


def test_the_claim_itself_takes_up_a_lease_that_is_over(ledger: Ledger, other: Ledger, clock: Clock) -> None:
    """Of its own key, with tries left; a night that has long been open needs no other one to record the crash."""
    tonight = night(other)
    claim(ledger, text())
    clock.pass_(LEASE)
    assert claim(other, text(), tonight).attempt == 2
    assert events(ledger) == ["claimed", "claimed"]
    assert run_of(ledger, text())["tries"] == 2


def test_a_lease_that_is_over_is_not_taken_up_in_its_own_night(ledger: Ledger, clock: Clock) -> None:
    tonight = night(ledger)
    claim(ledger, text(), tonight)
    clock.pass_(LEASE)
    assert refused(ledger, text(), tonight) is Unclaimed.TRIED


def test_a_late_worker_that_nobody_replaced_may_finish(ledger: Ledger, clock: Clock) -> None:
    held = claim(ledger, text())
    clock.pass_(10 * LEASE)
    ledger.finish(held, LABELLED, (), SPENT)
    assert ledger.recall(REPO, 1, text().digest).verdict == LABELLED


def test_each_crash_costs_a_try_and_the_last_one_is_recorded(ledger: Ledger, clock: Clock) -> None:
    for _ in range(3):
        claim(ledger, text())
        clock.pass_(LEASE)
    assert refused(ledger, text()) is Unclaimed.SPENT
    assert (run_of(ledger, text())["status"], run_of(ledger, text())["reason"]) == ("failed", "crashed")


def test_a_claim_ends_the_crashed_claim_of_another_day(ledger: Ledger, other: Ledger, clock: Clock) -> None:
    tonight, tomorrow = night(ledger), night(other, day=1)
    late = claim(ledger, text(), tonight)
    clock.pass_(LEASE)
    assert claim(other, text(day=1), tomorrow).attempt == 1
    assert run_of(ledger, text())["status"] == "failed"
    for write in (ledger.fail, ledger.release):
        with pytest.raises(LeaseLost):
            write(late, "late", SPENT)
    assert run_of(ledger, text())["tries"] == 1
    assert "crashed" in events(ledger)


def test_crashes_on_three_days_make_a_text_dead(ledger: Ledger, clock: Clock) -> None:
    for day in range(3):
        claim(ledger, text(day=day))
        clock.pass_(LEASE)
    assert refused(ledger, text(day=3)) is Unclaimed.DEAD
    assert ledger.recall(REPO, 1, text().digest).dead == "failed on 3 days: crashed"


def test_a_night_that_opens_records_the_crashes_before_it(ledger: Ledger, clock: Clock) -> None:
    """So a crash on an issue that nobody takes again ends in an outcome, too."""
    claim(ledger, text())
    claim(ledger, text(issue=2))
    claim(ledger, text(repo=8))
    clock.pass_(LEASE)
    held = claim(ledger, text(issue=3), night(ledger, repo=9))
    night(ledger)
    assert [run_of(ledger, text(issue=n))["status"] for n in (1, 2, 3)] == ["failed", "failed", "running"]
    assert run_of(ledger, text(repo=8))["status"] == "running"
    ledger.finish(held, LABELLED, (), SPENT)


# --- fail and release


def test_a_released_try_is_given_back(ledger: Ledger) -> None:
    for attempt in range(1, 6):
        held = claim(ledger, text())
        assert held.attempt == attempt
        ledger.release(held, "interrupted", SPENT)
        assert run_of(ledger, text())["tries"] == 0
    assert run_of(ledger, text())["reason"] == "interrupted"


def test_a_released_claim_is_gone(ledger: Ledger) -> None:
    held = claim(ledger, text())
    ledger.release(held, "interrupted", Usage())
    for write in (
        lambda: ledger.finish(held, LABELLED, (), SPENT),
        lambda: ledger.fail(held, "late", SPENT),
        lambda: ledger.release(held, "twice", SPENT),
    ):
        with pytest.raises(LeaseLost):
            write()
    assert run_of(ledger, text())["tries"] == 0


def test_a_failure_that_was_the_endpoints_is_released_afterwards(ledger: Ledger) -> None:
    fail(ledger, text())
    held = fail(ledger, text())
    ledger.release(held, "the endpoint was down", Usage())
    assert (run_of(ledger, text())["tries"], run_of(ledger, text())["reason"]) == (1, "the endpoint was down")


def test_a_release_takes_back_the_third_failed_day(ledger: Ledger) -> None:
    fail(ledger, text())
    fail(ledger, text(day=1))
    held = fail(ledger, text(day=2))
    ledger.release(held, "the endpoint was down", Usage())
    assert ledger.recall(REPO, 1, text().digest).dead is None
    assert claim(ledger, text(day=3)).attempt == 1


def test_a_day_whose_tries_were_given_back_is_no_failed_day(ledger: Ledger) -> None:
    for day in (0, 1):
        ledger.release(claim(ledger, text(day=day)), "interrupted", Usage())
    fail(ledger, text(day=2))
    assert ledger.recall(REPO, 1, text().digest).dead is None


def test_a_finished_run_is_not_released(ledger: Ledger) -> None:
    held = claim(ledger, text())
    ledger.finish(held, LABELLED, (), SPENT)
    for late in (ledger.release, ledger.fail):
        with pytest.raises(LeaseLost):
            late(held, "late", SPENT)
    with pytest.raises(LeaseLost):
        ledger.finish(held, NOTHING, BOTH, SPENT)
    assert ledger.recall(REPO, 1, text().digest).verdict == LABELLED


def test_the_fence_wants_owner_and_attempt(ledger: Ledger) -> None:
    held = claim(ledger, text())
    for forged in (replace(held, owner="somebody"), replace(held, attempt=2), replace(held, ref=text("other"))):
        with pytest.raises(LeaseLost):
            ledger.finish(forged, LABELLED, (), SPENT)
    ledger.finish(held, LABELLED, (), SPENT)


def test_the_cost_of_every_attempt_adds_up_and_unknown_is_not_zero(ledger: Ledger) -> None:
    ledger.fail(claim(ledger, text()), "no usage", Usage(requests=2))
    assert (run_of(ledger, text())["requests"], run_of(ledger, text())["tokens_in"]) == (2, None)
    ledger.release(claim(ledger, text()), "interrupted", Usage(requests=1, tokens_in=5))
    answer(ledger, text())
    run = run_of(ledger, text())
    assert (run["requests"], run["tokens_in"], run["tokens_out"]) == (4, 105, 10)


# --- finish


def test_a_verdict_is_remembered_with_its_rows(ledger: Ledger) -> None:
    answer(ledger, text(), *BOTH)
    memory = ledger.recall(REPO, 1, text().digest)
    assert memory.verdict == LABELLED
    assert memory.tried
    assert [(r.action, r.status, r.votes) for r in memory.rows] == [
        (p.action, RowStatus.PENDING, p.votes) for p in BOTH
    ]
    run = run_of(ledger, text())
    assert (run["status"], run["outcome"], run["model"], run["prompt"]) == ("done", "labelled", "m", "p")
    assert run["ended_at"].endswith("Z")


def test_a_newer_verdict_supersedes_what_waits(ledger: Ledger) -> None:
    answer(ledger, text(), *BOTH)
    answer(ledger, text("edited"), COMMENT)
    old = [stored(ledger, text(), action) for action in Action]
    assert [(r.status, r.reason) for r in old] == [(RowStatus.WITHDRAWN, "superseded")] * 2
    assert stored(ledger, text("edited")).status is RowStatus.PENDING


def test_a_newer_verdict_leaves_what_is_in_flight(ledger: Ledger) -> None:
    answer(ledger, text(), COMMENT)
    row = take_row(ledger, night(ledger))
    answer(ledger, text("edited"), COMMENT)
    assert stored(ledger, text()).status is RowStatus.SENDING
    ledger.sent(row, POSTED)


def test_a_verdict_that_lost_its_claim_writes_nothing(ledger: Ledger, other: Ledger, clock: Clock) -> None:
    answer(ledger, text("old"), COMMENT)
    late = claim(ledger, text())
    clock.pass_(LEASE)
    claim(other, text())
    with pytest.raises(LeaseLost):
        ledger.finish(late, LABELLED, BOTH, SPENT)
    assert [row.status for row in ledger.recall(REPO, 1, "").rows] == [RowStatus.PENDING]


NEW = Planned(action=Action.COMMENT, votes=(DOCS,))


def test_a_new_verdict_gives_a_waiting_row_new_words(ledger: Ledger) -> None:
    answer(ledger, text(), COMMENT)
    answer(ledger, text(), NEW, again=True)
    row = stored(ledger, text())
    assert (row.status, row.votes, row.revise) == (RowStatus.PENDING, (DOCS,), False)


def test_a_new_verdict_reopens_what_was_sent_to_revise_it(ledger: Ledger) -> None:
    answer(ledger, text(), COMMENT)
    ledger.sent(take_row(ledger, night(ledger)), POSTED)
    answer(ledger, text(day=1), NEW, again=True)
    row = stored(ledger, text())
    assert (row.status, row.votes, row.revise, row.remote_id) == (RowStatus.PENDING, (DOCS,), True, POSTED.id)
    assert row.ref == text(day=1)
    assert take_row(ledger, night(ledger)).revise


def test_a_new_verdict_reopens_what_was_withdrawn(ledger: Ledger) -> None:
    answer(ledger, text(), COMMENT)
    ledger.withdraw(take_row(ledger, night(ledger)), reason="closed")
    answer(ledger, text(), NEW, again=True)
    row = stored(ledger, text())
    assert (row.status, row.revise, row.reason) == (RowStatus.PENDING, True, None)


def test_a_new_verdict_leaves_an_unknown_end_to_the_look(ledger: Ledger) -> None:
    answer(ledger, text(), COMMENT)
    ledger.unclear(take_row(ledger, night(ledger)), settle=SETTLE, reason="502")
    answer(ledger, text(), NEW, again=True)
    row = stored(ledger, text())
    assert (row.status, row.votes, row.revise, row.unproven) == (RowStatus.UNKNOWN, (DOCS,), True, 1)
    assert ledger.claim_parcel(REPO, night(ledger), lease=1) is None


def test_a_new_verdict_opens_nothing_that_is_dead_or_in_flight(ledger: Ledger) -> None:
    answer(ledger, text(), *BOTH)
    labels, comment = take(ledger, night(ledger)).rows
    ledger.bury(labels, reason="422")
    answer(ledger, text(), NEW, Planned(action=Action.LABELS, votes=(DOCS,)), again=True)
    assert stored(ledger, text(), Action.LABELS).status is RowStatus.DEAD
    assert stored(ledger, text(), Action.LABELS).votes == LABELS.votes
    assert stored(ledger, text()).status is RowStatus.SENDING
    ledger.sent(comment, POSTED)


def test_a_new_verdict_that_asks_for_nothing_takes_its_words_back(ledger: Ledger) -> None:
    """The comment of an earlier verdict must not go out after all: neither one that waits nor one that is unsure."""
    answer(ledger, text(), *BOTH)
    labels, comment = take(ledger, night(ledger)).rows
    ledger.postpone(labels, seconds=0, reason="limit")
    ledger.unclear(comment, settle=SETTLE, reason="502")
    answer(ledger, text(), verdict=NOTHING, again=True)
    assert stored(ledger, text(), Action.LABELS).status is RowStatus.WITHDRAWN
    row = stored(ledger, text())
    assert (row.status, row.votes, row.revise) == (RowStatus.UNKNOWN, (), True)


# --- memory


def test_nothing_is_known_of_a_new_issue(ledger: Ledger) -> None:
    memory = ledger.recall(REPO, 1, text().digest)
    assert (memory.verdict, memory.rows, memory.tried, memory.dead) == (None, (), False, None)
    assert not memory.silence.silent


def test_the_newest_verdict_counts(ledger: Ledger, clock: Clock) -> None:
    answer(ledger, text())
    clock.pass_(1)
    answer(ledger, text(day=1), verdict=NOTHING, again=True)
    assert ledger.recall(REPO, 1, text().digest).verdict == NOTHING
    clock.pass_(1)
    answer(ledger, text(), again=True)
    assert ledger.recall(REPO, 1, text().digest).verdict == LABELLED


def test_a_text_that_was_answered_in_the_end_is_not_dead(ledger: Ledger) -> None:
    for day in range(3):
        fail(ledger, text(day=day))
    answer(ledger, text(day=3), again=True)
    assert ledger.recall(REPO, 1, text().digest).dead is None
    assert refused(ledger, text(day=4)) is Unclaimed.ANSWERED


def test_memory_holds_the_rows_of_every_text(ledger: Ledger) -> None:
    answer(ledger, text(), COMMENT)
    ledger.sent(take_row(ledger, night(ledger)), POSTED)
    memory = ledger.recall(REPO, 1, text("edited").digest)
    assert memory.verdict is None
    assert not memory.tried
    assert memory.recorded == (POSTED,)


# --- a comment that stands though no verdict is known


def test_a_standing_comment_is_adopted_as_the_answer(ledger: Ledger) -> None:
    assert ledger.adopt(text(), night(ledger), POSTED)
    memory = ledger.recall(REPO, 1, text().digest)
    assert memory.verdict is not None
    assert memory.verdict.outcome is Outcome.STANDING
    assert memory.recorded == (POSTED,)
    assert not memory.tried
    assert stored(ledger, text()).status is RowStatus.SENT
    assert refused(ledger, text(day=1)) is Unclaimed.ANSWERED
    assert events(ledger) == ["adopted", "sent"]


def test_a_text_with_a_verdict_is_not_adopted(ledger: Ledger) -> None:
    answer(ledger, text(), COMMENT)
    assert not ledger.adopt(text(day=1), night(ledger), POSTED)
    assert ledger.recall(REPO, 1, text().digest).verdict == LABELLED
    assert stored(ledger, text()).status is RowStatus.PENDING


def test_a_standing_comment_answers_what_failed_but_not_what_runs(ledger: Ledger) -> None:
    held = claim(ledger, text())
    assert not ledger.adopt(text(), night(ledger), POSTED)
    ledger.fail(held, "unparseable", SPENT)
    assert ledger.adopt(text(), night(ledger), POSTED)
    assert ledger.recall(REPO, 1, text().digest).tried
    with pytest.raises(LeaseLost):
        ledger.release(held, "the endpoint was down", Usage())


def test_an_adopted_text_can_be_claimed_again_in_the_same_night(ledger: Ledger) -> None:
    tonight = night(ledger)
    ledger.adopt(text(), tonight, POSTED)
    assert claim(ledger, text(), tonight, again=True).attempt == 1


@pytest.mark.parametrize(
    ("end", "status", "recorded"),
    [("sent", RowStatus.SENT, 32), ("withdraw", RowStatus.SENT, 32), ("bury", RowStatus.DEAD, None)],
)
def test_adoption_records_the_comment_in_the_row_of_its_text(
    ledger: Ledger, end: str, status: RowStatus, recorded: int | None
) -> None:
    """But what is given up stays given up."""
    answer(ledger, text(), COMMENT)
    row = take_row(ledger, night(ledger))
    if end == "sent":
        ledger.sent(row, POSTED)
    else:
        getattr(ledger, end)(row, reason="gone")
    fail_again = claim(ledger, text(), again=True)
    ledger.fail(fail_again, "unparseable", SPENT)
    assert ledger.adopt(text(), night(ledger), Recorded(id=32, node="IC_32"))
    assert (stored(ledger, text()).status, stored(ledger, text()).remote_id) == (status, recorded)


# --- nights


def test_a_night_is_the_first_until_one_has_ended(ledger: Ledger, other: Ledger) -> None:
    first = night(ledger)
    assert (first.first, first.day, first.repo_id) == (True, DAY, REPO)
    assert night(other).first
    ledger.close_night(first, how="done", counts={"labelled": 2})
    assert not night(other).first
    assert night(other, repo=8).first


def test_a_night_is_closed_by_the_process_that_opened_it(ledger: Ledger, other: Ledger) -> None:
    with pytest.raises(LeaseLost, match="only that one can close it"):
        other.close_night(night(ledger), how="done", counts={})


def test_every_transition_leaves_an_event(ledger: Ledger) -> None:
    fail(ledger, text())
    ledger.release(claim(ledger, text()), "interrupted", SPENT)
    answer(ledger, text(), COMMENT)
    assert events(ledger) == ["claimed", "failed", "claimed", "released", "claimed", "planned", "finished"]
