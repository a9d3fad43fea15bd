"""Each fault does what it says: what is stored, and what the client meets."""

from __future__ import annotations

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import pytest
import requests

from triagebot.sandbox import faults
from triagebot.sandbox.faults import POST_COMMENT, On
from triagebot.sandbox.hub import Hub
from triagebot.sandbox.repository import Repository


@pytest.fixture(autouse=True)
def _an_issue(repo: Repository) -> None:
    repo.open_issue(title="It breaks")


def _stored(repo: Repository) -> int:
    return len(repo.comments(1))


# --- answered, but not as it was


@pytest.mark.parametrize("status", [500, 502, 503, 504])
def test_stored_then_an_error(api, repo: Repository, hub: Hub, status: int) -> None:
    hub.faults.add(faults.stored_then(POST_COMMENT, status))
    assert (api.comment().status_code, _stored(repo)) == (status, 1)
    assert (api.comment().status_code, _stored(repo)) == (201, 2)


def test_an_answer_only_stores_nothing(api, repo: Repository, hub: Hub) -> None:
    hub.faults.add(faults.answers(POST_COMMENT, 403, "Some new reason"))
    answer = api.comment()
    assert (answer.status_code, answer.json()["message"], _stored(repo)) == (403, "Some new reason", 0)


def test_cut_json_keeps_status_and_store(api, repo: Repository, hub: Hub) -> None:
    hub.faults.add(faults.cut_json(POST_COMMENT))
    answer = api.comment()
    assert (answer.status_code, _stored(repo)) == (201, 1)
    with pytest.raises(ValueError, match=r"Unterminated|Expecting"):
        answer.json()


def test_cut_json_of_a_read(api, hub: Hub) -> None:
    hub.faults.add(faults.cut_json(faults.LOOK))
    answer = api.post("/graphql", {"query": 'query Look { repository(owner: "octo", name: "demo") { id } }'})
    with pytest.raises(ValueError, match=r"Unterminated|Expecting"):
        answer.json()


def test_an_odd_answer(api, repo: Repository, hub: Hub) -> None:
    hub.faults.add(faults.odd(POST_COMMENT, {}))
    hub.faults.add(faults.odd(POST_COMMENT, [], status=200, stored=False))
    first, second = api.comment(), api.comment()
    assert [(each.status_code, each.json()) for each in (first, second)] == [(201, {}), (200, [])]
    assert _stored(repo) == 1


def test_a_changed_answer_lacks_an_id_or_names_another_issue(api, repo: Repository, hub: Hub) -> None:
    hub.faults.add(faults.changed(POST_COMMENT, {"id": None}))
    hub.faults.add(faults.changed(POST_COMMENT, {"issue_url": "http://elsewhere/repos/o/r/issues/9"}))
    first, second = api.comment().json(), api.comment().json()
    assert "id" not in first
    assert first["body"] == "A comment"
    assert second["issue_url"].endswith("/issues/9")
    assert _stored(repo) == 2


def test_a_page_instead_of_json(api, repo: Repository, hub: Hub) -> None:
    hub.faults.add(faults.html(POST_COMMENT))
    hub.faults.add(faults.html(POST_COMMENT, 502, stored=True))
    for status, stored in ((200, 0), (502, 1)):
        answer = api.comment()
        assert (answer.status_code, _stored(repo)) == (status, stored)
        assert answer.headers["content-type"].startswith("text/html")
        assert answer.text.startswith("<html>")


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_redirects(api, repo: Repository, hub: Hub, status: int) -> None:
    hub.faults.add(faults.redirects(POST_COMMENT, "http://127.0.0.1:9/elsewhere", status))
    answer = api.comment()
    assert (answer.status_code, answer.headers["location"]) == (status, "http://127.0.0.1:9/elsewhere")
    assert _stored(repo) == 0


# --- limits


@pytest.mark.parametrize("status", [403, 429])
@pytest.mark.parametrize("old_words", [False, True])
@pytest.mark.parametrize("retry_after", [None, "7200", "soon", faults.http_date(datetime(2026, 10, 19, tzinfo=UTC))])
def test_secondary_limits(api, repo, hub, status, old_words, retry_after) -> None:
    hub.faults.add(faults.secondary_limit(POST_COMMENT, status=status, old_words=old_words, retry_after=retry_after))
    answer = api.comment()
    assert (answer.status_code, answer.headers.get("retry-after"), _stored(repo)) == (status, retry_after, 0)
    assert ("abuse detection" if old_words else "secondary rate limit") in answer.json()["message"]
    assert int(answer.headers["x-ratelimit-remaining"]) > 0


def test_a_date_has_the_form_of_http() -> None:
    assert faults.http_date(datetime(2026, 10, 19, 7, 30, tzinfo=UTC)) == "Mon, 19 Oct 2026 07:30:00 GMT"


def test_primary_limits(api, repo: Repository, hub: Hub) -> None:
    hub.faults.add(faults.primary_limit(POST_COMMENT, reset=1_800_000_000))
    answer = api.comment()
    told = {name: answer.headers[f"x-ratelimit-{name}"] for name in ("remaining", "reset", "resource")}
    assert told == {"remaining": "0", "reset": "1800000000", "resource": "core"}
    assert (answer.status_code, _stored(repo)) == (403, 0)


def test_graphql_says_its_limit_with_status_200(api, hub: Hub) -> None:
    hub.faults.add(faults.graphql_limit(reset=1_800_000_000))
    answer = api.post("/graphql", {"query": "{ viewer { login } }"})
    assert (answer.status_code, answer.headers["x-ratelimit-reset"]) == (200, "1800000000")
    assert answer.json()["errors"][0]["type"] == "RATE_LIMITED"


def test_partial_data_has_an_error_beside_it(api, hub: Hub) -> None:
    hub.faults.add(faults.graphql_error(type="FORBIDDEN"))
    answer = api.graphql("viewer")
    assert answer["data"]["viewer"]["login"]
    assert answer["errors"] == [{"message": "Something went wrong", "type": "FORBIDDEN"}]


def test_a_token_may_lose_its_permission(api, repo: Repository, hub: Hub) -> None:
    hub.faults.add(faults.not_permitted(faults.ADD_LABELS), times=None)
    answer = api.post("/repos/octo/demo/issues/1/labels", {"labels": ["bug"]})
    assert (answer.status_code, answer.json()["message"]) == (403, "Resource not accessible by integration")
    assert repo.issue(1).labels == []


# --- cut and hanging connections


def test_a_drop_before_stores_nothing_and_one_after_stores(api, repo: Repository, hub: Hub) -> None:
    hub.faults.add(faults.dropped(POST_COMMENT))
    hub.faults.add(faults.stored_then_dropped(POST_COMMENT))
    for stored in (0, 1):
        with pytest.raises(requests.ConnectionError, match=r"closed connection|reset"):
            api.comment()
        assert _stored(repo) == stored
    assert [seen.status for seen in hub.requests] == [None, None]
    assert [seen.carried_out for seen in hub.requests] == [False, True]


def test_a_drop_halfway_leaves_half_of_the_promised_body(api, repo: Repository, hub: Hub) -> None:
    hub.faults.add(faults.dropped_halfway(POST_COMMENT))
    answer = api.comment(stream=True)
    assert answer.status_code == 201
    with pytest.raises(requests.exceptions.ChunkedEncodingError, match="Connection broken"):
        answer.content  # noqa: B018
    assert _stored(repo) == 1


@pytest.mark.parametrize(("fault", "stored"), [(faults.hangs, 0), (faults.stored_then_hangs, 1)])
def test_a_client_that_gives_up_meets_a_timeout(api, repo: Repository, hub: Hub, fault, stored: int) -> None:
    armed = hub.faults.add(fault(POST_COMMENT))
    with pytest.raises(requests.ReadTimeout):
        api.comment(timeout=0.2)
    assert armed.reached.is_set()
    assert api.comment().status_code == 201  # the server is well
    assert _stored(repo) == stored + 1


@pytest.mark.parametrize("fault", [faults.hangs, faults.stored_then_hangs])
def test_what_hangs_goes_on_when_released(api, repo: Repository, hub: Hub, fault) -> None:
    armed = hub.faults.add(fault(POST_COMMENT))
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(api.comment)
        assert armed.reached.wait(5)
        armed.release()
        assert answer.result(5).status_code == 201
    assert _stored(repo) == 1


def test_a_late_write_is_stored_long_after_its_client_gave_up(api, repo: Repository, hub: Hub) -> None:
    stored = threading.Event()
    hub.on_stored = lambda call: stored.set()
    armed = hub.faults.add(faults.carried_out_late(POST_COMMENT))
    with pytest.raises(requests.ReadTimeout):
        api.comment(timeout=0.2)
    assert _stored(repo) == 0
    armed.release()
    assert stored.wait(5)
    assert _stored(repo) == 1


# --- which and how often


def test_a_fault_meets_as_many_requests_as_it_is_told(api, hub: Hub) -> None:
    armed = hub.faults.add(faults.answers(POST_COMMENT, 500), times=2, skip=1)
    assert [api.comment().status_code for _ in range(5)] == [201, 500, 500, 201, 201]
    assert armed.hits == 2


def test_a_fault_may_stay_until_it_is_cleared(api, hub: Hub) -> None:
    hub.faults.add(faults.answers(faults.ANY_WRITE, 500), times=None)
    assert [api.comment().status_code for _ in range(3)] == [500] * 3
    assert api.get("/repos/octo/demo").status_code == 200
    hub.faults.clear()
    assert api.comment().status_code == 201


@pytest.mark.parametrize(
    ("on", "met"),
    [
        (faults.ANY, ["get", "comment", "labels", "look", "minimize"]),
        (faults.ANY_WRITE, ["comment", "labels", "minimize"]),
        (faults.ANY_READ, ["get", "look"]),
        (faults.GET_REPOSITORY, ["get"]),
        (faults.POST_COMMENT, ["comment"]),
        (faults.ADD_LABELS, ["labels"]),
        (faults.GRAPHQL, ["look", "minimize"]),
        (faults.LOOK, ["look"]),
        (faults.MINIMIZE, ["minimize"]),
        (On(method="POST", path="/graphql", operation="Look"), ["look"]),
        (On(when=lambda call: b"A comment" in call.body), ["comment"]),
        (On(method="PUT"), []),
    ],
)
def test_a_fault_meets_only_what_fits(api, hub: Hub, on: On, met: list[str]) -> None:
    hub.faults.add(faults.answers(on, 418), times=None)
    asks = {
        "get": lambda: api.get("/repos/octo/demo"),
        "comment": api.comment,
        "labels": lambda: api.post("/repos/octo/demo/issues/1/labels", {"labels": ["bug"]}),
        "look": lambda: api.post("/graphql", {"query": "# a remark\nquery Look { viewer { login } }"}),
        "minimize": lambda: api.post(
            "/graphql",
            {
                "query": 'mutation Minimize { minimizeComment(input: {subjectId: "x", classifier: SPAM}) '
                "{ clientMutationId } }"
            },
        ),
    }
    assert [name for name, ask in asks.items() if ask().status_code == 418] == met


def test_every_maker_can_be_named_from_another_process(api, hub: Hub) -> None:
    assert {"stored_then", "hangs", "secondary_limit", "odd"} <= faults.MAKERS.keys()
    assert all(name == maker.__name__ for name, maker in faults.MAKERS.items())
    sent = {"kind": "stored_then", "on": {"method": "POST"}, "args": {"status": 503}, "times": 1}
    assert api.post("/_sandbox/faults", sent).status_code == 201
    assert api.comment().status_code == 503
    assert json.loads(hub.requests[-1].body) == {"body": "A comment"}
