"""Deliver: what is due, who holds it, and what is known of it afterwards."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.ledger.pieces import (
    BOTH,
    BUG,
    COMMENT,
    DOCS,
    LABELLED,
    LABELS,
    POSTED,
    REPO,
    SEND,
    SETTLE,
    Clock,
    answer,
    events,
    night,
    stored,
    take,
    take_row,
    text,
)
from triagebot.core.actions import Action
from triagebot.core.faults import LeaseLost
from triagebot.core.rows import OutboxRow, Planned, Recorded, RowStatus
from triagebot.ledger.ledger import Ledger
from triagebot.ledger.statements import Conflict

WRITES: dict[str, Callable[[Ledger, OutboxRow], None]] = {
    "renew": lambda ledger, row: ledger.renew(row, lease=SEND),
    "sent": lambda ledger, row: ledger.sent(row, POSTED),
    "postpone": lambda ledger, row: ledger.postpone(row, seconds=60, reason="limit"),
    "unclear": lambda ledger, row: ledger.unclear(row, settle=SETTLE, reason="502"),
    "rest": lambda ledger, row: ledger.rest(row, night(ledger), reason="written once tonight"),
    "withdraw": lambda ledger, row: ledger.withdraw(row, reason="closed"),
    "bury": lambda ledger, row: ledger.bury(row, reason="gone"),
}


# --- the claim


def test_the_rows_of_an_issue_are_claimed_together_labels_first(ledger: Ledger) -> None:
    answer(ledger, text(), COMMENT)
    ledger.mend(text(), LABELS)
    parcel = take(ledger, night(ledger))
    assert (parcel.repo_id, parcel.issue) == (REPO, 1)
    assert [row.action for row in parcel.rows] == [Action.LABELS, Action.COMMENT]
    assert {(row.owner, row.attempt) for row in parcel.rows} == {(ledger.owner, 1)}
    assert parcel.memory.verdict == LABELLED
    assert {row.status for row in parcel.memory.rows} == {RowStatus.SENDING}


def test_a_row_is_claimed_by_one_worker(ledger: Ledger, other: Ledger) -> None:
    answer(ledger, text(), *BOTH)
    take(ledger, night(ledger))
    assert other.claim_parcel(REPO, night(other), lease=SEND) is None


def test_rows_of_another_repository_are_not_ours(ledger: Ledger) -> None:
    answer(ledger, text(repo=8), COMMENT)
    assert ledger.claim_parcel(REPO, night(ledger), lease=SEND) is None
    assert ledger.next_due(REPO, night(ledger)) is None


def test_the_issue_that_has_waited_longest_comes_first(ledger: Ledger, clock: Clock) -> None:
    for issue in (2, 1, 3):
        answer(ledger, text(issue=issue), COMMENT)
        clock.pass_(1)
    tonight = night(ledger)
    first = take_row(ledger, tonight)
    assert first.ref.issue == 2
    ledger.postpone(first, seconds=0, reason="put back")
    assert [take(ledger, tonight).issue for _ in range(3)] == [1, 3, 2]


def test_a_claimed_row_tells_whether_a_write_may_be_out_there(ledger: Ledger, clock: Clock) -> None:
    answer(ledger, text(), COMMENT)
    row = take_row(ledger, night(ledger))
    assert row.status is RowStatus.PENDING
    ledger.unclear(row, settle=SETTLE, reason="502")
    clock.pass_(SETTLE)
    row = take_row(ledger, night(ledger))
    assert (row.status, row.attempt) == (RowStatus.UNKNOWN, 2)


def test_a_comment_waits_for_the_labels_of_its_text(ledger: Ledger, clock: Clock) -> None:
    answer(ledger, text(), *BOTH)
    tonight = night(ledger)
    labels, comment = take(ledger, tonight).rows
    ledger.postpone(comment, seconds=0, reason="waits for the labels")
    assert ledger.claim_parcel(REPO, tonight, lease=SEND) is None  # the labels row is being sent
    ledger.postpone(labels, seconds=30, reason="limit")
    assert ledger.claim_parcel(REPO, tonight, lease=SEND) is None  # it waits
    clock.pass_(30)
    labels, comment = take(ledger, tonight).rows
    ledger.postpone(comment, seconds=0, reason="waits for the labels")
    ledger.unclear(labels, settle=SETTLE, reason="502")
    assert ledger.claim_parcel(REPO, tonight, lease=SEND) is None  # its end is unknown


@pytest.mark.parametrize("end", ["sent", "withdraw", "bury"])
def test_a_comment_goes_out_once_its_labels_have_ended(ledger: Ledger, end: str) -> None:
    answer(ledger, text(), *BOTH)
    labels, comment = take(ledger, night(ledger)).rows
    ledger.postpone(comment, seconds=0, reason="waits for the labels")
    WRITES[end](ledger, labels)
    assert take_row(ledger, night(ledger)).action is Action.COMMENT


def test_a_comment_does_not_wait_for_labels_of_another_text(ledger: Ledger) -> None:
    answer(ledger, text(), LABELS)
    take(ledger, night(ledger))
    answer(ledger, text("edited"), COMMENT)
    assert take_row(ledger, night(ledger)).ref == text("edited")


def test_two_texts_of_one_issue_are_never_in_flight_at_once(ledger: Ledger, clock: Clock) -> None:
    answer(ledger, text(), COMMENT)
    row = take_row(ledger, night(ledger))
    answer(ledger, text("edited"), COMMENT)
    assert ledger.claim_parcel(REPO, night(ledger), lease=SEND) is None
    ledger.unclear(row, settle=SETTLE, reason="502")
    assert ledger.claim_parcel(REPO, night(ledger), lease=SEND) is None
    clock.pass_(SETTLE)
    row = take_row(ledger, night(ledger))
    assert row.ref == text()
    ledger.withdraw(row, reason="changed")
    assert take_row(ledger, night(ledger)).ref == text("edited")


def test_an_older_text_that_comes_back_from_flight_is_superseded(ledger: Ledger) -> None:
    answer(ledger, text(), COMMENT)
    row = take_row(ledger, night(ledger))
    answer(ledger, text("edited"), COMMENT)
    ledger.postpone(row, seconds=0, reason="limit")
    assert (stored(ledger, text()).status, stored(ledger, text()).reason) == (RowStatus.WITHDRAWN, "superseded")
    assert take_row(ledger, night(ledger)).ref == text("edited")


@pytest.mark.parametrize(("one", "two"), [("sending", "sending"), ("sending", "unknown"), ("pending", "pending")])
def test_the_database_itself_refuses_a_second_text(ledger: Ledger, one: str, two: str) -> None:
    answer(ledger, text(), COMMENT)
    answer(ledger, text("edited"), COMMENT)
    statuses = {"old": text().digest, "one": one, "two": two}
    with pytest.raises(Conflict), ledger._database.transaction() as tx:
        tx._execute("UPDATE outbox SET status = CASE WHEN digest = :old THEN :one ELSE :two END", statuses)


# --- fences


def end_by_lapse(ledger: Ledger, other: Ledger, clock: Clock, row: OutboxRow) -> None:
    clock.pass_(SEND + SETTLE)
    assert take_row(other, night(other)).id == row.id


@pytest.mark.parametrize("write", WRITES)
def test_a_worker_that_woke_up_late_changes_nothing(ledger: Ledger, other: Ledger, clock: Clock, write: str) -> None:
    answer(ledger, text(), COMMENT)
    late = take_row(ledger, night(ledger))
    end_by_lapse(ledger, other, clock, late)
    before = [entry.fields for entry in ledger.history(REPO, 1)]
    with pytest.raises(LeaseLost, match="attempt 1 no longer holds the comment row"):
        WRITES[write](ledger, late)
    assert [entry.fields for entry in ledger.history(REPO, 1)] == before


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("forged", [{"owner": "somebody"}, {"attempt": 2}])
def test_every_write_names_owner_and_attempt(ledger: Ledger, write: str, forged: dict[str, object]) -> None:
    answer(ledger, text(), COMMENT)
    row = take_row(ledger, night(ledger))
    with pytest.raises(LeaseLost):
        WRITES[write](ledger, replace(row, **forged))
    WRITES[write](ledger, row)


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("end", [name for name in WRITES if name != "renew"])
def test_a_row_ends_once_for_each_claim(ledger: Ledger, end: str, write: str) -> None:
    answer(ledger, text(), COMMENT)
    row = take_row(ledger, night(ledger))
    WRITES[end](ledger, row)
    with pytest.raises(LeaseLost):
        WRITES[write](ledger, row)


def test_a_lease_is_renewed_while_it_lasts(ledger: Ledger, other: Ledger, clock: Clock) -> None:
    answer(ledger, text(), COMMENT)
    row = take_row(ledger, night(ledger))
    clock.pass_(SEND - 1)
    ledger.renew(row, lease=SEND)
    clock.pass_(SEND - 1)
    assert other.claim_parcel(REPO, night(other), lease=SEND) is None
    assert stored(ledger, text()).status is RowStatus.SENDING
    clock.pass_(1)
    with pytest.raises(LeaseLost):
        ledger.renew(row, lease=SEND)
    ledger.sent(row, POSTED)  # nobody has taken it: what is known is recorded


# --- a crash


def test_a_crashed_send_is_unknown_until_the_tracker_has_settled(ledger: Ledger, other: Ledger, clock: Clock) -> None:
    answer(ledger, text(), COMMENT)
    take(ledger, night(ledger))
    clock.pass_(SEND)
    tonight = night(other)
    assert other.claim_parcel(REPO, tonight, lease=SEND) is None
    row = stored(other, text())
    assert (row.status, row.reason, row.unproven) == (RowStatus.UNKNOWN, "crashed", 1)
    assert other.next_due(REPO, tonight) == pytest.approx(SETTLE)
    clock.pass_(SETTLE)
    assert take_row(other, tonight).status is RowStatus.UNKNOWN


def test_a_crash_in_another_repository_is_left_to_its_own_night(ledger: Ledger, clock: Clock) -> None:
    answer(ledger, text(repo=8), COMMENT)
    ledger.claim_parcel(8, night(ledger, repo=8), lease=SEND)
    clock.pass_(SEND)
    assert ledger.claim_parcel(REPO, night(ledger), lease=SEND) is None
    assert stored(ledger, text(repo=8)).status is RowStatus.SENDING


def crash(ledger: Ledger, clock: Clock) -> None:
    take(ledger, night(ledger))
    clock.pass_(SEND + SETTLE)


def test_after_three_crashes_there_is_a_last_look_and_no_fifth(ledger: Ledger, clock: Clock) -> None:
    answer(ledger, text(), COMMENT)
    for _ in range(4):
        crash(ledger, clock)
    assert ledger.claim_parcel(REPO, night(ledger), lease=SEND) is None
    row = stored(ledger, text())
    assert (row.status, row.reason) == (RowStatus.DEAD, "3 nights without proof: crashed")
    assert events(ledger)[-1] == "dead"


def test_crashed_rows_go_behind_those_that_wait(ledger: Ledger, clock: Clock) -> None:
    """A row that kills its process does not keep the others from being sent."""
    answer(ledger, text(), COMMENT)
    answer(ledger, text(issue=2), COMMENT)
    crash(ledger, clock)
    assert [take(ledger, night(ledger)).issue for _ in range(2)] == [2, 1]


# --- maybe delivered


def test_an_unclear_write_is_looked_at_after_the_settle_time(ledger: Ledger, clock: Clock) -> None:
    answer(ledger, text(), COMMENT)
    tonight = night(ledger)
    ledger.unclear(take_row(ledger, tonight), settle=SETTLE, reason="502")
    row = stored(ledger, text())
    assert (row.status, row.reason, row.unproven) == (RowStatus.UNKNOWN, "502", 1)
    clock.pass_(SETTLE - 1)
    assert ledger.claim_parcel(REPO, tonight, lease=SEND) is None
    assert ledger.next_due(REPO, tonight) == pytest.approx(1)
    clock.pass_(1)
    assert take_row(ledger, tonight).unproven == 1


def test_three_nights_without_proof_make_a_write_dead(ledger: Ledger, clock: Clock) -> None:
    answer(ledger, text(), COMMENT)
    for _ in range(3):
        ledger.unclear(take_row(ledger, night(ledger)), settle=SETTLE, reason="timeout")
        clock.pass_(SETTLE)
    row = stored(ledger, text())
    assert (row.status, row.reason, row.unproven) == (RowStatus.DEAD, "3 nights without proof: timeout", 3)
    assert ledger.claim_parcel(REPO, night(ledger), lease=SEND) is None
    assert events(ledger)[-1] == "dead"


def test_a_night_without_proof_counts_once(ledger: Ledger, clock: Clock) -> None:
    answer(ledger, text(), COMMENT)
    tonight = night(ledger)
    for _ in range(5):
        ledger.unclear(take_row(ledger, tonight), settle=SETTLE, reason="502")
        clock.pass_(SETTLE)
    assert stored(ledger, text()).unproven == 1


def test_a_row_that_rests_is_left_alone_until_another_night(ledger: Ledger, clock: Clock) -> None:
    answer(ledger, text(), COMMENT)
    tonight = night(ledger)
    ledger.unclear(take_row(ledger, tonight), settle=SETTLE, reason="502")
    clock.pass_(SETTLE)
    ledger.rest(take_row(ledger, tonight), tonight, reason="written once tonight")
    row = stored(ledger, text())
    assert (row.status, row.unproven) == (RowStatus.UNKNOWN, 1)
    clock.pass_(10 * SETTLE)
    assert ledger.claim_parcel(REPO, tonight, lease=SEND) is None
    assert ledger.next_due(REPO, tonight) is None
    assert take_row(ledger, night(ledger)).status is RowStatus.UNKNOWN


def test_two_nights_that_overlap_do_not_hand_a_resting_row_to_each_other(ledger: Ledger, clock: Clock) -> None:
    answer(ledger, text(), COMMENT)
    early, late = night(ledger), night(ledger)
    ledger.unclear(take_row(ledger, early), settle=SETTLE, reason="502")
    clock.pass_(SETTLE)
    ledger.rest(take_row(ledger, early), early, reason="written once tonight")
    ledger.rest(take_row(ledger, late), late, reason="written once tonight")
    assert [ledger.claim_parcel(REPO, each, lease=SEND) for each in (early, late)] == [None, None]
    assert [ledger.next_due(REPO, each) for each in (early, late)] == [None, None]
    assert take_row(ledger, night(ledger)).status is RowStatus.UNKNOWN


# --- surely not written


def test_a_postponed_row_goes_back_to_what_it_was(ledger: Ledger, clock: Clock) -> None:
    """After an unclear write, a limit tells nothing about that write: the row stays unknown."""
    answer(ledger, text(), COMMENT)
    tonight = night(ledger)
    ledger.postpone(take_row(ledger, tonight), seconds=30, reason="limit")
    assert (stored(ledger, text()).status, stored(ledger, text()).reason) == (RowStatus.PENDING, "limit")
    assert ledger.next_due(REPO, tonight) == pytest.approx(30)
    clock.pass_(30)
    ledger.unclear(take_row(ledger, tonight), settle=SETTLE, reason="502")
    clock.pass_(SETTLE)
    ledger.postpone(take_row(ledger, tonight), seconds=30, reason="limit")
    assert (stored(ledger, text()).status, stored(ledger, text()).unproven) == (RowStatus.UNKNOWN, 1)


# --- ends


def test_a_sent_comment_is_recorded_by_its_ids(ledger: Ledger) -> None:
    answer(ledger, text(), *BOTH)
    labels, comment = take(ledger, night(ledger)).rows
    ledger.sent(labels, None)
    ledger.sent(comment, POSTED)
    assert ledger.recall(REPO, 1, "").recorded == (POSTED,)
    assert {row.status for row in ledger.recall(REPO, 1, "").rows} == {RowStatus.SENT}
    assert ledger.waiting(REPO) == {}
    assert ledger.next_due(REPO, night(ledger)) is None


def test_an_edit_keeps_the_recorded_comment(ledger: Ledger) -> None:
    answer(ledger, text(), COMMENT)
    ledger.sent(take_row(ledger, night(ledger)), POSTED)
    ledger.mend(text(), COMMENT, revise=True)
    row = take_row(ledger, night(ledger))
    assert (row.revise, row.remote_id) == (True, POSTED.id)
    ledger.sent(row, None)
    assert ledger.recall(REPO, 1, "").recorded == (POSTED,)
    assert not stored(ledger, text()).revise


def test_what_waits_is_counted_by_status(ledger: Ledger) -> None:
    answer(ledger, text(), COMMENT)
    ledger.unclear(take_row(ledger, night(ledger)), settle=SETTLE, reason="502")
    answer(ledger, text(issue=2), *BOTH)
    answer(ledger, text(repo=8), COMMENT)
    assert ledger.waiting(REPO) == {"pending": 2, "unknown": 1}


# --- mending


def test_mending_opens_a_row_that_never_was(ledger: Ledger) -> None:
    assert ledger.mend(text(), COMMENT)
    row = stored(ledger, text())
    assert (row.status, row.votes, row.revise) == (RowStatus.PENDING, (BUG,), False)


@pytest.mark.parametrize("end", ["sent", "withdraw"])
def test_mending_reopens_what_was_sent_or_withdrawn(ledger: Ledger, end: str, clock: Clock) -> None:
    answer(ledger, text(), COMMENT)
    tonight = night(ledger)
    ledger.unclear(take_row(ledger, tonight), settle=SETTLE, reason="502")
    clock.pass_(SETTLE)
    WRITES[end](ledger, take_row(ledger, tonight))
    new = Planned(action=Action.COMMENT, votes=(DOCS,))
    assert ledger.mend(text(day=1), new)
    row = stored(ledger, text())
    assert (row.status, row.votes, row.unproven, row.reason) == (RowStatus.PENDING, (DOCS,), 0, None)
    assert row.ref == text(day=1)
    assert events(ledger)[-1] == "reopened"


@pytest.mark.parametrize("end", ["unclear", "rest", "bury", "postpone", "renew"])
def test_mending_leaves_what_is_on_its_way_or_given_up(ledger: Ledger, end: str) -> None:
    answer(ledger, text(), COMMENT)
    WRITES[end](ledger, take_row(ledger, night(ledger)))
    before = stored(ledger, text())
    assert not ledger.mend(text(), Planned(action=Action.COMMENT, votes=(DOCS,)), revise=True)
    assert stored(ledger, text()) == before


def test_mending_one_text_supersedes_what_waits_with_another(ledger: Ledger) -> None:
    """The text was edited and edited back."""
    answer(ledger, text(), COMMENT)
    ledger.sent(take_row(ledger, night(ledger)), POSTED)
    answer(ledger, text("edited"), *BOTH)
    assert ledger.mend(text(), COMMENT, revise=True)
    assert stored(ledger, text("edited")).status is RowStatus.WITHDRAWN
    assert stored(ledger, text("edited"), Action.LABELS).status is RowStatus.PENDING
    assert stored(ledger, text()).revise


# --- healing


def test_the_comment_that_stays_is_the_one_that_is_recorded(ledger: Ledger) -> None:
    answer(ledger, text(), *BOTH)
    labels, comment = take(ledger, night(ledger)).rows
    ledger.sent(labels, None)
    ledger.sent(comment, POSTED)
    kept = Recorded(id=12, node="IC_12")
    ledger.keep_comment(REPO, 1, kept)
    assert ledger.recall(REPO, 1, "").recorded == (kept,)
    assert stored(ledger, text(), Action.LABELS).remote_id is None
    assert events(ledger)[-1] == "kept"
    ledger.keep_comment(REPO, 1, kept)
    assert events(ledger).count("kept") == 1


# --- when something is due


def test_nothing_waits_in_an_empty_outbox(ledger: Ledger) -> None:
    assert ledger.next_due(REPO, night(ledger)) is None


def test_what_is_due_now_is_due_in_no_seconds(ledger: Ledger, clock: Clock) -> None:
    answer(ledger, text(), COMMENT)
    clock.pass_(100)
    assert ledger.next_due(REPO, night(ledger)) == 0.0


def test_the_row_of_another_worker_is_due_when_it_would_have_crashed(ledger: Ledger, other: Ledger) -> None:
    answer(ledger, text(), COMMENT)
    take(ledger, night(ledger))
    assert other.next_due(REPO, night(other)) == pytest.approx(SEND + SETTLE)


def test_a_row_that_another_one_stands_before_is_not_due(ledger: Ledger, clock: Clock) -> None:
    """Or a night would ask for a parcel for ever that nobody gives it."""
    answer(ledger, text(), *BOTH)
    tonight = night(ledger)
    labels, comment = take(ledger, tonight).rows
    ledger.postpone(comment, seconds=0, reason="waits for the labels")
    ledger.rest(labels, tonight, reason="written once tonight")
    assert ledger.next_due(REPO, tonight) is None
    answer(ledger, text(issue=2), COMMENT)
    ledger.rest(take_row(ledger, tonight), tonight, reason="written once tonight")
    answer(ledger, text("edited", issue=2), COMMENT)
    assert ledger.next_due(REPO, tonight) is None
    assert ledger.next_due(REPO, night(ledger)) == 0.0
    assert take(ledger, night(ledger)).issue == 1


# --- deleted comments


def test_a_deleted_comment_silences_the_issue(ledger: Ledger) -> None:
    ledger.silence(REPO, 1, reason="deleted by a person")
    silence = ledger.recall(REPO, 1, text().digest).silence
    assert (silence.silent, silence.settled) == (True, frozenset())
    assert not ledger.recall(REPO, 2, text().digest).silence.silent
    assert events(ledger) == ["silenced"]


def test_lifting_a_silence_settles_what_has_been_deleted(ledger: Ledger) -> None:
    ledger.silence(REPO, 1, reason="deleted by a person")
    ledger.lift_silence(REPO, 1, settled=frozenset({"CDE_1", "31"}))
    assert not ledger.recall(REPO, 1, "").silence.silent
    ledger.silence(REPO, 1, reason="deleted by a person")
    silence = ledger.recall(REPO, 1, "").silence
    assert (silence.silent, silence.settled) == (True, {"CDE_1", "31"})
    ledger.lift_silence(REPO, 1, settled=frozenset({"CDE_2"}))
    assert ledger.recall(REPO, 1, "").silence.settled == {"CDE_1", "CDE_2", "31"}


def test_a_silence_can_be_lifted_that_was_never_recorded(ledger: Ledger) -> None:
    """A lost ledger: the event is all that tells of the deletion."""
    ledger.lift_silence(REPO, 1, settled=frozenset({"CDE_1"}))
    assert ledger.recall(REPO, 1, "").silence.settled == {"CDE_1"}
