"""Many issues at once: whole or not at all, in few requests, smaller ones where GitHub cannot keep up."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest

from triagebot.core.faults import Limited, NotPermitted, Unclear
from triagebot.sandbox import faults
from triagebot.sandbox.arming import On
from triagebot.sandbox.hub import BOT

MARKED = "<!-- triagebot v1 triage:2026-10-19:0123456789abcdef -->\nLooks like a bug."
DAY = datetime(2026, 1, 1, tzinfo=UTC)


def _fill(repo, count):
    for number in range(1, count + 1):
        repo.open_issue(title=f"Issue {number}", created_at=DAY + timedelta(minutes=number))


def _sizes(hub):
    return [json.loads(seen.body)["variables"]["first"] for seen in hub.requests if seen.operation == "Sweep"]


# --- the sweep


def test_a_sweep_shows_every_open_issue_once_oldest_first_in_a_request_for_each_hundred(hub, repo, tracker):
    _fill(repo, 250)
    repo.open_pull_request(title="A change")
    repo.close(17)
    before = len(hub.requests)
    assert [issue.number for issue in tracker.sweep()] == [n for n in range(1, 251) if n != 17]
    assert len(hub.requests) - before == 3


def test_an_issue_is_told_as_it_stands(hub, repo, tracker):
    issue = repo.open_issue(
        title="Crash", body="a\r\nb ", author="person", association="MEMBER", created_at=DAY, labels=["bug"]
    )
    repo.unlabel(issue.number, "bug", by="maintainer")
    repo.label(issue.number, "question", by=BOT)
    repo.lock(issue.number)
    (seen,) = tracker.sweep()
    assert (seen.repo_id, seen.number, seen.node) == (repo.id, 1, issue.node)
    assert (seen.title, seen.body, seen.association, seen.created_at) == ("Crash", "a\nb", "MEMBER", DAY)
    assert (seen.author.login, seen.author.id) == ("person", hub.account("person").id)
    assert (seen.closed, seen.locked, seen.labels) == (False, True, ("question",))
    assert [(event.change.value, event.label, event.actor.login) for event in seen.label_events] == [
        ("labeled", "bug", "person"),
        ("unlabeled", "bug", "maintainer"),
        ("labeled", "question", "triagebot-app"),
    ]
    assert seen.gone == frozenset()


def test_every_nested_list_is_read_to_its_end(hub, repo, tracker):
    repo.open_issue(title="Busy", labels=[f"label {n}" for n in range(130)])
    for number in range(260):
        repo.comment(1, f"me too {number}", by="person")
    ours = repo.comment(1, MARKED, by=BOT)
    repo.delete_comment(repo.comment(1, "gone", by=BOT).id, by="maintainer")
    (seen,) = tracker.sweep()
    assert len(seen.labels) == 130
    assert len(seen.label_events) == 130
    assert [comment.id for comment in seen.comments] == [ours.id]
    assert [(event.actor.login, event.author.login) for event in seen.deletions] == [("maintainer", "triagebot-app")]


def test_a_page_that_fails_is_asked_again_smaller_from_the_same_place(hub, repo, tracker):
    _fill(repo, 130)
    hub.faults.add(faults.answers(faults.SWEEP, 502), times=2, skip=1)
    assert [issue.number for issue in tracker.sweep()] == [*range(1, 131)]
    assert _sizes(hub) == [100, 100, 50, 25, 25]


@pytest.mark.parametrize(
    "fault",
    [
        faults.answers(faults.SWEEP, 502),
        faults.answers(faults.SWEEP, 504),
        faults.dropped(faults.SWEEP),
        faults.dropped_halfway(faults.SWEEP),
        faults.cut_json(faults.SWEEP),
        faults.html(faults.SWEEP),
        faults.graphql_error(faults.SWEEP),
        faults.odd(faults.SWEEP, {"data": {"repository": None}}),
        faults.redirects(faults.SWEEP, "/elsewhere"),
    ],
    ids=lambda fault: fault.name,
)
def test_a_sweep_that_cannot_be_believed_is_an_error_after_a_few_requests(hub, repo, tracker, fault):
    _fill(repo, 3)
    hub.faults.add(fault, times=None)
    with pytest.raises(Unclear):
        [*tracker.sweep()]
    assert _sizes(hub) == [100, 50, 25, 12, 6, 5, 5, 5]


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        (faults.secondary_limit(faults.SWEEP, status=429), Limited),
        (faults.graphql_limit(faults.SWEEP, reset=2_000_000_000), Limited),
        (faults.graphql_error(faults.SWEEP, "Resource not accessible by integration", "FORBIDDEN"), NotPermitted),
        (faults.graphql_error(faults.SWEEP, "Your token has no scope", "INSUFFICIENT_SCOPES"), NotPermitted),
    ],
    ids=lambda value: getattr(value, "name", None),
)
def test_a_sweep_is_not_repeated_on_what_will_not_pass(hub, repo, tracker, fault, kind):
    hub.faults.add(fault, times=None)
    with pytest.raises(kind):
        [*tracker.sweep()]
    assert len(_sizes(hub)) == 1


def test_a_failed_page_of_comments_fails_the_sweep(hub, repo, tracker):
    repo.open_issue(title="Busy")
    for number in range(60):
        repo.comment(1, f"me too {number}")
    more = On(operation="MoreComments")
    hub.faults.add(faults.cut_json(more), times=2)
    assert len([*tracker.sweep()]) == 1
    hub.faults.add(faults.cut_json(more), times=3)
    with pytest.raises(Unclear):
        [*tracker.sweep()]


def test_an_issue_that_is_deleted_while_it_is_read_is_left_out(hub, repo, tracker):
    _fill(repo, 2)
    for number in range(60):
        repo.comment(1, f"me too {number}")

    def deletes(call):
        if call.operation == "MoreComments":
            repo.delete_issue(1)

    hub.on_request = deletes
    assert [issue.number for issue in tracker.sweep()] == [2]


def test_a_list_that_turns_in_a_circle_is_not_believed(hub, repo, tracker):
    page = {"nodes": [], "pageInfo": {"hasNextPage": True, "endCursor": "again"}}
    hub.faults.add(faults.odd(faults.SWEEP, {"data": {"repository": {"issues": page}}}, 200), times=None)
    with pytest.raises(Unclear, match="twice"):
        [*tracker.sweep()]
    assert len(_sizes(hub)) == 2


# --- the look back


def test_issues_are_looked_at_again_a_hundred_to_a_request(hub, repo, tracker):
    _fill(repo, 150)
    nodes = [issue.node for issue in repo.issues()]
    repo.comment(150, MARKED, by=BOT)
    before = len(hub.requests)
    seen = [*tracker.look_again(nodes)]
    assert [issue.number for issue in seen] == [*range(1, 151)]
    assert len(seen[-1].comments) == 1
    assert len(hub.requests) - before == 2


def test_what_is_not_known_any_more_is_left_out_of_the_look_back(hub, repo, tracker):
    _fill(repo, 2)
    hub.create_repository("octo/other")
    moved = repo.transfer_issue(2, "octo/other")
    comment = repo.comment(1, "no issue at all")
    nodes = [repo.issue(1).node, "I_unknown", moved.node, comment.node]
    assert [issue.number for issue in tracker.look_again(nodes)] == [1]
    assert [*tracker.look_again([])] == []


def test_a_look_back_that_fails_is_asked_again_smaller(hub, repo, tracker):
    _fill(repo, 60)
    nodes = [issue.node for issue in repo.issues()]
    hub.faults.add(faults.answers(On(operation="LookAgain"), 502), times=2)
    assert len([*tracker.look_again(nodes)]) == 60
