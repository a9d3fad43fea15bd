"""The hub's memory: acted on from any thread, and open to those who look and steer."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta, timezone

import pytest
import requests

from triagebot.sandbox import faults
from triagebot.sandbox.hub import BOT, TOKEN, Hub
from triagebot.sandbox.repository import Repository


def test_every_request_is_recorded_on_arrival(api, hub: Hub, repo: Repository) -> None:
    repo.open_issue(title="x")
    api.get("/repos/octo/demo")
    api.comment(token="wrong")
    api.graphql("viewer")
    hub.faults.add(faults.stored_then(faults.POST_COMMENT, 502))
    api.comment()
    told = [(seen.method, seen.operation, seen.login, seen.status, seen.fault) for seen in hub.requests]
    assert told == [
        ("GET", None, BOT, 200, None),
        ("POST", None, None, 401, None),
        ("POST", "Viewer", BOT, 200, None),
        ("POST", None, BOT, 502, "stored, then 502"),
    ]
    assert [seen.status for seen in hub.writes()] == [401, 502]


def test_parallel_writes_are_all_stored_under_numbers_of_their_own(hub: Hub, repo: Repository, github_url: str) -> None:
    repo.open_issue(title="x")

    def post(number: int) -> int:
        sent = {"json": {"body": f"No. {number}"}, "headers": {"Authorization": f"token {TOKEN}"}, "timeout": 10}
        return requests.post(f"{github_url}/repos/octo/demo/issues/1/comments", **sent).status_code

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(post, range(80))) == {201}
    ids = [each.id for each in repo.comments(1)]
    assert len(set(ids)) == 80
    assert ids == sorted(ids)


def test_a_test_may_act_before_a_request_is_handled(api, hub: Hub, repo: Repository) -> None:
    repo.open_issue(title="x")
    hub.on_request = lambda call: repo.lock(1) if call.method == "POST" else None
    assert api.comment().status_code == 403


def test_a_test_may_act_after_a_write_was_stored_and_before_it_is_answered(api, hub: Hub, repo: Repository) -> None:
    repo.open_issue(title="x")
    hub.on_stored = lambda call: repo.delete_comment(repo.comments(1)[0].id)
    assert api.comment().status_code == 201
    assert repo.comments(1) == []
    stored = []
    hub.on_stored = stored.append
    api.get("/repos/octo/demo")
    api.comment(77)
    assert stored == []


def test_two_requests_can_be_held_until_both_are_there(hub: Hub, repo: Repository, github_url: str) -> None:
    """A hook that blocks holds up its own request only."""
    repo.open_issue(title="x")
    both = threading.Barrier(2, timeout=5)
    hub.on_request = lambda call: both.wait() and None
    url, headers = f"{github_url}/repos/octo/demo", {"Authorization": f"token {TOKEN}"}
    with ThreadPoolExecutor(2) as pool:
        answers = pool.map(lambda _: requests.get(url, headers=headers, timeout=10).status_code, range(2))
        assert [*answers] == [200, 200]


def test_what_is_handed_out_does_not_change_afterwards(repo: Repository) -> None:
    repo.open_issue(title="x")
    issue, made = repo.issue(1), repo.comment(1, "Before")
    repo.label(1, "bug")
    repo.edit_comment(made.id, "After")
    assert (issue.labels, made.body) == ([], "Before")
    assert (repo.issue(1).labels, repo.comments(1)[0].body) == (["bug"], "After")


def test_times_are_utc_and_whole_seconds(hub: Hub, repo: Repository) -> None:
    at = datetime(2026, 10, 19, 1, 2, 3, 456789, tzinfo=timezone(timedelta(hours=9)))
    assert repo.open_issue(title="x", created_at=at).created_at == datetime(2026, 10, 18, 16, 2, 3, tzinfo=UTC)


def test_mistakes_of_a_test_are_told(hub: Hub, repo: Repository) -> None:
    repo.open_issue(title="x", number=7)
    assert repo.open_issue(title="y").number == 8
    for mistake, error in (
        (lambda: repo.open_issue(title="z", number=7), ValueError),
        (lambda: repo.add_label("BUG"), ValueError),
        (lambda: hub.create_repository("o/r", permission="SOME"), ValueError),
        (lambda: repo.unlabel(7, "bug"), KeyError),
        (lambda: repo.issue(9), KeyError),
        (lambda: hub.repository("o/none"), KeyError),
    ):
        with pytest.raises(error):
            mistake()


def test_labels_can_be_renamed_and_removed(repo: Repository) -> None:
    repo.open_issue(title="x", labels=["bug", "question"])
    repo.rename_label("bug", "defect")
    repo.remove_label("question")
    assert repo.issue(1).labels == ["defect"]
    assert {"bug", "question"}.isdisjoint(label.name for label in repo.labels())


# --- from another process


def test_another_process_sees_what_is_stored_and_acts(api, hub: Hub, repo: Repository) -> None:
    made = api.post("/_sandbox/actions", {"repo": "octo/demo", "do": "open_issue", "kwargs": {"title": "From outside"}})
    assert made.json()["number"] == 1
    api.comment(body="Ours")
    for do, args in (("lock", [1]), ("label", [1, "bug"])):
        assert api.post("/_sandbox/actions", {"repo": "octo/demo", "do": do, "args": args}).status_code == 201
    issue = api.get("/_sandbox/state").json()["octo/demo"]["issues"]["1"]
    assert (issue["title"], issue["locked"], issue["labels"]) == ("From outside", True, ["bug"])
    assert [(each["author"], each["body"]) for each in issue["comments"]] == [(BOT, "Ours")]
    assert [each["status"] for each in api.get("/_sandbox/requests").json()] == [201]


def test_only_the_named_things_can_be_done_from_outside(api, hub: Hub) -> None:
    answer = api.post("/_sandbox/actions", {"repo": "octo/demo", "do": "__init__"})
    assert (answer.status_code, "is none of" in answer.json()["message"]) == (422, True)
    assert api.post("/_sandbox/faults", {"kind": "meteor"}).status_code == 422
    api.post("/_sandbox/faults", {"kind": "dropped", "times": None})
    assert api.delete("/_sandbox/faults").status_code == 200
    assert api.get("/repos/octo/demo").status_code == 200
