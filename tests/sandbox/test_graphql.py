"""The embedded GitHub's GraphQL side, asked by the documents that triagebot sends."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from triagebot.sandbox.hub import BOT, Hub
from triagebot.sandbox.repository import Repository

ISSUES = """{
  repository(owner: "octo", name: "demo") {
    issuesARGUMENTS { totalCount nodes { number } pageInfo { startCursor } }
  }
}"""


def _errors(answer) -> list[tuple[str, list]]:
    return [(error["type"], error["path"]) for error in answer["errors"]]


def test_the_viewer_has_the_bots_full_name_and_an_actor_has_not(api, hub: Hub, repo: Repository) -> None:
    repo.open_issue(title="x")
    api.comment()
    assert api.graphql("viewer")["data"]["viewer"] == {"login": BOT, "databaseId": hub.account(BOT).id}
    [comment] = api.look()["data"]["repository"]["issue"]["comments"]["nodes"]
    assert comment["author"] == {"__typename": "Bot", "login": "triagebot-app", "databaseId": hub.account(BOT).id}


def test_the_sweep_walks_every_open_issue_once_oldest_first(api, repo: Repository) -> None:
    for number in range(1, 8):
        repo.open_issue(title=f"No. {number}", created_at=datetime(2026, 10, 19 - number, tzinfo=UTC))
    repo.open_pull_request(title="No issue")
    repo.close(3)
    seen, after = [], None
    while True:
        page = api.graphql("sweep", owner="octo", name="demo", first=2, after=after)["data"]["repository"]["issues"]
        seen += [node["number"] for node in page["nodes"]]
        after = page["pageInfo"]["endCursor"]
        if len(seen) == 2:
            repo.close(seen[0])  # a row that goes must not shift the pages behind it
        if not page["pageInfo"]["hasNextPage"]:
            break
    assert seen == [7, 6, 5, 4, 2, 1]


def test_nested_lists_are_cut_where_asked_and_go_on_from_their_cursor(api, repo: Repository) -> None:
    issue = repo.open_issue(title="Busy")
    for number in range(130):
        repo.comment(1, f"No. {number}")
        repo.label(1, f"label {number}")
    shown = api.look()["data"]["repository"]["issue"]
    assert [len(shown[name]["nodes"]) for name in ("labels", "comments", "timelineItems")] == [100, 50, 50]
    for name, document in (("labels", "labels"), ("comments", "comments"), ("timelineItems", "events")):
        assert shown[name]["pageInfo"]["hasNextPage"]
        more = api.graphql(document, id=issue.node, after=shown[name]["pageInfo"]["endCursor"])["data"]["node"][name]
        assert len(more["nodes"]) == (30 if name == "labels" else 80)
        assert not more["pageInfo"]["hasNextPage"]


def test_events_tell_who_did_what_in_order_of_time(api, repo: Repository) -> None:
    repo.open_issue(title="x", labels=["bug"], labelled_by="reporter")
    repo.unlabel(1, "bug", by="triager")
    made = repo.comment(1, "Gone soon", by=BOT)
    repo.delete_comment(made.id, by="moderator")
    repo.close(1)
    events = api.look()["data"]["repository"]["issue"]["timelineItems"]["nodes"]
    assert [(event["__typename"], event["actor"]["login"]) for event in events] == [
        ("LabeledEvent", "reporter"),
        ("UnlabeledEvent", "triager"),
        ("CommentDeletedEvent", "moderator"),
    ]
    assert events[2]["deletedCommentAuthor"]["login"] == "triagebot-app"
    assert [event["label"]["name"] for event in events[:2]] == ["bug", "bug"]


def test_an_id_beyond_32_bits_is_told_in_full_only(api, hub: Hub, repo: Repository) -> None:
    repo.open_issue(title="x")
    large = api.comment().json()["id"]
    hub.count_from("comment", 7)
    api.comment()
    small, first = api.look()["data"]["repository"]["issue"]["comments"]["nodes"]
    assert (first["databaseId"], first["fullDatabaseId"]) == (None, str(large))
    assert (small["databaseId"], small["fullDatabaseId"]) == (7, "7")


def test_who_wrote_a_comment_depends_on_who_asks(api, hub: Hub, repo: Repository) -> None:
    repo.open_issue(title="x")
    hub.add_token("other", "other-app[bot]")
    api.comment()
    for token, own in (("sandbox-token", True), ("other", False)):
        [comment] = api.look(token=token)["data"]["repository"]["issue"]["comments"]["nodes"]
        assert comment["viewerDidAuthor"] is own


def test_a_renamed_account_is_still_the_author(api, hub: Hub, repo: Repository) -> None:
    repo.open_issue(title="x")
    api.comment()
    hub.rename_account(BOT, "better-name[bot]")
    [comment] = api.look()["data"]["repository"]["issue"]["comments"]["nodes"]
    assert (comment["viewerDidAuthor"], comment["author"]["login"]) == (True, "better-name")


def test_an_edit_names_its_editor(api, repo: Repository) -> None:
    repo.open_issue(title="x")
    made = api.comment().json()
    repo.edit_comment(made["id"], "Mended", by="maintainer")
    [comment] = api.look()["data"]["repository"]["issue"]["comments"]["nodes"]
    assert (comment["editor"]["login"], comment["body"]) == ("maintainer", "Mended")
    assert comment["lastEditedAt"] is not None


def test_deleted_accounts_are_null(api, hub: Hub, repo: Repository) -> None:
    repo.open_issue(title="x", author="leaver", labels=["bug"])
    hub.delete_account("leaver")
    issue = api.look()["data"]["repository"]["issue"]
    assert issue["author"] is None
    assert issue["timelineItems"]["nodes"][0]["actor"] is None


def test_a_null_body_is_empty_here(api, repo: Repository) -> None:
    repo.open_issue(title="x", body=None)
    assert api.look()["data"]["repository"]["issue"]["body"] == ""


def test_a_lagging_list_still_answers_by_node(api, hub: Hub, repo: Repository) -> None:
    now = datetime(2026, 10, 19, tzinfo=UTC)
    hub.now, hub.listing_lag = lambda: now, 5
    repo.open_issue(title="x")
    made = api.comment().json()
    answer = api.look(recorded=(made["node_id"],))["data"]
    assert answer["repository"]["issue"]["comments"]["nodes"] == []
    assert answer["nodes"][0]["fullDatabaseId"] == str(made["id"])
    hub.now = lambda: now + timedelta(seconds=5)
    assert len(api.look()["data"]["repository"]["issue"]["comments"]["nodes"]) == 1


# --- how it says no


def test_what_is_not_there_is_null_with_an_error_at_its_place(api, repo: Repository) -> None:
    made = repo.open_issue(title="x")
    answer = api.look(recorded=("IC_gone", made.node))
    assert answer["data"]["nodes"][0] is None
    assert answer["data"]["nodes"][1] == {"__typename": "Issue"}
    assert _errors(answer) == [("NOT_FOUND", ["nodes", 0])]
    assert _errors(api.look(77)) == [("NOT_FOUND", ["repository", "issue"])]
    assert _errors(api.graphql("sweep", owner="octo", name="no", first=1)) == [("NOT_FOUND", ["repository"])]
    assert _errors(api.graphql("comment", id="IC_gone")) == [("NOT_FOUND", ["node"])]


def test_pull_requests_deleted_and_transferred_issues_are_not_found_by_number(api, hub: Hub, repo: Repository) -> None:
    hub.create_repository("octo/other")
    repo.open_pull_request(title="A change")
    nodes = [repo.open_issue(title=title).node for title in ("Deleted", "Moved")]
    repo.delete_issue(2)
    repo.transfer_issue(3, "octo/other")
    for number in (1, 2, 3):
        assert _errors(api.look(number)) == [("NOT_FOUND", ["repository", "issue"])]
    assert api.graphql("look_again", ids=nodes)["data"]["nodes"] == [None, None]


def test_a_renamed_repository_is_followed(api, repo: Repository) -> None:
    repo.open_issue(title="x")
    repo.rename("octo/renamed")
    assert api.look()["data"]["repository"]["issue"]["repository"]["databaseId"] == repo.id


def test_a_repository_without_issues_has_none(api, repo: Repository) -> None:
    repo.open_issue(title="x")
    repo.issues_enabled = False
    answer = api.graphql("sweep", owner="octo", name="demo", first=9)
    assert answer["data"]["repository"]["issues"]["nodes"] == []


def test_a_private_repository_does_not_exist_for_strangers(api, hub: Hub, repo: Repository) -> None:
    issue = repo.open_issue(title="x")
    repo.private, repo.permission = True, "NONE"
    assert _errors(api.look()) == [("NOT_FOUND", ["repository"])]
    assert _errors(api.graphql("look_again", ids=[issue.node])) == [("NOT_FOUND", ["nodes", 0])]


@pytest.mark.parametrize(
    ("arguments", "kind"),
    [
        ("", "MISSING_PAGINATION_BOUNDARIES"),
        ("(first: 101)", "EXCESSIVE_PAGINATION"),
        ("(last: 101)", "EXCESSIVE_PAGINATION"),
        ('(first: 1, after: "rubbish")', "INVALID_CURSOR_ARGUMENTS"),
    ],
)
def test_a_list_must_be_bounded(api, arguments: str, kind: str) -> None:
    answer = api.graphql(ISSUES.replace("ARGUMENTS", arguments))
    assert _errors(answer) == [(kind, ["repository", "issues"])]
    assert answer["data"] == {"repository": None}


def test_lists_can_be_read_from_the_end(api, repo: Repository) -> None:
    for number in range(5):
        repo.open_issue(title=f"No. {number + 1}")

    def page(arguments: str) -> Any:
        return api.graphql(ISSUES.replace("ARGUMENTS", f"({arguments})"))["data"]["repository"]["issues"]

    last = page("last: 2")
    assert [node["number"] for node in last["nodes"]] == [4, 5]
    before = page(f'last: 9, before: "{last["pageInfo"]["startCursor"]}"')
    assert [node["number"] for node in before["nodes"]] == [1, 2, 3]
    assert page("first: 1, orderBy: {field: CREATED_AT, direction: DESC}")["nodes"] == [{"number": 5}]


def test_a_hundred_nodes_at_once_and_no_more(api, repo: Repository) -> None:
    ids = [repo.open_issue(title="x").node for _ in range(100)]
    assert len(api.graphql("look_again", ids=ids)["data"]["nodes"]) == 100
    assert api.graphql("look_again", ids=[*ids, ids[0]])["errors"][0]["type"] == "ARGUMENT_LIMIT"


def test_a_document_that_is_wrong_is_refused_with_status_200(api, off_contract) -> None:
    answer = api.post("/graphql", {"query": "fragment F on Label { name } query { viewer { login } }"})
    assert answer.status_code == 200
    assert "never used" in answer.json()["errors"][0]["message"]
    assert "data" not in answer.json()
    assert api.post("/graphql", {"query": "query {"}).json()["errors"]
    assert api.post("/graphql", {"query": 7}).status_code == 400
    assert api.post("/graphql", data=b"{").status_code == 400


def test_minimizing_hides_and_is_a_write(api, hub: Hub, repo: Repository) -> None:
    repo.open_issue(title="x")
    made = api.comment().json()
    answer = api.graphql("minimize", id=made["node_id"])
    assert answer["data"]["minimizeComment"]["minimizedComment"] == {"isMinimized": True}
    assert repo.comments(1)[0].minimized == "duplicate"
    assert api.get(f"/repos/octo/demo/issues/comments/{made['id']}").json()["minimized"] == {"reason": "duplicate"}
    assert [(seen.method, seen.operation) for seen in hub.writes()] == [("POST", None), ("POST", "Minimize")]


def test_minimizing_needs_the_right_and_a_comment(api, hub: Hub, repo: Repository) -> None:
    issue = repo.open_issue(title="x")
    node = repo.comment(1, "Hello").node
    hub.add_token("reader", BOT, write=False)
    assert _errors(api.graphql("minimize", token="reader", id=node)) == [("FORBIDDEN", ["minimizeComment"])]
    assert _errors(api.graphql("minimize", id="IC_gone")) == [("NOT_FOUND", ["minimizeComment"])]
    assert _errors(api.graphql("minimize", id=issue.node)) == [("UNPROCESSABLE", ["minimizeComment"])]
    assert repo.comments(1)[0].minimized is None


def test_reactions_are_told_of_a_comment_that_is_asked_alone(api, repo: Repository) -> None:
    repo.open_issue(title="x")
    made = api.comment().json()
    repo.react(made["id"], "heart", by="somebody")
    assert api.graphql("comment", id=made["node_id"])["data"]["node"]["reactions"] == {"totalCount": 1}
    assert api.get(f"/repos/octo/demo/issues/comments/{made['id']}").json()["reactions"]["heart"] == 1


def test_the_hour_of_graphql_is_counted_apart(api, hub: Hub) -> None:
    hub.limits.quota["graphql"] = 1
    api.graphql("viewer")
    refused = api.graphql("viewer")
    assert refused["errors"][0]["type"] == "RATE_LIMITED"
    assert api.get("/rate_limit").json()["rate"]["remaining"] == 5000


def test_a_list_may_be_narrowed_to_what_changed_at_or_after_a_time(api, hub: Hub, repo: Repository) -> None:
    for day in (1, 2, 3, 4):
        repo.open_issue(title=f"No. {day}", created_at=datetime(2026, 10, day, tzinfo=UTC))
    hub.now = lambda: datetime(2026, 10, 9, tzinfo=UTC)
    repo.close(1)

    def listed(narrowed: dict[str, object] | None) -> list[int]:
        order = {"field": "UPDATED_AT", "direction": "ASC"}
        answer = api.graphql("history", owner="octo", name="demo", first=9, order=order, filter=narrowed)
        return [node["number"] for node in answer["data"]["repository"]["issues"]["nodes"]]

    assert listed(None) == [2, 3, 4, 1]
    assert listed({"since": "2026-10-03T00:00:00Z"}) == [3, 4, 1]
    assert listed({"since": "2026-10-03T00:00:00Z", "states": ["OPEN"]}) == [3, 4]
    assert listed({"since": "2026-10-10T00:00:00Z"}) == []
