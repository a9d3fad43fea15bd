"""The embedded GitHub's REST side: what is stored, and how it says no. Shapes are held by the contract check."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from triagebot.sandbox.hub import BOT, Hub
from triagebot.sandbox.repository import Repository

BASE = "/repos/octo/demo"


@pytest.fixture(autouse=True)
def _an_issue(repo: Repository) -> None:
    repo.open_issue(title="It breaks", body=None)


def _said(response) -> tuple[int, str]:
    return response.status_code, response.json()["message"]


# --- who asks


@pytest.mark.parametrize("path", ["/user", BASE, f"{BASE}/issues/1", "/repos/no/body"])
def test_without_a_good_token_nothing_is_told(api, path: str) -> None:
    assert _said(api.get(path, token="wrong")) == (401, "Bad credentials")
    assert _said(api.get(path, token=None)) == (401, "Requires authentication")


def test_an_app_is_no_user(api, hub: Hub) -> None:
    assert _said(api.get("/user")) == (403, "Resource not accessible by integration")
    hub.add_token("pat", "somebody")
    assert api.get("/user", token="pat").json()["login"] == "somebody"


def test_permissions_are_told_to_people_and_not_to_apps(api, hub: Hub, repo: Repository) -> None:
    hub.add_token("pat", "somebody")
    repo.permissions["somebody"] = "TRIAGE"
    theirs = api.get(BASE, token="pat").json()["permissions"]
    assert theirs == {"admin": False, "maintain": False, "push": False, "triage": True, "pull": True}
    assert not any(api.get(BASE).json()["permissions"].values())


def test_a_private_repository_does_not_exist_for_strangers(api, hub: Hub) -> None:
    hub.create_repository("octo/secret", private=True, permission="NONE")
    assert _said(api.get("/repos/octo/secret")) == (404, "Not Found")


# --- reading


def test_lists_are_paged_by_links_that_lead_to_every_row_once(api, repo: Repository) -> None:
    for number in range(130):
        repo.add_label(f"label {number:03}")
    seen, url = [], f"{BASE}/labels"
    while url:
        page = api.get(url)
        seen += [label["name"] for label in page.json()]
        url = page.links.get("next", {}).get("url")
    assert len(seen) == len(set(seen)) == 136
    assert len(api.get(f"{BASE}/labels").json()) == 30
    assert len(api.get(f"{BASE}/labels?per_page=1000").json()) == 100


def test_the_list_of_issues_holds_pull_requests_and_is_filtered(api, repo: Repository) -> None:
    repo.open_pull_request(title="A change")
    repo.open_issue(title="Closed", labels=["bug"])
    repo.close(3)
    rows = api.get(f"{BASE}/issues").json()
    assert sorted((row["number"], "pull_request" in row) for row in rows) == [(1, False), (2, True)]
    assert [row["number"] for row in api.get(f"{BASE}/issues?state=all&labels=BUG").json()] == [3]
    assert [row["number"] for row in api.get(f"{BASE}/issues?state=all&sort=created&direction=asc").json()] == [1, 2, 3]
    assert api.get(f"{BASE}/issues?since=2999-01-01T00:00:00Z").json() == []


def test_comments_come_oldest_first_whatever_is_asked(api, hub: Hub, repo: Repository) -> None:
    now = datetime(2026, 10, 19, tzinfo=UTC)
    for hour in range(3):
        hub.now = lambda hour=hour: now + timedelta(hours=hour)
        repo.comment(1, f"No. {hour}")
    bodies = [each["body"] for each in api.get(f"{BASE}/issues/1/comments?direction=desc&sort=created").json()]
    assert bodies == ["No. 0", "No. 1", "No. 2"]
    since = api.get(f"{BASE}/issues/1/comments?since=2026-10-19T01:00:00Z").json()
    assert [each["body"] for each in since] == ["No. 1", "No. 2"]


def test_comment_ids_have_outgrown_32_bits(api) -> None:
    assert api.comment().json()["id"] > 2**31


def test_what_a_deleted_account_wrote_has_no_author(api, hub: Hub, repo: Repository) -> None:
    repo.comment(1, "Bye", by="leaver")
    hub.delete_account("leaver")
    assert api.get(f"{BASE}/issues/1/comments").json()[0]["user"] is None


def test_a_lagging_list_does_not_show_what_answers_by_its_id(api, hub: Hub, repo: Repository) -> None:
    now = datetime(2026, 10, 19, tzinfo=UTC)
    hub.now, hub.listing_lag = lambda: now, 30
    made = api.comment().json()
    assert api.get(f"{BASE}/issues/1/comments").json() == []
    assert api.get(f"{BASE}/issues/comments/{made['id']}").json()["body"] == "A comment"
    hub.now = lambda: now + timedelta(seconds=30)
    assert [each["id"] for each in api.get(f"{BASE}/issues/1/comments").json()] == [made["id"]]


# --- writing


def test_a_comment_is_stored_edited_and_deleted(api, repo: Repository) -> None:
    made = api.comment(body="First words")
    assert made.status_code == 201
    assert made.headers["location"] == made.json()["url"]
    assert made.json()["issue_url"] == api.url + f"{BASE}/issues/1"
    path = f"{BASE}/issues/comments/{made.json()['id']}"
    assert api.patch(path, {"body": "Other words"}).json()["body"] == "Other words"
    [stored] = repo.comments(1)
    assert (stored.body, stored.author.login, stored.editor.login) == ("Other words", BOT, BOT)
    assert (api.delete(path).status_code, repo.comments(1)) == (204, [])
    for gone in (api.get(path), api.patch(path, {"body": "x"}), api.delete(path)):
        assert _said(gone) == (404, "Not Found")


def test_labels_are_added_without_regard_to_case_and_unknown_ones_come_into_being(api, repo: Repository) -> None:
    repo.label(1, "question", by="somebody")
    answer = api.post(f"{BASE}/issues/1/labels", {"labels": ["BUG", "made up", "bug"]})
    assert [label["name"] for label in answer.json()] == ["question", "bug", "made up"]
    assert repo.issue(1).labels == ["question", "bug", "made up"]
    assert "made up" in [label.name for label in repo.labels()]
    again = api.post(f"{BASE}/issues/1/labels", {"labels": ["bug"]})
    assert again.status_code == 200
    events = [(event.kind, event.label, event.actor.login) for event in repo.issue(1).events]
    assert events == [("labeled", "question", "somebody"), ("labeled", "bug", BOT), ("labeled", "made up", BOT)]


def test_a_label_is_taken_off_once(api, repo: Repository) -> None:
    repo.add_label("area: db/cache")
    repo.label(1, "bug", "area: db/cache")
    answer = api.delete(f"{BASE}/issues/1/labels/area%3A%20db%2Fcache")
    assert [label["name"] for label in answer.json()] == ["bug"]
    assert _said(api.delete(f"{BASE}/issues/1/labels/area%3A%20db%2Fcache")) == (404, "Label does not exist")


# --- how it says no: (what happened before, status, words) for a comment and for labels


def _locked(hub: Hub, repo: Repository) -> None:
    repo.lock(1)


def _deleted(hub: Hub, repo: Repository) -> None:
    repo.delete_issue(1)


def _archived(hub: Hub, repo: Repository) -> None:
    repo.archived = True


def _disabled(hub: Hub, repo: Repository) -> None:
    repo.issues_enabled = False


def _read_only(hub: Hub, repo: Repository) -> None:
    repo.permission = "READ"


INTEGRATION = (403, "Resource not accessible by integration")


@pytest.mark.parametrize(
    ("happened", "comment", "labels"),
    [
        (_locked, (403, "Unable to create comment because issue is locked."), None),
        (_deleted, (410, "This issue was deleted"), (410, "This issue was deleted")),
        (
            _archived,
            (403, "Repository was archived so is read-only."),
            (403, "Repository was archived so is read-only."),
        ),
        (
            _disabled,
            (410, "Issues has been disabled in this repository."),
            (410, "Issues has been disabled in this repository."),
        ),
        (_read_only, INTEGRATION, INTEGRATION),
    ],
)
def test_writes_are_refused_in_githubs_words(api, hub: Hub, repo: Repository, happened, comment, labels) -> None:
    happened(hub, repo)
    assert _said(api.comment()) == comment
    labelled = api.post(f"{BASE}/issues/1/labels", {"labels": ["bug"]})
    assert labelled.status_code == 200 if labels is None else _said(labelled) == labels
    assert all(each.comments == [] for each in repo.issues())


def test_a_read_only_token_writes_nothing(api, hub: Hub, repo: Repository) -> None:
    hub.add_token("reader", BOT, write=False)
    path = f"{BASE}/issues/comments/{repo.comment(1, 'Mine', by=BOT).id}"
    for refused in (
        api.comment(token="reader"),
        api.patch(path, {"body": "x"}, token="reader"),
        api.delete(path, token="reader"),
    ):
        assert _said(refused) == INTEGRATION
    assert [each.body for each in repo.comments(1)] == ["Mine"]


def test_people_with_write_access_may_comment_on_a_locked_issue(api, hub: Hub, repo: Repository) -> None:
    hub.add_token("pat", "somebody")
    repo.lock(1)
    assert api.comment(token="pat").status_code == 201


def test_a_deleted_issue_is_gone_and_an_unknown_one_was_never_there(api, repo: Repository) -> None:
    repo.delete_issue(1)
    assert _said(api.get(f"{BASE}/issues/1")) == (410, "This issue was deleted")
    assert _said(api.get(f"{BASE}/issues/1/comments")) == (410, "This issue was deleted")
    assert _said(api.get(f"{BASE}/issues/77")) == (404, "Not Found")
    assert _said(api.comment(77)) == (404, "Not Found")


@pytest.mark.parametrize(
    ("sent", "code", "words"),
    [
        ({"body": "x" * 65_537}, 422, "Body is too long (maximum is 65536 characters)"),
        ({"body": "  "}, 422, "Body cannot be blank"),
        ({"body": ""}, 422, "Body cannot be blank"),
    ],
)
def test_a_body_must_have_words_but_not_too_many(api, repo: Repository, sent, code, words) -> None:
    answer = api.post(f"{BASE}/issues/1/comments", sent)
    assert _said(answer) == (code, "Validation Failed")
    assert answer.json()["errors"][0]["message"] == words
    assert repo.comments(1) == []


def test_a_body_of_exactly_the_limit_fits(api) -> None:
    assert api.comment(body="🐟" * 65_536).status_code == 201


def test_what_is_no_json_is_told_so(api) -> None:
    assert api.post(f"{BASE}/issues/1/comments", data=b"{").status_code == 400
    assert api.post(f"{BASE}/issues/1/comments", {"boody": "x"}).status_code == 422
    assert api.post(f"{BASE}/issues/1/labels", {"labels": ["x" * 51]}).status_code == 422
    assert api.post(f"{BASE}/issues/1/labels", {"labels": []}).status_code == 422


# --- moves


def test_a_renamed_repository_redirects_reads_by_301_and_writes_by_307(api, hub: Hub, repo: Repository) -> None:
    repo.rename("octo/new-name")
    read = api.get(f"{BASE}/issues?state=all")
    assert read.status_code == 301
    assert read.headers["location"] == f"{api.url}/repositories/{repo.id}/issues?state=all"
    assert api.get(read.headers["location"]).json()[0]["repository_url"] == f"{api.url}/repos/octo/new-name"
    written = api.comment()
    assert (written.status_code, repo.comments(1)) == (307, [])
    assert api.post(written.headers["location"], {"body": "There"}).status_code == 201
    assert hub.repository("octo/demo") is hub.repository("octo/new-name") is repo


def test_a_name_is_the_same_in_any_case(api) -> None:
    assert api.get("/repos/OCTO/Demo").json()["full_name"] == "octo/demo"


def test_a_transferred_issue_redirects_by_301_to_its_new_home(api, hub: Hub, repo: Repository) -> None:
    other = hub.create_repository("octo/other", labels=["bug"])
    other.open_issue(title="Was here before")
    repo.label(1, "bug", "question")
    repo.transfer_issue(1, "octo/other")
    read, written = api.get(f"{BASE}/issues/1"), api.comment()
    assert read.headers["location"] == f"{api.url}/repositories/{other.id}/issues/2"
    assert (read.status_code, written.status_code) == (301, 301)
    assert written.headers["location"] == f"{api.url}/repositories/{other.id}/issues/2/comments"
    assert api.get(f"{BASE}/issues/1/comments").status_code == 404
    moved = api.get(read.headers["location"]).json()
    assert (moved["number"], [label["name"] for label in moved["labels"]]) == (2, ["bug"])
    assert other.comments(2) == []


# --- limits


def test_every_answer_tells_what_is_left_of_the_hour(api) -> None:
    first, second = api.get(BASE), api.get(f"{BASE}/issues/77")
    left = [int(each.headers["x-ratelimit-remaining"]) for each in (first, second)]
    assert left == [4999, 4998]
    assert api.get("/rate_limit").json()["rate"]["remaining"] == 4998
    assert api.get("/rate_limit").json()["resources"]["graphql"]["remaining"] == 5000


def test_a_used_up_hour_refuses_until_it_is_over(api, hub: Hub) -> None:
    now = datetime(2026, 10, 19, tzinfo=UTC)
    hub.now = lambda: now
    hub.limits.quota["core"] = 1
    assert api.get(BASE).status_code == 200
    refused = api.comment()
    assert (refused.status_code, refused.headers["x-ratelimit-remaining"]) == (403, "0")
    assert int(refused.headers["x-ratelimit-reset"]) == int(now.timestamp()) + 3600
    hub.now = lambda: now + timedelta(hours=1)
    assert api.comment().status_code == 201


def test_writing_too_fast_is_refused_when_limits_are_enforced(api, hub: Hub, repo: Repository) -> None:
    now = datetime(2026, 10, 19, tzinfo=UTC)
    hub.now, hub.enforce_limits = lambda: now, True
    statuses = [api.comment().status_code for _ in range(82)]
    assert statuses == [201] * 80 + [403] * 2
    assert "secondary rate limit" in api.comment().json()["message"]
    assert api.get(BASE).status_code == 200
    hub.now = lambda: now + timedelta(seconds=60)
    assert api.comment().status_code == 201
    assert len(repo.comments(1)) == 81
