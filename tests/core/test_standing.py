"""From what stands to what should stand: the one rule behind edits, reopenings, late writes and lost ledgers."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime

import pytest

from triagebot.core import key, policy, standing
from triagebot.core.actions import Action
from triagebot.core.issue import Actor, Authorship, Comment, CommentDeleted, Identity, LabelChange, LabelEvent, Snapshot
from triagebot.core.key import Ref
from triagebot.core.marker import Marker
from triagebot.core.policy import LabelPolicy, Mode
from triagebot.core.rows import OutboxRow, Recorded, RowStatus, Silence
from triagebot.core.standing import Bury, Edit, Post, Silenced, Stands, Step, Withdraw
from triagebot.core.verdict import Outcome, Verdict, Vote

DAY = date(2026, 12, 1)
NOW = datetime(2026, 12, 1, tzinfo=UTC)
BOT = Identity(login="triagebot-app[bot]", id=7)
SELF, MAINTAINER = Actor(login="triagebot-app", id=7, bot=True), Actor(login="grace", id=3)
ISSUE = Snapshot(repo_id=1, number=5, node="I", title="A", body="text", author=None, association="NONE", created_at=NOW)
TODAY = ISSUE.digest
EARLIER = key.digest("A", "older text")
BUG = Vote(name="bug", confidence=0.9)


def ours(number: int, digest: str = TODAY, **changes: object) -> Comment:
    made = Comment(id=number, node=f"C{number}", body=f"{Marker(DAY, digest)}\nwords")
    return replace(made, **changes)


def deleted(event: str, *, author: Actor | None = SELF, actor: Actor | None = MAINTAINER) -> CommentDeleted:
    return CommentDeleted(id=event, actor=actor, author=author, at=NOW)


def step(look: Snapshot, **given: object) -> Step:
    defaults = {"identity": BOT, "has_words": True, "silence": Silence()}
    return standing.comment_step(TODAY, look, **(defaults | given))


def with_comments(*comments: Comment, **changes: object) -> Snapshot:
    return replace(ISSUE, comments=comments, **changes)


def test_nothing_of_ours_and_something_to_say_is_a_post() -> None:
    assert step(ISSUE) == Post()


def test_nothing_of_ours_and_nothing_to_say_is_silence() -> None:
    assert step(ISSUE, has_words=False) == Withdraw("nothing left to say")


def test_our_comment_for_this_text_is_the_answer_whatever_its_day() -> None:
    old = ours(9, body=f"{Marker(date(2025, 1, 1), TODAY)}\nwords")
    assert step(with_comments(old)) == Stands(old)


def test_our_comment_for_another_text_is_edited_even_to_say_nothing() -> None:
    other = ours(9, EARLIER)
    assert step(with_comments(other)) == Edit(other)
    assert step(with_comments(other), has_words=False) == Edit(other)


def test_again_revises_the_comment_that_stands() -> None:
    assert step(with_comments(ours(9)), revise=True) == Edit(ours(9))


def test_the_lowest_id_decides_among_twins() -> None:
    assert step(with_comments(ours(3, EARLIER), ours(9))) == Edit(ours(3, EARLIER))
    assert standing.twins(with_comments(ours(3, EARLIER), ours(9))) == (ours(9),)


def test_a_comment_that_a_person_edited_is_theirs() -> None:
    for digest in (TODAY, EARLIER):
        look = with_comments(ours(9, digest, edited_by_other=True))
        assert step(look, revise=True) == Withdraw("edited by a person")


def test_a_recorded_comment_counts_even_when_its_marker_was_edited_away() -> None:
    bare = ours(9, body="a person's words", edited_by_other=True)
    assert step(with_comments(bare)) == Post()
    assert step(with_comments(bare), recorded=[Recorded(id=9, node="C9")]) == Withdraw("edited by a person")


def test_an_earlier_accounts_comment_counts_and_is_never_touched() -> None:
    assert step(with_comments(ours(9, by=Authorship.ALSO))) == Stands(ours(9, by=Authorship.ALSO))
    other = with_comments(ours(9, EARLIER, by=Authorship.ALSO))
    assert isinstance(step(other), Withdraw)
    assert standing.twins(with_comments(ours(3), ours(9, by=Authorship.ALSO))) == ()


@pytest.mark.parametrize(
    ("event", "silenced"),
    [
        (deleted("E1"), True),
        (deleted("E1", actor=None), True),
        (deleted("E1", actor=SELF), False),
        (deleted("E1", author=MAINTAINER), False),
        (deleted("E1", author=None), False),
    ],
)
def test_a_comment_that_somebody_else_deleted_stays_away(event: CommentDeleted, silenced: bool) -> None:
    assert isinstance(step(replace(ISSUE, deletions=(event,))), Silenced) is silenced


def test_deletion_is_told_by_a_recorded_id_that_is_gone_as_well() -> None:
    assert step(replace(ISSUE, gone=frozenset({9}))) == Silenced("comment 9 is gone")
    assert step(replace(ISSUE, gone=frozenset({9})), silence=Silence(settled=frozenset({"9"}))) == Post()


def test_a_living_comment_outweighs_an_old_deletion() -> None:
    assert step(with_comments(ours(9), deletions=(deleted("E1"),), gone=frozenset({4}))) == Stands(ours(9))


def test_the_ledgers_memory_of_a_deletion_silences_and_again_lifts_only_what_it_saw() -> None:
    assert isinstance(step(ISSUE, silence=Silence(silent=True)), Silenced)
    look = replace(ISSUE, deletions=(deleted("E1"),), gone=frozenset({9}))
    settled = standing.settled_by_again(look, BOT)
    assert step(look, silence=Silence(settled=settled)) == Post()
    later = replace(look, deletions=(deleted("E1"), deleted("E2")))
    assert isinstance(step(later, silence=Silence(settled=settled)), Silenced)


ROW = OutboxRow(
    id=1,
    ref=Ref(repo_id=1, issue=5, day=DAY, digest=TODAY),
    action=Action.COMMENT,
    status=RowStatus.PENDING,
    votes=(BUG,),
)


@pytest.mark.parametrize(
    ("changes", "against"),
    [
        ({}, None),
        ({"repo_id": 2}, Bury("moved to another repository")),
        ({"closed": True}, Withdraw("closed")),
        ({"locked": True}, Withdraw("locked")),
        ({"body": "edited"}, Withdraw("changed")),
        (
            {"comments": (ours(9, body="<!-- triagebot v2 something -->"),)},
            Withdraw("a comment of another triagebot version stands there"),
        ),
    ],
)
def test_what_stands_against_a_write(changes: dict[str, object], against: Step | None) -> None:
    assert standing.obstacle(ROW, replace(ISSUE, **changes)) == against


LABELLED = Verdict(outcome=Outcome.LABELLED, labels=(BUG,))
NOTHING = Verdict(outcome=Outcome.NOTHING_FITS)


@pytest.mark.parametrize(
    ("verdict", "mode", "comments", "may_stand", "actions"),
    [
        (LABELLED, Mode.APPLY, True, False, [Action.LABELS, Action.COMMENT]),
        (LABELLED, Mode.SUGGEST, True, False, [Action.COMMENT]),
        (LABELLED, Mode.APPLY, False, False, [Action.LABELS]),
        (LABELLED, Mode.SUGGEST, False, False, []),
        (LABELLED, Mode.APPLY, False, True, [Action.LABELS, Action.COMMENT]),
        (NOTHING, Mode.APPLY, False, True, [Action.COMMENT]),
        (NOTHING, Mode.APPLY, True, False, []),
        (NOTHING, Mode.APPLY, True, True, [Action.COMMENT]),
        (Verdict(outcome=Outcome.REFUSED), Mode.APPLY, True, True, []),
    ],
)
def test_a_verdict_asks_for_no_more_rows_than_it_needs(
    verdict: Verdict, mode: Mode, comments: bool, may_stand: bool, actions: list[Action]
) -> None:
    planned = standing.plan(verdict, mode=mode, comments=comments, standing=may_stand)
    assert [row.action for row in planned] == actions


def test_the_comment_says_what_stands_and_proposes_only_when_it_may() -> None:
    docs = Vote(name="Docs", confidence=0.7)
    look = replace(
        ISSUE,
        labels=("bug",),
        label_events=(LabelEvent(change=LabelChange.TAKEN_OFF, label="wish", actor=None, at=NOW),),
    )
    votes = (BUG, docs, Vote(name="wish", confidence=0.8), Vote(name="gone", confidence=0.8))
    addable = standing.labels_step(votes, look, labels=LabelPolicy(), known=["bug", "docs", "wish"])
    assert addable.add == ("docs",)
    assert standing.words(votes, addable, propose=False) == standing.Words(applied=(BUG,))
    assert standing.words(votes, addable, propose=True) == standing.Words(applied=(BUG,), suggested=(docs,))
    assert not standing.words((), policy.Addable(add=(), standing=(), dropped=()), propose=True)
