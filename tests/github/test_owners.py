"""Which repositories of an owner are worked on: read to the end, believed only whole, and only what may be written."""

from __future__ import annotations

from typing import Any

import pytest

from tests.github.conftest import Plug
from triagebot.core.faults import Limited, Misconfigured, NotPermitted, Unclear
from triagebot.github import owners
from triagebot.sandbox import faults
from triagebot.sandbox.arming import On
from triagebot.sandbox.hub import BOT, TOKEN, Hub

LISTED = On(method="GET", path="/installation/repositories")


def page(*nodes: object, following: str | None = None) -> dict[str, Any]:
    info = {"hasNextPage": following is not None, "endCursor": following}
    return {"data": {"repositoryOwner": {"repositories": {"nodes": [*nodes], "pageInfo": info}}}}


def node(name: str, permission: str | None = "WRITE", **more: object) -> dict[str, object]:
    return {"nameWithOwner": name, "isArchived": False, "hasIssuesEnabled": True, "viewerPermission": permission} | more


@pytest.mark.parametrize("permission", ["ADMIN", "MAINTAIN", "WRITE", "TRIAGE"])
def test_whoever_may_label_may_work_on_it(plug: Plug, permission: str) -> None:
    plug.script = [plug.says(200, page(node("o/b", permission), node("o/a", "READ"), node("o/c", None)))]
    assert owners.repositories(plug.url, TOKEN, "o", timeout=2) == ["o/b"]


def test_a_server_that_does_not_know_the_filters_is_filtered_here(plug: Plug) -> None:
    told = page(node("o/old", isArchived=True), node("o/code", hasIssuesEnabled=False), node("o/a"))
    plug.script = [plug.says(200, told)]
    assert owners.repositories(plug.url, TOKEN, "o", timeout=2) == ["o/a"]


def test_every_page_is_read_and_names_come_in_order(plug: Plug) -> None:
    plug.script = [plug.says(200, page(node("o/B"), following="x")), plug.says(200, page(node("o/a")))]
    assert owners.repositories(plug.url, TOKEN, "o", timeout=2) == ["o/a", "o/B"]
    assert len(plug.asked) == 2


@pytest.mark.parametrize(
    ("told", "fault", "sentence"),
    [
        ({"data": {"repositoryOwner": None}}, Misconfigured, "knows no organisation of that name"),
        (page(), Misconfigured, "no repository that takes issues and that the token may write to"),
        (page(node("no name at all")), Unclear, "not believed"),
        (page(None), Unclear, "not believed"),
        ({"data": {"repositoryOwner": {}}}, Unclear, "not believed"),
    ],
)
def test_what_cannot_be_believed_is_a_failed_read(
    plug: Plug, told: dict[str, Any], fault: type[Exception], sentence: str
) -> None:
    plug.script = [plug.says(200, told)]
    with pytest.raises(fault, match=sentence):
        owners.repositories(plug.url, TOKEN, "o", timeout=2)


def test_the_same_page_twice_is_not_believed(plug: Plug) -> None:
    plug.script = [plug.says(200, page(node("o/a"), following="x"))]
    with pytest.raises(Unclear):
        owners.repositories(plug.url, TOKEN, "o", timeout=2)


# --- an installation


def test_an_installation_is_told_its_own_over_all_pages(hub: Hub, github_url: str) -> None:
    hub.add_token("ghs_x", BOT)
    for n in range(130):
        hub.create_repository(f"octo/r{n:03}")
    hub.create_repository("octo/old", archived=True)
    hub.create_repository("octo/code", issues_enabled=False)
    hub.create_repository("other/one")
    found = owners.repositories(github_url, "ghs_x", "Octo", timeout=2)
    assert found == ["octo/demo", *(f"octo/r{n:03}" for n in range(130))]
    assert len(hub.requests) == 2


@pytest.mark.parametrize(
    ("harm", "fault"),
    [
        (faults.not_permitted(LISTED), NotPermitted),
        (faults.primary_limit(LISTED, reset=2_000_000_000), Limited),
        (faults.odd(LISTED, {"repositories": []}), Unclear),
        (faults.odd(LISTED, {"total_count": 1, "repositories": [{"id": "x"}]}), Unclear),
        (faults.html(LISTED), Unclear),
    ],
)
def test_its_refusals_have_their_names(hub: Hub, github_url: str, harm: Any, fault: type[Exception]) -> None:
    hub.add_token("ghs_x", BOT)
    hub.faults.add(harm, times=None)
    with pytest.raises(fault):
        owners.repositories(github_url, "ghs_x", "octo", timeout=2)
