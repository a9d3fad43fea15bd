"""What is taken back on one issue: only what is ours, was set last by us, and nobody has touched since."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

import pytest

from triagebot.core import undoing
from triagebot.core.actions import Action, RemoveLabel
from triagebot.core.issue import Actor, Authorship, Comment, Identity, LabelChange, LabelEvent, Snapshot
from triagebot.core.key import Ref
from triagebot.core.marker import Marker
from triagebot.core.rows import Memory, OutboxRow, RowStatus
from triagebot.core.undoing import Takeback
from triagebot.core.verdict import Vote

DAY = date(2026, 12, 1)
NOW = datetime(2026, 12, 1, 3, tzinfo=UTC)
BOT = Identity(login="triagebot-app[bot]", id=7)
SELF, ADA = Actor(login="triagebot-app", id=7, bot=True), Actor(login="ada", id=3)
ISSUE = Snapshot(repo_id=1, number=5, node="I", title="A", body="text", author=None, association="NONE", created_at=NOW)
TEXT = ISSUE.digest


def row(
    action: Action = Action.LABELS, *names: str, digest: str = TEXT, number: int = 5, attempt: int = 1
) -> OutboxRow:
    votes = tuple(Vote(name=name, confidence=0.9) for name in names or ("bug",))
    ref = Ref(repo_id=1, issue=5, day=DAY, digest=digest)
    return OutboxRow(id=number, ref=ref, action=action, status=RowStatus.SENT, votes=votes, attempt=attempt)


def takeback(rows: list[OutboxRow], look: Snapshot, *earlier: OutboxRow) -> Takeback:
    return undoing.takeback(rows, look, identity=BOT, memory=Memory(rows=(*earlier, *rows)))


def event(change: LabelChange, actor: Actor | None, label: str = "bug", minutes: int = 0) -> LabelEvent:
    return LabelEvent(change=change, label=label, actor=actor, at=NOW + timedelta(minutes=minutes))


def put_on(actor: Actor | None, label: str = "bug", minutes: int = 0) -> LabelEvent:
    return event(LabelChange.PUT_ON, actor, label, minutes)


def labelled(*events: LabelEvent, labels: tuple[str, ...] = ("bug",)) -> Snapshot:
    return replace(ISSUE, labels=labels, label_events=events)


def ours(number: int = 9, digest: str = TEXT, **changes: object) -> Comment:
    made = Comment(id=number, node=f"C{number}", body=f"{Marker(DAY, digest)}\nwords")
    return replace(made, **changes)


def test_a_label_that_we_set_last_comes_off() -> None:
    assert takeback([row()], labelled(put_on(SELF))).labels == ("bug",)


@pytest.mark.parametrize(
    ("events", "who"),
    [
        ((put_on(ADA),), "ada"),
        ((put_on(SELF), event(LabelChange.TAKEN_OFF, ADA, minutes=1), put_on(ADA, minutes=2)), "ada"),
        ((put_on(SELF), put_on(None, minutes=1)), "a deleted account"),
        ((), "somebody"),
        ((put_on(SELF), event(LabelChange.TAKEN_OFF, ADA)), "somebody"),  # a list that lags: back on by whom?
    ],
)
def test_a_label_that_others_set_last_stays_and_is_told(events: tuple[LabelEvent, ...], who: str) -> None:
    found = takeback([row()], labelled(*events))
    assert (found.labels, found.stays) == ((), (f"label bug: {who} set it last",))


def test_of_two_events_in_one_second_the_later_one_of_the_list_counts() -> None:
    back = (event(LabelChange.TAKEN_OFF, ADA), put_on(SELF))
    assert takeback([row()], labelled(*back)).labels == ("bug",)


def test_a_label_that_an_earlier_text_was_given_as_well_was_set_for_that_one() -> None:
    found = takeback([row()], labelled(put_on(SELF)), row(digest="0" * 16, number=1))
    assert (found.labels, found.stays) == ((), ("label bug: it was there before",))
    never_sent = row(digest="0" * 16, number=1, attempt=0)
    other = row(Action.LABELS, "docs", digest="0" * 16, number=1)
    assert takeback([row()], labelled(put_on(SELF)), never_sent, other).labels == ("bug",)
    later = row(digest="0" * 16, number=9)
    assert takeback([row()], labelled(put_on(SELF)), later).labels == ("bug",)


def test_only_labels_that_were_written_come_off_in_the_spelling_that_the_issue_has() -> None:
    look = labelled(put_on(SELF, "Bug"), put_on(SELF, "docs"), labels=("Bug", "docs"))
    assert takeback([row()], look).labels == ("Bug",)


def test_a_label_that_is_off_already_is_no_work_and_no_news() -> None:
    found = takeback([row()], replace(ISSUE, label_events=(put_on(SELF),)))
    assert found == Takeback()


def test_our_comments_go_twins_included() -> None:
    look = replace(ISSUE, comments=(ours(9), ours(10, minimized=True)))
    assert [c.id for c in takeback([row(Action.COMMENT)], look).comments] == [9, 10]


@pytest.mark.parametrize(
    ("comment", "why"),
    [
        (ours(edited_by_other=True), "a person edited it"),
        (ours(by=Authorship.ALSO), "another account wrote it"),
        (ours(body="<!-- triagebot v2 something -->\nwords"), "its first line is not this version's marker"),
        (ours(digest="0" * 16), "it is for another text"),
    ],
)
def test_a_comment_that_is_not_ours_alone_stays_and_is_told(comment: Comment, why: str) -> None:
    look = replace(ISSUE, comments=(comment,))
    found = takeback([row(Action.COMMENT)], look)
    assert (found.comments, found.stays) == ((), (f"comment 9: {why}",))


def test_without_a_comment_row_no_comment_is_touched_and_without_a_labels_row_no_label() -> None:
    look = replace(labelled(put_on(SELF)), comments=(ours(),))
    assert takeback([row()], look).comments == ()
    assert takeback([row(Action.COMMENT)], look).labels == ()


def test_the_name_of_a_label_is_one_part_of_the_address() -> None:
    request = RemoveLabel(issue=5, name="kind/böse Fehler?").request("octo/demo")
    assert (request.method, request.path) == ("DELETE", "/repos/octo/demo/issues/5/labels/kind%2Fb%C3%B6se%20Fehler%3F")
