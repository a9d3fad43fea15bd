"""A write counts as carried out by one proof for each kind; anything short of it is a fault."""

from __future__ import annotations

import pytest

from triagebot.core.actions import (
    AddLabels,
    DeleteComment,
    EditComment,
    MinimizeComment,
    PostComment,
    Receipt,
    RemoveLabel,
)
from triagebot.core.faults import Gone, Limited, Locked, NotPermitted, ReadOnly, Refused, Unclear
from triagebot.core.issue import Repository
from triagebot.github.receipts import receipt

HOME = Repository(id=42, name="Octo/Demo")
POST = PostComment(issue=7, body="x")
PROOF = {"id": 3_000_000_001, "node_id": "IC_1", "issue_url": "https://api.github.com/repos/octo/demo/issues/7"}


@pytest.mark.parametrize(
    "url",
    [
        "https://api.github.com/repos/octo/demo/issues/7",
        "https://ghe.example/api/v3/repos/OCTO/Demo/issues/7",
        "https://api.github.com/repositories/42/issues/7",
    ],
)
def test_a_comment_is_posted_when_the_answer_names_its_issue(answer, url):
    assert receipt(POST, answer(201, PROOF | {"issue_url": url}), HOME) == Receipt(
        comment_id=3_000_000_001, comment_node="IC_1"
    )


@pytest.mark.parametrize(
    "odd",
    [
        {"id": None},
        {"id": True},
        {"id": "3000000001"},
        {"id": 1.0},
        {"node_id": None},
        {"issue_url": None},
        {"issue_url": "https://api.github.com/repos/octo/demo/issues/77"},
        {"issue_url": "https://api.github.com/repos/octo/other/issues/7"},
        {"issue_url": "https://api.github.com/repos/xocto/demo/issues/7"},
        {"issue_url": "https://api.github.com/repositories/142/issues/7"},
    ],
)
def test_a_created_that_proves_nothing_is_unclear(answer, odd):
    with pytest.raises(Unclear, match="may have been carried out"):
        receipt(POST, answer(201, PROOF | odd), HOME)


@pytest.mark.parametrize("body", ["", "null", "[]", "<html>", '{"id": 3000'])
def test_a_created_without_a_whole_body_is_unclear(answer, body):
    with pytest.raises(Unclear):
        receipt(POST, answer(201, body), HOME)


@pytest.mark.parametrize(
    ("status", "said", "kind"),
    [
        (200, "", Unclear),
        (202, "", Unclear),
        (204, "", Unclear),
        (401, "Bad credentials", NotPermitted),
        (403, "Unable to create comment because issue is locked.", Locked),
        (403, "Resource not accessible by integration", NotPermitted),
        (403, "You have exceeded a secondary rate limit", Limited),
        (403, "Repository was archived so is read-only.", ReadOnly),
        (404, "Not Found", Gone),
        (410, "This issue was deleted", Gone),
        (422, "Body is too long", Refused),
        (500, "", Unclear),
        (502, "", Unclear),
    ],
)
def test_a_post_that_was_not_created_is_the_fault_that_its_answer_names(answer, status, said, kind):
    with pytest.raises(kind):
        receipt(POST, answer(status, {"message": said}), HOME)


def test_an_edit_is_proven_by_the_same_id(answer):
    edit = EditComment(issue=7, comment_id=5, body="x")
    assert receipt(edit, answer(200, {"id": 5, "node_id": "IC_5"}), HOME) == Receipt(comment_id=5, comment_node="IC_5")
    for odd in ({"id": 6}, {"id": None}, []):
        with pytest.raises(Unclear):
            receipt(edit, answer(200, odd), HOME)


def test_an_edit_of_what_is_not_there_is_unclear_and_never_gone(answer):
    for status in (404, 410):
        with pytest.raises(Unclear):
            receipt(EditComment(issue=7, comment_id=5, body="x"), answer(status, {"message": "Not Found"}), HOME)
    disabled = answer(410, {"message": "Issues are disabled for this repo"})
    with pytest.raises(ReadOnly):
        receipt(EditComment(issue=7, comment_id=5, body="x"), disabled, HOME)


def test_a_comment_that_is_not_there_is_deleted(answer):
    delete = DeleteComment(issue=7, comment_id=5)
    for status in (204, 404, 410):
        assert receipt(delete, answer(status), HOME).comment_id == 5
    for status, kind in ((200, Unclear), (403, Refused), (502, Unclear)):
        with pytest.raises(kind):
            receipt(delete, answer(status), HOME)


def test_labels_are_what_the_issue_carries_afterwards(answer):
    add = AddLabels(issue=7, names=("bug",))
    assert receipt(add, answer(200, [{"name": "bug"}, {"name": "docs"}]), HOME).labels == ("bug", "docs")
    for odd in ({}, "", [1], [{"name": None}], '[{"name":'):
        with pytest.raises(Unclear):
            receipt(add, answer(200, odd), HOME)
    with pytest.raises(Gone):
        receipt(add, answer(404, {"message": "Not Found"}), HOME)


def test_a_label_is_off_when_the_answer_lists_the_others_or_says_that_it_is_not_there(answer):
    off = RemoveLabel(issue=7, name="bug")
    assert receipt(off, answer(200, [{"name": "docs"}]), HOME).labels == ("docs",)
    for status in (404, 410):
        assert receipt(off, answer(status, {"message": "Label does not exist"}), HOME) == Receipt()
    for status, kind in ((204, Unclear), (403, Refused), (422, Refused), (502, Unclear)):
        with pytest.raises(kind):
            receipt(off, answer(status), HOME)
    with pytest.raises(ReadOnly):
        receipt(off, answer(410, {"message": "Issues are disabled for this repo"}), HOME)


def test_a_hidden_comment_is_proven_by_itself(answer):
    hide = MinimizeComment(issue=7, node="IC_5")
    done = {"data": {"minimizeComment": {"minimizedComment": {"isMinimized": True}}}}
    assert receipt(hide, answer(200, done), HOME) == Receipt()
    for odd in ({"data": {"minimizeComment": None}}, {"data": {"minimizeComment": {"minimizedComment": None}}}):
        with pytest.raises(Unclear):
            receipt(hide, answer(200, odd), HOME)


def test_recorded_answers_to_writes_are_judged_by_the_same_proofs(recorded, normalized):
    home = Repository(id=3544490, name="PyGithub/PyGithub")
    (edited,) = recorded("IssueComment.testEdit")
    (deleted,) = recorded("IssueComment.testDelete")
    (old,) = recorded("Issue.testCreateComment")  # of 2012: without issue_url, so it proves nothing today
    labelled = normalized("add-labels-to-issue")[-1]
    assert receipt(EditComment(issue=28, comment_id=20227753, body=""), edited, home).comment_id == 20227753
    assert receipt(DeleteComment(issue=28, comment_id=20227753), deleted, home)
    assert receipt(AddLabels(issue=1, names=("Foo",)), labelled, home).labels == ("Foo", "bAr", "baZ")
    with pytest.raises(Unclear):
        receipt(PostComment(issue=28, body=""), old, home)
