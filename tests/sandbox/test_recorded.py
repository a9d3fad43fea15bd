"""The embedded GitHub beside GitHub's own recorded answers: same members, same headers, same words."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from triagebot.sandbox import faults, refusals
from triagebot.sandbox.hub import Hub
from triagebot.sandbox.repository import Repository

RECORDED = Path(__file__).parents[2] / "../shared/recorded"
BASE = "/repos/octo/demo"

pytestmark = pytest.mark.skipif(not RECORDED.is_dir(), reason="GitHub's recorded answers are not beside this checkout")


@pytest.fixture(autouse=True)
def _an_issue(repo: Repository) -> None:
    repo.open_issue(title="It breaks", labels=["bug"])


def _octokit(name: str) -> list[dict[str, Any]]:
    return json.loads((RECORDED / f"{name}.normalized.json").read_text("utf-8"))


def _pygithub(name: str) -> list[tuple[int, dict[str, str], Any]]:
    """Status, headers and decoded body of each exchange; ten lines and an empty one for each."""
    lines = (RECORDED / f"{name}.txt").read_text("utf-8").split("\n")
    return [
        (
            int(lines[start + 7]),
            {key.lower(): value for key, value in ast.literal_eval(lines[start + 8])},
            json.loads(lines[start + 9] or "null"),
        )
        for start in range(0, len(lines) - 9, 11)
    ]


# What GitHub has added to its objects since these were recorded, or tells with one kind of answer only.
_SINCE = {"user_view_type", "closed_by", "status", "minimized", "pull_request"}


def _same_members(ours: Any, theirs: Any, at: str = "") -> None:
    if isinstance(theirs, dict) and isinstance(ours, dict):
        assert theirs.keys() - ours.keys() == set(), f"missing at {at or 'the top'}"
        assert ours.keys() - theirs.keys() <= _SINCE, f"more than recorded at {at or 'the top'}"
        for name, value in theirs.items():
            _same_members(ours[name], value, f"{at}.{name}")
    elif isinstance(theirs, list) and isinstance(ours, list):
        if theirs and ours:
            _same_members(ours[0], theirs[0], f"{at}[0]")
    elif theirs is not None and ours is not None:
        assert type(ours) is type(theirs), at


def test_an_issue_and_its_labels_have_the_recorded_members(api) -> None:
    created, added = (each["response"] for each in _octokit("add-labels-to-issue"))
    _same_members(api.get(f"{BASE}/issues/1").json(), created)
    _same_members(api.post(f"{BASE}/issues/1/labels", {"labels": ["Foo"]}).json(), added)
    _same_members(api.get(f"{BASE}/issues").json(), _octokit("paginate-issues")[0]["response"])
    _same_members(api.get(f"{BASE}/labels").json(), _octokit("labels")[0]["response"])


def test_a_label_that_came_into_being_looks_as_recorded(api) -> None:
    theirs = _octokit("add-labels-to-issue")[1]["response"][0]
    ours = api.post(f"{BASE}/issues/1/labels", {"labels": ["Foo"]}).json()[1]
    told = ("name", "color", "default", "description")
    assert {name: ours[name] for name in told} == {name: theirs[name] for name in told}


def test_links_between_pages_have_the_recorded_form(api, repo: Repository) -> None:
    """Which pages each page leads to, in which order, and under which address."""
    for number in range(2, 14):
        repo.open_issue(title=f"No. {number}")

    def plain(link: str) -> str:
        return re.sub(r"<[^>]*?/repositories/\d+", "<", link)

    for theirs in _octokit("paginate-issues"):
        path = theirs["path"].replace("/repos/octokit-fixture-org/paginate-issues", BASE)
        path = re.sub(r"^/repositories/\d+", f"/repositories/{repo.id}", path)
        link = api.get(path).headers["link"]
        assert f"<{api.url}/repositories/{repo.id}/issues?" in link
        assert plain(link) == plain(theirs["headers"]["link"])


def test_one_page_has_no_links(api) -> None:
    assert "link" not in api.get(f"{BASE}/labels").headers


def test_answers_have_the_recorded_headers(api) -> None:
    theirs = _octokit("paginate-issues")[0]["headers"]
    ours = {name.lower(): value for name, value in api.get(f"{BASE}/issues").headers.items()}
    told = {name for name in theirs if name.startswith(("x-ratelimit-", "x-github-")) or name == "date"}
    assert told <= ours.keys()
    assert ours["content-type"] == theirs["content-type"]
    assert ours["x-ratelimit-resource"] == theirs["x-ratelimit-resource"]


def test_a_rename_redirects_as_recorded(api, repo: Repository) -> None:
    repo.rename("octo/renamed")
    recorded = {each["method"]: each for each in _octokit("rename-repository") if each["status"] in (301, 307)}
    for answer, theirs in ((api.get(BASE), recorded["get"]), (api.comment(), recorded["patch"])):
        assert answer.status_code == theirs["status"]
        assert answer.json().keys() == theirs["response"].keys()
        assert answer.json()["message"] == theirs["response"]["message"]
        assert answer.json()["url"] == answer.headers["location"]
    assert api.get(BASE).headers["location"] == f"{api.url}/repositories/{repo.id}"


def test_a_new_comment_has_the_recorded_location_and_members(api) -> None:
    [(status, headers, theirs)] = _pygithub("Issue.testCreateComment")
    ours = api.comment()
    assert ours.status_code == status
    assert re.sub(r"\d+$", "N", headers["location"]).endswith("/issues/comments/N")
    assert re.sub(r"\d+$", "N", ours.headers["location"]).endswith("/issues/comments/N")
    assert theirs.keys() <= ours.json().keys()


def test_a_deleted_comment_leaves_an_empty_answer(api) -> None:
    [(status, _, body)] = _pygithub("IssueComment.testDelete")
    ours = api.delete(f"{BASE}/issues/comments/{api.comment().json()['id']}")
    assert (ours.status_code, ours.content, body) == (status, b"", None)


@pytest.mark.parametrize(
    ("recording", "place", "ask"),
    [
        ("Exceptions.testUnknownObject", 1, lambda api: api.get("/repos/no/body")),
        ("SpecificExceptions.testBadCredentials", 0, lambda api: api.get("/user", token="wrong")),
    ],
)
def test_refusals_have_the_recorded_words(api, recording: str, place: int, ask: Callable[[Any], Any]) -> None:
    status, _, body = _pygithub(recording)[place]
    ours = ask(api)
    assert (ours.status_code, ours.json()["message"]) == (status, body["message"])


def test_a_validation_error_has_the_recorded_form(api) -> None:
    [theirs] = _octokit("errors")
    ours = api.comment(body="x" * 70_000)
    assert ours.status_code == theirs["status"]
    assert ours.json()["message"] == theirs["response"]["message"]
    assert theirs["response"].keys() <= ours.json().keys()
    assert theirs["response"]["errors"][0].keys() <= ours.json()["errors"][0].keys()


def test_limits_have_the_recorded_words(api, hub: Hub) -> None:
    status, headers, body = _pygithub("SpecificExceptions.testAuthenticatedRateLimitExceeded")[-1]
    hub.faults.add(faults.secondary_limit(faults.ANY, old_words=True, retry_after=headers["retry-after"]))
    secondary = api.get(BASE)
    assert (secondary.status_code, secondary.json()["message"]) == (status, body["message"])
    status, headers, body = _pygithub("SpecificExceptions.testRateLimitExceeded")[-1]
    primary = refusals.primary_limit(reset=0)
    assert (primary.status, primary.headers["x-ratelimit-remaining"]) == (status, headers["x-ratelimit-remaining"])
    said, theirs = primary.json["message"].casefold(), body["message"].casefold()
    assert said.startswith("api rate limit exceeded for")
    assert theirs.startswith("api rate limit exceeded for")


def test_the_limits_overview_has_the_recorded_members(api) -> None:
    [(_, _, theirs)] = _pygithub("RateLimiting.testGetRateLimit")
    ours = api.get("/rate_limit").json()
    assert ours.keys() == theirs.keys()
    for resource, told in ours["resources"].items():
        assert told.keys() == theirs["resources"][resource].keys()


def test_graphql_pages_have_the_recorded_form(api, repo: Repository) -> None:
    page = _pygithub("GraphQl.testPaginationAndRestIntegration")[1][2]["data"]["repository"]["discussions"]
    ours = api.graphql("sweep", owner="octo", name="demo", first=1)["data"]["repository"]["issues"]
    assert ours["pageInfo"].keys() <= page["pageInfo"].keys()
    assert {type(ours["pageInfo"][name]) for name in ours["pageInfo"]} <= {str, bool}
