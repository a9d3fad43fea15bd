"""GitHub's JSON becomes records, ours apart from strangers', or nothing at all."""

from __future__ import annotations

import pytest

from triagebot.core.faults import Unclear
from triagebot.core.issue import Authorship, LabelChange
from triagebot.github import records

ME = {"__typename": "Bot", "login": "triagebot-app", "databaseId": 77}
PERSON = {"__typename": "User", "login": "person", "databaseId": 5}


def _comment(**changes):
    return {
        "id": "IC_1",
        "databaseId": 11,
        "fullDatabaseId": "11",
        "body": "text",
        "viewerDidAuthor": False,
        "isMinimized": False,
        "author": ME,
        "editor": None,
        "lastEditedAt": None,
    } | changes


def _issue(**changes):
    return {
        "id": "I_1",
        "number": 7,
        "title": "Title",
        "body": "Body",
        "createdAt": "2026-10-19T09:30:00Z",
        "state": "OPEN",
        "locked": False,
        "authorAssociation": "NONE",
        "author": PERSON,
        "repository": {"databaseId": 42},
    } | changes


@pytest.mark.parametrize(
    ("changes", "by"),
    [
        ({}, Authorship.OWN),
        ({"author": ME | {"login": "new-name"}}, Authorship.OWN),
        ({"author": None, "viewerDidAuthor": True}, Authorship.OWN),
        ({"author": {"__typename": "Bot", "login": "old-bot", "databaseId": 3}}, Authorship.ALSO),
    ],
)
def test_a_comment_of_our_accounts_is_kept(me, changes, by):
    kept = records.comment(_comment(**changes), me)
    assert kept is not None
    assert kept.by is by


@pytest.mark.parametrize("author", [None, PERSON, PERSON | {"login": "triagebot-app"}])
def test_a_strangers_comment_is_dropped_whatever_it_says(me, author):
    body = "<!-- triagebot v1 triage:2026-10-19:0123456789abcdef -->"
    assert records.comment(_comment(author=author, body=body), me) is None


@pytest.mark.parametrize(
    ("editor", "edited_at", "by_other"),
    [
        (None, None, False),
        (ME, "2026-10-19T10:00:00Z", False),
        (ME | {"login": "new-name"}, "2026-10-19T10:00:00Z", False),
        (PERSON, "2026-10-19T10:00:00Z", True),
        (PERSON | {"login": "triagebot-app"}, "2026-10-19T10:00:00Z", True),
        ({"__typename": "EnterpriseUserAccount", "login": "Triagebot-App[bot]"}, "2026-10-19T10:00:00Z", False),
        (None, "2026-10-19T10:00:00Z", True),
    ],
)
def test_an_edit_by_anybody_else_is_seen(me, editor, edited_at, by_other):
    kept = records.comment(_comment(editor=editor, lastEditedAt=edited_at), me)
    assert kept is not None
    assert kept.edited_by_other is by_other


def test_ids_beyond_32_bits_are_kept_and_older_servers_without_wide_ids_served(me):
    wide = _comment(databaseId=None, fullDatabaseId="3000000001")
    assert [records.comment(each, me).id for each in (wide, _comment(fullDatabaseId=None))] == [3000000001, 11]
    for none in (
        {"databaseId": None, "fullDatabaseId": None},
        {"fullDatabaseId": "many"},
        {"databaseId": True, "fullDatabaseId": None},
    ):
        with pytest.raises(Unclear):
            records.comment(_comment(**none), me)


def test_line_ends_of_a_comment_become_ours(me):
    assert records.comment(_comment(body="<!-- a -->\r\nb"), me).body == "<!-- a -->\nb"


def test_reactions_are_told_where_they_were_asked_for(me):
    assert records.comment(_comment(reactions={"totalCount": 3}), me).reactions == 3


def test_title_and_body_are_canonical_and_a_null_body_is_empty():
    odd = records.snapshot(_issue(title="a\x00b\ud83d ", body="x\r\ny  \r\n"), records.Lists())
    assert (odd.title, odd.body) == ("a\ufffdb\ufffd", "x\ny")
    assert records.snapshot(_issue(body=None), records.Lists()).body == ""


def test_a_deleted_author_is_none_and_an_apps_is_a_bot():
    assert records.snapshot(_issue(author=None), records.Lists()).author is None
    assert records.snapshot(_issue(author=ME), records.Lists()).author.bot


def test_names_can_be_stored(me):
    lists = records.Lists()
    lists.take("labels", {"name": "a\x00\ud800b"}, me)
    assert lists.labels == ["a\ufffd\ufffdb"]


def test_comments_stand_lowest_id_first_whatever_order_they_came_in(me):
    lists = records.Lists()
    for number in ("30", "10", "20", "10"):
        lists.take("comments", _comment(fullDatabaseId=number), me)
    assert [comment.id for comment in records.snapshot(_issue(), lists).comments] == [10, 20, 30]


def test_events_are_told_apart(me):
    at = {"createdAt": "2026-10-19T09:30:00Z", "actor": PERSON}
    lists = records.Lists()
    lists.take("timelineItems", at | {"__typename": "LabeledEvent", "label": {"name": "bug"}}, me)
    lists.take("timelineItems", at | {"__typename": "UnlabeledEvent", "label": {"name": "docs"}}, me)
    lists.take("timelineItems", at | {"__typename": "ClosedEvent"}, me)
    lists.take(
        "timelineItems", at | {"__typename": "CommentDeletedEvent", "id": "CDE_1", "deletedCommentAuthor": ME}, me
    )
    issue = records.snapshot(_issue(), lists)
    assert [(e.change, e.label) for e in issue.label_events] == [
        (LabelChange.PUT_ON, "bug"),
        (LabelChange.TAKEN_OFF, "docs"),
    ]
    assert [(e.id, e.author.id, e.actor.login) for e in issue.deletions] == [("CDE_1", 77, "person")]


@pytest.mark.parametrize(
    "missing",
    ["id", "number", "title", "body", "createdAt", "state", "locked", "authorAssociation", "author", "repository"],
)
def test_half_an_issue_is_no_issue(missing):
    raw = _issue()
    del raw[missing]
    with pytest.raises(Unclear):
        records.snapshot(raw, records.Lists())


@pytest.mark.parametrize(
    "odd",
    [
        {"createdAt": "2026-10-19T09:30:00"},
        {"createdAt": "yesterday"},
        {"number": "7"},
        {"locked": None},
        {"title": None},
        {"repository": None},
        {"author": "person"},
    ],
)
def test_an_issue_of_another_shape_is_not_believed(odd):
    with pytest.raises(Unclear):
        records.snapshot(_issue(**odd), records.Lists())


def _page(nodes, more=False, cursor=None):
    return {"things": {"nodes": nodes, "pageInfo": {"hasNextPage": more, "endCursor": cursor}}}


def test_a_page_tells_whether_another_follows():
    assert records.page(_page([1]), "things").following is None
    assert records.page(_page([1], True, "c"), "things").following == "c"


@pytest.mark.parametrize(
    "odd", [_page([1, None]), _page(None), _page([1], True), _page([1], "yes", "c"), {"things": None}, {}]
)
def test_a_page_with_a_hole_is_not_believed(odd):
    with pytest.raises(Unclear):
        records.page(odd, "things")


def _repository(**changes):
    return {"id": 42, "full_name": "o/n", "archived": False, "has_issues": True, "private": False} | changes


@pytest.mark.parametrize(
    ("granted", "token", "permission"),
    [
        (None, "ghp_x", None),
        ({"admin": True, "push": True, "pull": True}, "ghp_x", "ADMIN"),
        ({"admin": False, "maintain": True, "pull": True}, "ghp_x", "MAINTAIN"),
        ({"push": True, "triage": True, "pull": True}, "gho_x", "WRITE"),
        ({"push": False, "triage": True, "pull": True}, "ghp_x", "TRIAGE"),
        ({"push": False, "pull": True}, "ghp_x", "READ"),
        ({"admin": False, "push": False, "pull": False}, "ghs_x", None),
        ({"admin": True, "push": True}, "github_pat_x", None),
        ({"push": False, "pull": True}, "github_pat_x", "READ"),
    ],
)
def test_a_permission_is_told_only_where_it_says_what_the_token_may_do(granted, token, permission):
    raw = _repository() if granted is None else _repository(permissions=granted)
    assert records.repository(raw, token=token).permission == permission


@pytest.mark.parametrize("odd", [{"id": True}, {"id": "42"}, {"full_name": "n"}, {"full_name": None}])
def test_what_has_no_id_and_name_is_no_repository(odd):
    with pytest.raises(Unclear):
        records.repository(_repository(**odd), token="t")


def test_recorded_repositories_and_labels_are_read(recorded, normalized):
    renamed = recorded("Repository.testGetRepositoryWith301Redirect")[1]
    found = records.repository(renamed.json(), token="ghp_x")
    assert (found.id, found.name, found.archived, found.issues_enabled) == (
        112116543,
        "padima2/protoncoin",
        False,
        True,
    )
    labels = [records.label(raw) for raw in normalized("labels")[0].json()]
    assert ("bug", "Something isn't working") in {(label.name, label.description) for label in labels}
