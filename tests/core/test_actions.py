"""Each write is one request that a dry run can show."""

from __future__ import annotations

import pytest

from triagebot.core.actions import (
    Action,
    AddLabels,
    DeleteComment,
    EditComment,
    MinimizeComment,
    PostComment,
    Request,
    Write,
)


@pytest.mark.parametrize(
    ("write", "action", "request_"),
    [
        (
            AddLabels(issue=4, names=("area: db,cache", "bug")),
            Action.LABELS,
            Request(method="POST", path="/repos/o/r/issues/4/labels", body={"labels": ["area: db,cache", "bug"]}),
        ),
        (
            PostComment(issue=4, body="words"),
            Action.COMMENT,
            Request(method="POST", path="/repos/o/r/issues/4/comments", body={"body": "words"}),
        ),
        (
            EditComment(issue=4, comment_id=9, body="words"),
            Action.COMMENT,
            Request(method="PATCH", path="/repos/o/r/issues/comments/9", body={"body": "words"}),
        ),
        (
            DeleteComment(issue=4, comment_id=9),
            Action.COMMENT,
            Request(method="DELETE", path="/repos/o/r/issues/comments/9", body={}),
        ),
        (
            MinimizeComment(issue=4, node="IC_9"),
            Action.COMMENT,
            Request(method="POST", path="/graphql", body={"minimizeComment": "IC_9"}),
        ),
    ],
)
def test_a_write_knows_its_request(write: Write, action: Action, request_: Request) -> None:
    assert write.action is action
    assert write.request("o/r") == request_


def test_labels_are_only_ever_added() -> None:
    """PUT and PATCH would take off what people put on; a comma in a name splits nothing."""
    request = AddLabels(issue=1, names=("a,b",)).request("o/r")
    assert request.method == "POST"
    assert request.body == {"labels": ["a,b"]}
