"""What `undo` may take in hand, on every database: what was written and rests, fenced like a worker's row."""

from __future__ import annotations

import pytest

from tests.ledger.conftest import OpenAgain
from tests.ledger.pieces import (
    BOTH,
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
    text,
)
from triagebot.core.actions import Action
from triagebot.core.faults import LeaseLost
from triagebot.core.key import Ref
from triagebot.core.rows import Night, Retraction, RowStatus, Unclaimed
from triagebot.ledger.ledger import Ledger


def write(ledger: Ledger, ref: Ref, tonight: Night) -> None:
    """The rows of a text, answered and delivered in one night."""
    answer(ledger, ref, *BOTH, tonight=tonight)
    for row in take(ledger, tonight).rows:
        ledger.sent(row, POSTED if row.action is Action.COMMENT else None)


def claimed(ledger: Ledger, issue: int = 1, tonight: Night | None = None) -> Retraction:
    given = ledger.claim_written(REPO, issue, night=tonight and tonight.id, lease=SEND)
    assert isinstance(given, Retraction), given
    return given


def test_what_a_night_wrote_is_known_after_later_nights_had_the_rows(ledger: Ledger) -> None:
    first = night(ledger)
    write(ledger, text(), first)
    second = night(ledger, day=1)
    write(ledger, text(issue=2), second)
    assert (ledger.issues_written(first.id), ledger.issues_written(second.id)) == ((1,), (2,))
    assert ledger.issues_written(99) == ()
    assert len(claimed(ledger, tonight=first).written) == 2
    assert ledger.claim_written(REPO, 2, night=first.id, lease=SEND) is None


def test_a_text_that_came_back_on_another_day_is_still_what_its_night_wrote(ledger: Ledger) -> None:
    first = night(ledger)
    write(ledger, text(), first)
    later = night(ledger, day=1)
    assert ledger.mend(text(day=1), LABELS)
    for row in take(ledger, later).rows:
        ledger.sent(row, None)
    assert len(claimed(ledger, tonight=first).written) == 2


def test_of_several_texts_the_newest_row_is_held_and_all_are_told(ledger: Ledger) -> None:
    tonight = night(ledger)
    write(ledger, text("one"), tonight)
    write(ledger, text("two"), tonight)
    found = claimed(ledger)
    assert {row.ref.digest for row in found.held} == {text("two").digest}
    assert len(found.written) == 4


def test_what_is_held_is_claimed_by_nobody_else(ledger: Ledger, open_again: OpenAgain) -> None:
    tonight = night(ledger)
    write(ledger, text(), tonight)
    claimed(ledger)
    other = open_again()
    assert other.claim_written(REPO, 1, night=None, lease=SEND) is Unclaimed.HELD
    assert not other.mend(text(), LABELS)
    assert other.claim_parcel(REPO, night(other), lease=SEND) is None


@pytest.mark.parametrize("how", ["sending", "unknown"])
def test_an_issue_with_a_write_in_flight_is_left_alone(ledger: Ledger, how: str) -> None:
    tonight = night(ledger)
    write(ledger, text(), tonight)
    answer(ledger, text("two"), LABELS, tonight=tonight)
    (row,) = take(ledger, tonight).rows
    if how == "unknown":
        ledger.unclear(row, settle=SETTLE, reason="502")
    assert ledger.claim_written(REPO, 1, night=None, lease=SEND) is Unclaimed.HELD


def test_a_row_put_back_is_sent_as_before(ledger: Ledger) -> None:
    write(ledger, text(), night(ledger))
    for row in claimed(ledger).held:
        ledger.put_back(row)
    assert stored(ledger, text()).status is RowStatus.SENT
    assert stored(ledger, text()).remote_id == POSTED.id
    claimed(ledger)


def test_a_row_taken_back_is_withdrawn_and_in_the_journal(ledger: Ledger) -> None:
    write(ledger, text(), night(ledger))
    for row in claimed(ledger).held:
        ledger.withdraw(row, reason="undone")
    assert stored(ledger, text()).reason == "undone"
    assert events(ledger)[-4:] == ["taking back", "taking back", "withdrawn", "withdrawn"]


def test_what_was_tried_and_withdrawn_or_given_up_may_have_been_written_all_the_same(ledger: Ledger) -> None:
    """A crash between the write and its record, and then a closed issue: only the tracker knows. Reasons are kept."""
    tonight = night(ledger)
    answer(ledger, text(), *BOTH, tonight=tonight)
    labels, comment = take(ledger, tonight).rows
    ledger.withdraw(labels, reason="closed")
    ledger.bury(comment, reason="gone")
    found = claimed(ledger, tonight=tonight)
    assert len(found.written) == len(found.held) == 2
    for row in found.held:
        ledger.put_back(row)
    assert [(r.status, r.reason) for r in ledger.recall(REPO, 1, "").rows] == [
        (RowStatus.WITHDRAWN, "closed"),
        (RowStatus.DEAD, "gone"),
    ]


def test_what_was_never_tried_is_not_taken_back(ledger: Ledger) -> None:
    answer(ledger, text("one"), LABELS)
    answer(ledger, text("two"), LABELS)
    assert ledger.claim_written(REPO, 1, night=None, lease=SEND) is None


def test_after_a_crash_the_next_night_looks_and_the_late_undo_changes_nothing(
    ledger: Ledger, open_again: OpenAgain, clock: Clock
) -> None:
    write(ledger, text(), night(ledger))
    held = claimed(ledger).held
    clock.pass_(SEND + SETTLE + 1)
    other = open_again()
    tomorrow = night(other, day=1)
    assert other.claim_parcel(REPO, tomorrow, lease=SEND) is not None
    for row in held:
        with pytest.raises(LeaseLost):
            ledger.withdraw(row, reason="undone")


def test_after_a_crash_the_next_undo_goes_on_as_soon_as_the_lease_is_over(
    ledger: Ledger, open_again: OpenAgain, clock: Clock
) -> None:
    """No night has to look first. Whoever was thought dead comes back and changes nothing, claimed again or not."""
    write(ledger, text(), night(ledger))
    held, other = claimed(ledger).held, open_again()
    clock.pass_(SEND - 1)
    assert other.claim_written(REPO, 1, night=None, lease=SEND) is Unclaimed.HELD
    clock.pass_(1)
    again = claimed(other)
    assert [(row.id, row.attempt) for row in again.held] == [(row.id, row.attempt + 1) for row in held]
    for row in again.held:
        other.put_back(row)
    assert stored(other, text()).status is RowStatus.SENT
    for row in held:
        with pytest.raises(LeaseLost):
            ledger.renew(row, lease=SEND)


def test_a_write_of_a_night_that_crashed_is_a_nights_to_look_at(ledger: Ledger, clock: Clock) -> None:
    """Maybe delivered, maybe still on its way: an undo does not take it for its own."""
    tonight = night(ledger)
    answer(ledger, text(), LABELS, tonight=tonight)
    take(ledger, tonight)
    clock.pass_(SEND + SETTLE + 1)
    assert ledger.claim_written(REPO, 1, night=None, lease=SEND) is Unclaimed.HELD
