"""GraphQL data is believed whole or not at all; only what was asked for by id may be missing."""

from __future__ import annotations

import pytest

from triagebot.core.faults import Gone, Limited, Locked, Misconfigured, NotPermitted, Refused, Unauthorized, Unclear
from triagebot.github import envelope

ISSUE = {"repository": {"issue": {"number": 1}}}
LIMIT = "API rate limit already exceeded for user ID 1."
SECONDARY = "You have exceeded a secondary rate limit."


def _error(kind="", path=None, message="Something went wrong"):
    return {"type": kind, "path": path, "message": message}


def _answered(answer, errors=(), data=ISSUE, status=200, **headers):
    body = {"data": data} | ({"errors": list(errors)} if errors else {})
    return answer(status, body, request="POST /graphql", **headers)


def test_data_without_errors_is_believed(answer):
    assert envelope.data(_answered(answer)) == ISSUE
    assert envelope.data(answer(200, {"data": ISSUE, "errors": []})) == ISSUE


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (_error("RATE_LIMITED", message=LIMIT), Limited),
        (_error("RATE_LIMIT", message="Slow down"), Limited),
        (_error("", message=SECONDARY), Limited),
        (_error("NOT_FOUND", ["repository", "issue"]), Gone),
        (_error("NOT_FOUND", ["minimizeComment"]), Gone),
        (_error("NOT_FOUND", ["repository"]), Misconfigured),
        (_error("NOT_FOUND", ["repository", "issue", "author"]), Unclear),
        (_error("NOT_FOUND"), Unclear),
        (_error("FORBIDDEN", ["repository", "issue"]), NotPermitted),
        (_error("INSUFFICIENT_SCOPES", ["repository"]), NotPermitted),
        (_error("FORBIDDEN", ["minimizeComment"]), Refused),
        (_error("FORBIDDEN", ["minimizeComment"], "Resource not accessible by integration"), NotPermitted),
        (_error("FORBIDDEN", ["minimizeComment"], "The issue is locked"), Locked),
        (_error("SERVICE_UNAVAILABLE", ["repository", "issue", "comments"]), Unclear),
        (_error("MAX_NODE_LIMIT_EXCEEDED"), Unclear),
        (_error("", ["repository", "issue", "databaseId"]), Unclear),
        ("no object", Unclear),
        ({}, Unclear),
    ],
)
def test_an_error_names_one_fault_whatever_data_came_with_it(answer, error, kind):
    with pytest.raises(Exception) as caught:  # noqa: PT011 (the type is the assertion)
        envelope.data(_answered(answer, [error]))
    assert type(caught.value) is kind


def test_what_is_certain_is_told_before_what_is_unclear(answer):
    errors = [_error("SERVICE_UNAVAILABLE", ["nodes"]), _error("NOT_FOUND", ["repository", "issue"])]
    with pytest.raises(Gone):
        envelope.data(_answered(answer, errors))


def test_a_limit_under_status_200_tells_its_seconds(answer):
    headers = {"x_ratelimit_remaining": "0", "x_ratelimit_reset": "1800000600"}
    with pytest.raises(Limited) as hourly:
        envelope.data(_answered(answer, [_error("RATE_LIMITED", message=LIMIT)], None, **headers))
    with pytest.raises(Limited) as secondary:
        envelope.data(_answered(answer, [_error("RATE_LIMITED", message=SECONDARY)], None, retry_after="30"))
    with pytest.raises(Limited) as bare:
        envelope.data(answer(200, {"message": SECONDARY}))
    told = [(caught.value.seconds, caught.value.primary) for caught in (hourly, secondary, bare)]
    assert told == [(600, True), (30, False), (None, False)]


def test_a_node_that_was_asked_for_by_id_may_be_gone(answer):
    data = ISSUE | {"nodes": [None, {"__typename": "IssueComment"}], "node": None}
    errors = [_error("NOT_FOUND", ["nodes", 0]), _error("NOT_FOUND", ["node"])]
    assert envelope.data(_answered(answer, errors, data)) == data


def test_a_node_that_stands_there_although_it_was_not_found_is_not_believed(answer):
    data = {"nodes": [{"__typename": "IssueComment"}]}
    with pytest.raises(Unclear):
        envelope.data(_answered(answer, [_error("NOT_FOUND", ["nodes", 0])], data))


def test_an_id_too_wide_for_its_field_is_harmless_where_the_wide_field_is_there(answer):
    path = ["nodes", 0, "databaseId"]
    wide = {"nodes": [{"databaseId": None, "fullDatabaseId": "3000000001"}]}
    assert envelope.data(_answered(answer, [_error("", path)], wide)) == wide
    with pytest.raises(Unclear):
        envelope.data(_answered(answer, [_error("", path)], {"nodes": [{"databaseId": None, "fullDatabaseId": None}]}))


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (200, {}, Unclear),
        (200, {"data": None}, Unclear),
        (200, {"data": None, "errors": "odd"}, Unclear),
        (200, [], Unclear),
        (200, "<html>", Unclear),
        (200, '{"data": {"repository"', Unclear),
        (401, {"message": "Bad credentials"}, Unauthorized),
        (403, {"message": SECONDARY}, Limited),
        (404, {"message": "Not Found"}, Misconfigured),
        (502, {"data": None, "errors": [{"message": "This may be the result of a timeout"}]}, Unclear),
    ],
)
def test_anything_but_an_envelope_is_a_fault(answer, status, body, kind):
    with pytest.raises(Exception) as caught:  # noqa: PT011 (the type is the assertion)
        envelope.data(answer(status, body))
    assert type(caught.value) is kind


def test_recorded_pages_are_believed(recorded):
    pages = recorded("GraphQl.testPaginationAndRestIntegration")
    graphql = [page for page in pages if page.request == "POST /graphql"]
    assert graphql
    assert all("repository" in envelope.data(page) for page in graphql)
