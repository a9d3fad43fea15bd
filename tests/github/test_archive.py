"""The past, page by page: what people labelled and what they did not, newest first or as it changed."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest

from triagebot.core.faults import Limited, Unclear
from triagebot.sandbox import faults
from triagebot.sandbox.arming import On
from triagebot.sandbox.hub import BOT

DAY = datetime(2026, 1, 1, tzinfo=UTC)
HISTORY = On(operation="History")


@pytest.fixture
def clock(hub):
    """The hub's clock, to be set by the test."""
    times = [DAY]
    hub.now = lambda: times[-1]
    return times.append


def _fill(repo, count, **more):
    for number in range(1, count + 1):
        at = DAY + timedelta(minutes=number)
        repo.open_issue(title=f"Issue {number}", created_at=at, labels=["bug"], association="MEMBER", **more)


def _past(pages):
    return [past.number for page in pages for past in page.past]


def _read(tracker, since=None, after=None):
    return [*tracker.labelled(since=since, after=after)]


def test_the_newest_come_first_a_hundred_to_a_request(hub, repo, tracker, clock):
    _fill(repo, 250)
    repo.close(17)
    repo.open_pull_request(title="A change")
    before = len(hub.requests)
    pages = _read(tracker)
    assert _past(pages) == [*range(250, 0, -1)]
    assert [(page.size, page.after is None) for page in pages] == [(100, False), (100, False), (50, True)]
    assert len(hub.requests) - before == 3
    assert _past(_read(tracker, after=pages[1].after)) == [*range(50, 0, -1)]


def test_an_issue_is_told_with_what_people_judged(hub, repo, tracker, clock):
    issue = repo.open_issue(title="Crash", body="a\r\nb ", author="person", created_at=DAY, labels=["form"])
    repo.label(issue.number, "bug", at=DAY + timedelta(hours=1))
    repo.label(issue.number, "question", by=BOT, at=DAY + timedelta(hours=1))
    repo.label(issue.number, "stale", by="stale[bot]", at=DAY + timedelta(hours=1))
    repo.label(issue.number, "docs", by="old-bot[bot]", at=DAY + timedelta(hours=1))
    repo.label(issue.number, "wrong", at=DAY + timedelta(hours=1))
    repo.unlabel(issue.number, "wrong")
    [page] = _read(tracker)
    [past] = page.past
    assert (past.title, past.body, past.labels, past.number, past.created_at, past.repo) == (
        "Crash", "a\nb", ("bug",), 1, DAY, "octo/demo",
    )  # fmt: skip
    assert page.updated == DAY + timedelta(hours=1)


def test_what_nobody_has_labelled_is_told_as_gone(repo, tracker, clock):
    repo.open_issue(title="Plain")
    repo.open_issue(title="By a form", labels=["bug"])
    repo.open_issue(title="By a member's form", labels=["bug"], association="MEMBER")
    [page] = _read(tracker)
    assert (_past([page]), sorted(page.gone)) == ([3], [1, 2])


def test_what_changed_comes_with_the_oldest_change_first_and_nothing_else(repo, tracker, clock):
    _fill(repo, 5)
    clock(DAY + timedelta(days=1))
    repo.edit_issue(4, body="more words")
    clock(DAY + timedelta(days=2))
    repo.unlabel(2, "bug")
    pages = _read(tracker, since=DAY + timedelta(days=1))
    assert ([[past.number for past in page.past] for page in pages], [page.gone for page in pages]) == ([[4]], [(2,)])
    assert pages[-1].updated == DAY + timedelta(days=2)
    assert [page.updated for page in _read(tracker, since=DAY + timedelta(days=3))] == [None]


def test_what_changes_while_it_is_read_is_told_at_the_end(repo, tracker, clock):
    _fill(repo, 150)
    clock(DAY + timedelta(days=1))
    pages = tracker.labelled(since=DAY, after=None)
    first = next(pages)
    assert _past([first]) == [*range(1, 101)]
    repo.unlabel(7, "bug")
    rest = [*pages]
    assert _past(rest) == [*range(101, 151)]
    assert rest[-1].gone == (7,)


def test_every_nested_list_is_read_to_its_end(repo, tracker, clock):
    issue = repo.open_issue(title="Much ado", labels=["bug"])
    for number in range(60):
        repo.label(issue.number, f"l{number}", at=DAY + timedelta(hours=number))
        repo.unlabel(issue.number, f"l{number}", at=DAY + timedelta(hours=number))
    repo.label(issue.number, "question", at=DAY + timedelta(days=9))
    [page] = _read(tracker)
    assert page.past[0].labels == ("question",)


def test_a_page_that_github_cannot_make_is_asked_for_again_smaller(hub, repo, tracker, clock):
    _fill(repo, 60)
    hub.faults.add(faults.html(HISTORY, 502), times=2)
    assert _past(_read(tracker)) == [*range(60, 0, -1)]
    sizes = [json.loads(seen.body)["variables"]["first"] for seen in hub.requests if seen.operation == "History"]
    assert sizes == [100, 50, 25, 25, 25]


def test_what_cannot_be_believed_or_had_is_a_fault(hub, repo, tracker, clock):
    _fill(repo, 3)
    with pytest.raises(Unclear):
        _read(tracker, after="no cursor")
    hub.limits.quota["graphql"] = 0
    with pytest.raises(Limited):
        _read(tracker)


def test_an_empty_repository_has_one_empty_page(tracker, clock):
    [page] = _read(tracker)
    assert (page.past, page.gone, page.after, page.updated) == ((), (), None, None)
