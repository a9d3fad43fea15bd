"""A write goes out once, to the issue it names, and is believed only by proof. What counts is what GitHub holds."""

from __future__ import annotations

from datetime import timedelta

import pytest

from triagebot.core.actions import AddLabels, DeleteComment, EditComment, MinimizeComment, PostComment
from triagebot.core.faults import Gone, Limited, Locked, NotPermitted, ReadOnly, Refused, Unclear, Undelivered
from triagebot.github.tracker import GitHubTracker
from triagebot.sandbox import faults
from triagebot.sandbox.hub import BOT, TOKEN

BODY = "<!-- triagebot v1 triage:2026-10-19:0123456789abcdef -->\nLooks like a bug."
POST = PostComment(issue=1, body=BODY)


@pytest.fixture(autouse=True)
def _one_issue(repo):
    repo.open_issue(title="One")


def _bodies(repo, number=1):
    return [comment.body for comment in repo.comments(number)]


# --- what works


def test_a_comment_is_posted(hub, repo, tracker):
    receipt = tracker.send(POST)
    (stored,) = repo.comments(1)
    assert (stored.body, stored.author.login) == (BODY, BOT)
    assert (receipt.comment_id, receipt.comment_node) == (stored.id, stored.node)
    assert len(hub.writes()) == 1


def test_a_comment_is_edited_and_deleted(repo, tracker):
    ours = repo.comment(1, BODY, by=BOT)
    assert tracker.send(EditComment(issue=1, comment_id=ours.id, body="new")).comment_id == ours.id
    assert _bodies(repo) == ["new"]
    assert tracker.send(DeleteComment(issue=1, comment_id=ours.id)).comment_id == ours.id
    assert _bodies(repo) == []
    tracker.send(DeleteComment(issue=1, comment_id=ours.id))


def test_labels_are_added_to_those_that_are_there(hub, repo, tracker):
    repo.label(1, "question")
    receipt = tracker.send(AddLabels(issue=1, names=("bug",)))
    assert sorted(receipt.labels) == sorted(repo.issue(1).labels) == ["bug", "question"]


def test_a_twin_is_hidden_as_a_duplicate(repo, tracker):
    ours = repo.comment(1, BODY, by=BOT)
    tracker.send(MinimizeComment(issue=1, node=ours.node))
    assert repo.comments(1)[0].minimized == "duplicate"


# --- what was stored, whatever was answered


@pytest.mark.parametrize(
    "fault",
    [
        faults.stored_then(faults.POST_COMMENT, 500),
        faults.stored_then(faults.POST_COMMENT, 502),
        faults.stored_then(faults.POST_COMMENT, 504),
        faults.stored_then_dropped(faults.POST_COMMENT),
        faults.stored_then_hangs(faults.POST_COMMENT),
        faults.dropped_halfway(faults.POST_COMMENT),
        faults.cut_json(faults.POST_COMMENT),
        faults.html(faults.POST_COMMENT, 200, stored=True),
        faults.html(faults.POST_COMMENT, 201, stored=True),
        faults.odd(faults.POST_COMMENT, {}),
        faults.odd(faults.POST_COMMENT, []),
        faults.odd(faults.POST_COMMENT, {"accepted": True}, 202),
        faults.changed(faults.POST_COMMENT, {"id": None}),
        faults.changed(faults.POST_COMMENT, {"id": True}),
        faults.changed(faults.POST_COMMENT, {"issue_url": None}),
        faults.changed(faults.POST_COMMENT, {"issue_url": "https://api.github.com/repos/octo/demo/issues/2"}),
        faults.changed(faults.POST_COMMENT, {"node_id": None}),
    ],
    ids=lambda fault: fault.name,
)
def test_a_post_without_proof_is_unclear_one_request_and_one_comment(hub, repo, tracker, fault):
    hub.faults.add(fault, times=None)
    with pytest.raises(Unclear):
        tracker.send(POST)
    assert [seen.method for seen in hub.writes()] == ["POST"]
    assert _bodies(repo) == [BODY]


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirected_post_lands_nowhere(hub, repo, tracker, github_url, status):
    repo.open_issue(title="Two")
    location = f"{github_url}/repos/octo/demo/issues/2/comments"
    hub.faults.add(faults.redirects(faults.POST_COMMENT, location, status))
    with pytest.raises(Unclear):
        tracker.send(POST)
    assert len(hub.writes()) == 1
    assert (_bodies(repo, 1), _bodies(repo, 2)) == ([], [])


def test_a_comment_does_not_follow_its_issue_into_another_repository(hub, repo, tracker):
    other = hub.create_repository("octo/other")
    repo.transfer_issue(1, "octo/other")
    with pytest.raises(Unclear):
        tracker.send(POST)
    assert (len(hub.writes()), _bodies(other)) == (1, [])


def test_a_repository_renamed_in_the_middle_of_a_night_gets_no_comment(hub, repo, tracker):
    repo.rename("octo/renamed")
    with pytest.raises(Unclear, match="next night"):
        tracker.send(POST)
    assert [seen.status for seen in hub.writes()] == [307]
    assert _bodies(repo) == []


def test_a_server_that_is_not_there_has_surely_not_got_it(hub, repo, tracker, closed_port):
    away = GitHubTracker(f"http://127.0.0.1:{closed_port}", TOKEN, "octo/demo", timeout=1)
    away._found, away._viewer = tracker.repository(), tracker.identity()
    with pytest.raises(Undelivered):
        away.send(POST)


# --- refusals


def test_the_hours_quota_is_a_limit_until_its_reset(hub, repo, tracker):
    hub.faults.add(faults.primary_limit(faults.POST_COMMENT, reset=int(hub.now().timestamp()) + 3000))
    with pytest.raises(Limited) as caught:
        tracker.send(POST)
    assert caught.value.primary
    assert 2990 <= caught.value.seconds <= 3000
    assert len(hub.writes()) == 1


@pytest.mark.parametrize("status", [403, 429])
@pytest.mark.parametrize("old_words", [True, False])
@pytest.mark.parametrize(("retry_after", "seconds"), [(None, None), ("7200", 7200), ("soon", None), ("-1", None)])
def test_a_secondary_limit_comes_back_at_once_with_its_seconds(
    hub, repo, tracker, status, old_words, retry_after, seconds
):
    limit = faults.secondary_limit(faults.ANY_WRITE, status=status, retry_after=retry_after, old_words=old_words)
    hub.faults.add(limit, times=None)
    with pytest.raises(Limited) as caught:
        tracker.send(AddLabels(issue=1, names=("bug",)))
    assert (caught.value.seconds, caught.value.primary) == (seconds, False)
    assert len(hub.writes()) == 1


def test_a_limit_may_tell_its_end_as_a_date(hub, repo, tracker):
    end = faults.http_date(hub.moment() + timedelta(seconds=120))
    hub.faults.add(faults.secondary_limit(faults.POST_COMMENT, retry_after=end))
    with pytest.raises(Limited) as caught:
        tracker.send(POST)
    assert 110 <= caught.value.seconds <= 120


def test_a_locked_issue_is_locked(repo, tracker):
    repo.lock(1)
    with pytest.raises(Locked):
        tracker.send(POST)


def test_an_issue_that_is_deleted_is_gone(repo, tracker):
    repo.delete_issue(1)
    for write in (POST, AddLabels(issue=1, names=("bug",)), PostComment(issue=99, body=BODY)):
        with pytest.raises(Gone):
            tracker.send(write)


def test_an_edit_of_a_comment_that_is_not_there_is_unclear(hub, tracker):
    with pytest.raises(Unclear):
        tracker.send(EditComment(issue=1, comment_id=1, body="x"))
    assert len(hub.writes()) == 1


def test_hiding_a_comment_that_is_not_there_is_gone(repo, tracker):
    with pytest.raises(Gone):
        tracker.send(MinimizeComment(issue=1, node="IC_unknown"))


@pytest.mark.parametrize("change", [{"archived": True}, {"issues_enabled": False}])
def test_a_repository_that_takes_no_writes_ends_the_night(repo, tracker, change):
    for name, value in change.items():
        setattr(repo, name, value)
    with pytest.raises(ReadOnly):
        tracker.send(POST)


def test_a_token_that_may_only_read_ends_the_night(hub, repo, github_url):
    hub.add_token("reader", BOT, write=False)
    reader = GitHubTracker(github_url, "reader", "octo/demo", timeout=1)
    ours = repo.comment(1, BODY, by=BOT)
    for write in (POST, AddLabels(issue=1, names=("bug",)), MinimizeComment(issue=1, node=ours.node)):
        with pytest.raises(NotPermitted, match="issues: write"):
            reader.send(write)
    assert len(hub.writes()) == 3


def test_a_token_that_was_withdrawn_ends_the_night(hub, tracker):
    hub.faults.add(faults.answers(faults.POST_COMMENT, 401, "Bad credentials"))
    with pytest.raises(NotPermitted, match="GITHUB_TOKEN") as caught:
        tracker.send(POST)
    assert TOKEN not in str(caught.value)


def test_a_text_that_is_too_long_is_refused_for_good(hub, repo, tracker):
    with pytest.raises(Refused, match="too long"):
        tracker.send(PostComment(issue=1, body="x" * 70_000))
    assert (len(hub.writes()), _bodies(repo)) == (1, [])
