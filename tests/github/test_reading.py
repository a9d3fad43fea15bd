"""Issues are read whole or not at all: every list to its end, ours apart from strangers', by id where lists lag."""

from __future__ import annotations

from dataclasses import replace

import pytest

from triagebot.core.faults import Gone, Misconfigured, Moved, ReadOnly, Unclear
from triagebot.core.issue import Authorship
from triagebot.core.rows import Recorded
from triagebot.sandbox import faults
from triagebot.sandbox.arming import Fault
from triagebot.sandbox.hub import BOT

MARKED = "<!-- triagebot v1 triage:2026-10-19:0123456789abcdef -->\nLooks like a bug."


def _recorded(comment):
    return Recorded(id=comment.id, node=comment.node)


# --- whose comment


def test_a_strangers_marker_is_a_strangers_text(repo, tracker):
    repo.open_issue(title="One")
    repo.comment(1, MARKED, by="person")
    repo.comment(1, MARKED, by="helper[bot]")
    assert tracker.look(1, []).comments == ()


def test_our_comment_is_ours_under_another_name(hub, repo, tracker):
    repo.open_issue(title="One")
    ours = repo.comment(1, MARKED, by=BOT)
    hub.rename_account(BOT, "another-name[bot]")
    (found,) = tracker.look(1, []).comments
    assert (found.id, found.by, found.node, found.marker.digest) == (
        ours.id, Authorship.OWN, ours.node, "0123456789abcdef"
    )  # fmt: skip


def test_an_earlier_account_of_ours_is_told_apart(repo, tracker):
    repo.open_issue(title="One")
    repo.comment(1, MARKED, by="old-bot[bot]")
    assert [comment.by for comment in tracker.look(1, []).comments] == [Authorship.ALSO]


def test_a_persons_edit_of_our_comment_is_seen_and_our_own_is_none(hub, repo, tracker):
    repo.open_issue(title="One")
    numbers = [repo.comment(1, MARKED, by=BOT).id for _ in range(4)]
    repo.edit_comment(numbers[0], "mine", by="maintainer")
    repo.edit_comment(numbers[1], "ours", by=BOT)
    repo.edit_comment(numbers[2], "somebody's", by="leaver")
    hub.delete_account("leaver")
    assert [comment.edited_by_other for comment in tracker.look(1, []).comments] == [True, False, True, False]


# --- the look


def test_a_look_shows_the_issue_as_it_is_now(repo, tracker):
    repo.open_issue(title="One", body="before")
    repo.edit_issue(1, body="after")
    repo.close(1)
    seen = tracker.look(1, [])
    assert (seen.body, seen.closed) == ("after", True)


def test_a_comment_that_the_list_does_not_show_yet_answers_by_its_id(hub, repo, tracker):
    repo.open_issue(title="One")
    hub.listing_lag = 3600
    ours = repo.comment(1, MARKED, by=BOT)
    assert tracker.look(1, []).comments == ()
    seen = tracker.look(1, [_recorded(ours)])
    assert [comment.id for comment in seen.comments] == [ours.id]
    assert seen.gone == frozenset()


def test_list_and_ids_are_merged_lowest_id_first(hub, repo, tracker):
    repo.open_issue(title="One")
    first, second = (repo.comment(1, MARKED, by=BOT) for _ in range(2))
    seen = tracker.look(1, [_recorded(second), _recorded(first)])
    assert [comment.id for comment in seen.comments] == [first.id, second.id]


def test_a_recorded_comment_that_is_gone_is_told_so(repo, tracker):
    issue = repo.open_issue(title="One")
    kept, lost = (repo.comment(1, MARKED, by=BOT) for _ in range(2))
    repo.delete_comment(lost.id)
    no_comment = Recorded(id=5, node=issue.node)
    no_node = Recorded(id=6, node="")
    seen = tracker.look(1, [_recorded(lost), _recorded(kept), no_comment, no_node])
    assert seen.gone == {lost.id, 5}
    assert [comment.id for comment in seen.comments] == [kept.id]
    assert len(seen.deletions) == 1


def test_more_recorded_comments_than_one_request_may_name_are_all_asked_for(hub, repo, tracker):
    repo.open_issue(title="One")
    comments = [repo.comment(1, MARKED, by=BOT) for _ in range(105)]
    for comment in comments[100:]:
        repo.delete_comment(comment.id)
    seen = tracker.look(1, [_recorded(comment) for comment in comments])
    assert len(seen.comments) == 100
    assert seen.gone == {comment.id for comment in comments[100:]}


def test_a_look_reads_every_list_to_its_end(repo, tracker):
    repo.open_issue(title="One")
    for number in range(160):
        repo.comment(1, f"me too {number}")
    ours = repo.comment(1, MARKED, by=BOT)
    assert [comment.id for comment in tracker.look(1, []).comments] == [ours.id]


@pytest.mark.parametrize("way", ["never", "deleted", "transferred", "pull request"])
def test_an_issue_that_is_not_there_is_gone(hub, repo, tracker, way):
    hub.create_repository("octo/other")
    (repo.open_pull_request if way == "pull request" else repo.open_issue)(title="One")
    if way == "deleted":
        repo.delete_issue(1)
    elif way == "transferred":
        repo.transfer_issue(1, "octo/other")
    number = 9 if way == "never" else 1
    with pytest.raises(
        Gone, match=rf"^octo/demo has no issue {number} that this account can see .*: check the number\.$"
    ):
        tracker.look(number, [])


def test_an_issue_of_a_repository_that_shows_none_is_not_gone(repo, tracker):
    repo.open_issue(title="One")
    repo.issues_enabled = False
    with pytest.raises(ReadOnly, match="Switch them on"):
        tracker.look(1, [])


def test_an_issue_that_answers_from_another_repository_has_moved(hub, repo, tracker):
    repo.open_issue(title="One")

    def elsewhere(truth):
        return replace(truth, body=truth.body.replace(str(repo.id).encode(), b"4711"))

    hub.faults.add(Fault(name="elsewhere", on=faults.LOOK, stored=True, answer=elsewhere), times=None)
    with pytest.raises(Moved):
        tracker.look(1, [])


def test_a_look_at_a_repository_that_went_away_ends_the_night(hub, repo, tracker):
    repo.private, repo.permission = True, "NONE"
    with pytest.raises(Misconfigured, match="--repo"):
        tracker.look(1, [])


@pytest.mark.parametrize(
    "fault",
    [
        faults.answers(faults.LOOK, 502),
        faults.dropped(faults.LOOK),
        faults.hangs(faults.LOOK),
        faults.cut_json(faults.LOOK),
        faults.html(faults.LOOK),
        faults.graphql_error(faults.LOOK),
        faults.odd(faults.LOOK, {"data": {"repository": {"issue": {}}, "nodes": []}}),
        faults.odd(faults.LOOK, {"data": {"repository": {"issue": {}}}}),
    ],
    ids=lambda fault: fault.name,
)
def test_a_failed_look_is_an_error_and_never_nothing_found(hub, repo, tracker, fault):
    """And it is not repeated: the lease of the row that waits for it goes on."""
    repo.open_issue(title="One")
    hub.faults.add(fault, times=None)
    with pytest.raises(Unclear):
        tracker.look(1, [])
    assert [seen.operation for seen in hub.requests].count("Look") == 1


# --- one comment


def test_one_comment_is_read_with_its_reactions(repo, tracker):
    repo.open_issue(title="One")
    ours = repo.comment(1, MARKED, by=BOT)
    repo.react(ours.id)
    found = tracker.comment(_recorded(ours))
    assert (found.id, found.body, found.reactions, found.minimized) == (ours.id, MARKED, 1, False)


def test_a_comment_that_is_gone_or_a_strangers_is_none_and_a_failed_read_is_not(hub, repo, tracker):
    issue = repo.open_issue(title="One")
    lost, strange = repo.comment(1, MARKED, by=BOT), repo.comment(1, MARKED, by="person")
    repo.delete_comment(lost.id)
    for recorded in (_recorded(lost), _recorded(strange), Recorded(id=1, node=issue.node)):
        assert tracker.comment(recorded) is None
    with pytest.raises(Unclear):
        tracker.comment(Recorded(id=1, node=""))
    hub.faults.add(faults.graphql_error())
    with pytest.raises(Unclear):
        tracker.comment(_recorded(strange))
