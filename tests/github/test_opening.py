"""What a night asks first: which repository, who are we, which labels; and what cannot work is said in one sentence."""

from __future__ import annotations

import pytest

from triagebot.core.actions import AddLabels
from triagebot.core.faults import Limited, Misconfigured, NotPermitted, Unclear
from triagebot.github.tracker import GitHubTracker
from triagebot.sandbox import faults
from triagebot.sandbox.hub import BOT, TOKEN


def _at(url, repo="octo/demo", token=TOKEN):
    return GitHubTracker(url, token, repo, timeout=1)


# --- the repository


def test_the_repository_is_told_as_it_is(hub, repo, github_url):
    found = _at(github_url, "OCTO/Demo").repository()
    assert (found.id, found.name, found.archived, found.issues_enabled) == (repo.id, "octo/demo", False, True)
    repo.archived, repo.issues_enabled, repo.private = True, False, True
    found = _at(github_url).repository()
    assert (found.archived, found.issues_enabled, found.private) == (True, False, True)


def test_a_persons_permission_is_told_and_an_apps_is_not(hub, repo, github_url):
    hub.add_token("personal", "person")
    repo.permissions["person"] = "READ"
    assert _at(github_url, token="personal").repository().permission == "READ"
    assert _at(github_url).repository().permission is None


def test_a_renamed_repository_is_found_once_and_called_by_its_new_name_from_then_on(hub, repo, github_url):
    repo.rename("octo/renamed")
    repo.open_issue(title="One")
    tracker = _at(github_url)
    assert tracker.repository().name == "octo/renamed"
    before = len(hub.requests)
    assert {label.name for label in tracker.labels()} == {label.name for label in repo.labels()}
    assert [issue.number for issue in tracker.sweep()] == [1]
    assert "bug" in tracker.send(AddLabels(issue=1, names=("bug",))).labels
    assert {seen.status for seen in hub.requests[before:]} == {200}


@pytest.mark.parametrize(
    ("fault", "kind", "told"),
    [
        (faults.answers(faults.ANY, 404, "Not Found"), Misconfigured, "octo/demo"),
        (faults.answers(faults.ANY, 401, "Bad credentials"), Misconfigured, "GITHUB_TOKEN"),
        (faults.html(faults.ANY, 200), Misconfigured, "/api/v3"),
        (faults.html(faults.ANY, 404), Misconfigured, "/api/v3"),
        (faults.redirects(faults.ANY, "https://ghe.example/login", 302), Misconfigured, "/api/v3"),
        (faults.redirects(faults.ANY, "https://elsewhere.example/repositories/1", 301), Misconfigured, "elsewhere"),
        (faults.redirects(faults.ANY, "", 301), Misconfigured, "without an end"),
        (faults.odd(faults.ANY, []), Misconfigured, "GITHUB_API_URL"),
        (faults.odd(faults.ANY, {"id": 1}), Misconfigured, "GITHUB_API_URL"),
        (faults.answers(faults.ANY, 403, "Repository access blocked"), Misconfigured, "blocked"),
        (faults.not_permitted(faults.ANY), NotPermitted, "issues: write"),
        (faults.dropped(faults.ANY), Misconfigured, "GITHUB_API_URL"),
        (faults.hangs(faults.ANY), Misconfigured, "GITHUB_API_URL"),
        (faults.secondary_limit(faults.ANY, retry_after="60"), Limited, "60 s"),
        (faults.answers(faults.ANY, 502), Unclear, "502"),
    ],
    ids=lambda value: getattr(value, "name", None),
)
def test_a_repository_that_cannot_be_resolved_ends_in_one_sentence(hub, repo, github_url, fault, kind, told):
    hub.faults.add(fault, times=None)
    with pytest.raises(kind, match=told) as caught:
        _at(github_url).repository()
    assert TOKEN not in str(caught.value)


def test_an_api_that_nobody_serves_is_named(closed_port):
    with pytest.raises(Misconfigured, match=f"127.0.0.1:{closed_port}.*GITHUB_API_URL"):
        _at(f"http://127.0.0.1:{closed_port}").repository()


@pytest.mark.parametrize("url", ["", "api.github.com", "ftp://api.github.com", "https://", "https://h:port"])
def test_an_address_that_is_none_is_refused(url):
    with pytest.raises(Misconfigured, match="GITHUB_API_URL"):
        _at(url)


@pytest.mark.parametrize("repo", ["", "demo", "a/b/c", "https://github.com/octo/demo", "octo/de mo", "octo/demo?x=1"])
def test_a_repository_that_is_none_is_refused(repo):
    with pytest.raises(Misconfigured, match="OWNER/NAME"):
        _at("https://api.github.com", repo)


@pytest.mark.parametrize("token", ["", "secret\n", "sec ret", "sécret"])
def test_a_token_that_no_header_could_carry_is_refused_and_not_shown(token):
    with pytest.raises(Misconfigured, match="GITHUB_TOKEN") as caught:
        _at("https://api.github.com", token=token)
    assert not token or token not in str(caught.value)


def test_the_token_is_in_no_repr(github_url, tracker):
    assert TOKEN not in repr(tracker)


@pytest.mark.parametrize(
    ("base_url", "graphql"),
    [
        ("https://api.github.com", "https://api.github.com/graphql"),
        ("https://ghe.example/api/v3", "https://ghe.example/api/graphql"),
        ("https://ghe.example/api/v3/", "https://ghe.example/api/graphql"),
        ("https://api.octo.ghe.com", "https://api.octo.ghe.com/graphql"),
    ],
)
def test_graphql_stands_beside_the_rest_api(base_url, graphql):
    assert _at(base_url)._line.graphql == graphql


# --- who we are


def test_the_account_is_told_by_name_and_number(hub, tracker, github_url):
    me = tracker.identity()
    assert (me.login, me.id) == (BOT, hub.account(BOT).id)
    assert tracker.account == (github_url.removeprefix("http://"), BOT)


@pytest.mark.parametrize(
    "fault",
    [
        faults.answers(faults.GRAPHQL, 401, "Bad credentials"),
        faults.answers(faults.GRAPHQL, 404, "Not Found"),
        faults.answers(faults.GRAPHQL, 502),
        faults.odd(faults.GRAPHQL, {"data": {"viewer": None}}),
        faults.odd(faults.GRAPHQL, {"data": {"viewer": {"login": None}}}),
        faults.html(faults.GRAPHQL),
        faults.cut_json(faults.GRAPHQL),
        faults.dropped(faults.GRAPHQL),
    ],
    ids=lambda fault: fault.name,
)
def test_who_cannot_be_told_does_not_write(hub, repo, github_url, fault):
    hub.faults.add(fault, times=None)
    with pytest.raises(Misconfigured, match="which account the token writes as"):
        _at(github_url).identity()


def test_a_limit_on_the_way_is_still_a_limit(hub, repo, github_url):
    hub.faults.add(faults.graphql_limit(reset=int(hub.now().timestamp()) + 600), times=None)
    with pytest.raises(Limited) as caught:
        _at(github_url).identity()
    assert caught.value.primary
    assert 590 <= caught.value.seconds <= 600
    assert len(hub.requests) == 1


def test_one_bad_gateway_does_not_end_the_night(hub, repo, github_url):
    hub.faults.add(faults.answers(faults.ANY, 502))
    hub.faults.add(faults.answers(faults.GRAPHQL, 502))
    tracker = _at(github_url)
    assert tracker.repository().id == repo.id
    assert tracker.identity().login == BOT


# --- labels


def test_all_labels_are_read_page_by_page(hub, repo, tracker):
    for number in range(230):
        repo.add_label(f"area: {number:03}", "what it means")
    before = len(hub.requests)
    labels = tracker.labels()
    assert len(labels) == len(repo.labels()) > 230
    assert {label.name: label.description for label in labels}["area: 229"] == "what it means"
    assert {label.name: label.description for label in labels}["bug"] == "Something is broken"
    assert [seen.path for seen in hub.requests[before:]] == [
        "/repos/octo/demo/labels",
        f"/repositories/{repo.id}/labels",
        f"/repositories/{repo.id}/labels",
    ]


def test_a_failed_page_of_labels_is_an_error_and_no_shorter_list(hub, repo, tracker):
    for number in range(130):
        repo.add_label(f"area: {number:03}")
    hub.faults.add(faults.cut_json(faults.GET_LABELS), skip=1)
    with pytest.raises(Unclear):
        tracker.labels()


@pytest.mark.parametrize(
    ("link", "kind"),
    [
        ('<HERE/repos/octo/demo/labels?page=1>; rel="next"', Unclear),
        ('<https://elsewhere.example/labels?page=2>; rel="next"', Misconfigured),
        ('<http://127.0.0.1:9/labels?page=2>; rel="next"', Misconfigured),
        ('<https://blog.example/deprecated>; rel="deprecation"; type="text/html"', None),
        ("garbage", None),
    ],
)
def test_page_links_neither_loop_nor_lead_the_token_away(plug, link, kind):
    plug.script = [plug.says(200, {"id": 1, "full_name": "octo/demo"}), plug.says(200, [{"name": "bug"}], link=link)]
    tracker = _at(plug.url)
    if kind is None:
        assert [label.name for label in tracker.labels()] == ["bug"]
    else:
        with pytest.raises(kind):
            tracker.labels()
    assert len(plug.asked) <= 101


@pytest.mark.parametrize("body", [{}, [{"name": None}], [1], "<html>", '[{"name": "b'])
def test_labels_of_another_shape_are_not_believed(plug, body):
    plug.script = [plug.says(200, {"id": 1, "full_name": "octo/demo"}), plug.says(200, body)]
    with pytest.raises(Unclear):
        _at(plug.url).labels()
