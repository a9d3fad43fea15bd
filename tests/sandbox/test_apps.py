"""GitHub Apps in the embedded GitHub: who may have a token, for what, and for how long."""

from __future__ import annotations

import time
from datetime import timedelta
from typing import Any

import jwt
import pytest

from tests.keys import rsa_pair
from triagebot.sandbox.apps import App
from triagebot.sandbox.hub import BOT, Hub
from triagebot.sandbox.repository import Repository

HERE = "/repos/octo/demo/installation"


@pytest.fixture
def app(hub: Hub, repo: Repository) -> App:
    return hub.apps.add(BOT, rsa_pair().public, repo.full_name)


def signed(app: App, *, key: str = "", algorithm: str = "RS256", **claims: Any) -> str:
    now = int(time.time())
    given = {"iss": str(app.id), "iat": now - 60, "exp": now + 300} | claims
    return jwt.encode(given, key or rsa_pair().private, algorithm=algorithm)


def mint(api, app: App, body: Any = None, **claims: Any) -> Any:
    return api.post(f"/app/installations/{app.installation}/access_tokens", body, token=signed(app, **claims))


def test_a_token_acts_as_the_apps_bot_until_its_end(api, hub: Hub, app: App, repo: Repository) -> None:
    repo.open_issue(title="x")
    answer = mint(api, app)
    assert answer.status_code == 201
    token = answer.json()["token"]
    assert api.comment(token=token).json()["user"]["login"] == BOT
    later = hub.now() + timedelta(seconds=3600)
    hub.now = lambda: later
    assert api.comment(token=token).status_code == 401
    assert len(repo.comments(1)) == 1


def test_the_installation_tells_what_it_may(api, app: App) -> None:
    found = api.get(HERE, token=signed(app)).json()
    assert (found["id"], found["permissions"]) == (app.installation, {"metadata": "read", "issues": "write"})


@pytest.mark.parametrize(
    "claims",
    [
        {"iat": int(time.time()) + 600},
        {"exp": int(time.time()) - 1},
        {"exp": int(time.time()) + 3600},
        {"iat": "now"},
        {"iss": "nobody"},
        {"key": "a secret of thirty-two characters", "algorithm": "HS256"},
        {"key": rsa_pair("another").private},
    ],
)
def test_a_signature_that_is_not_right_now_and_of_this_app_is_refused(
    api, hub: Hub, app: App, claims: dict[str, Any]
) -> None:
    assert mint(api, app, **claims).status_code == 401
    assert hub.apps.minted == 0


def test_a_token_is_no_signature_and_a_signature_no_token(api, app: App) -> None:
    assert api.get(HERE).status_code == 401
    assert api.get("/repos/octo/demo", token=signed(app)).status_code == 401


@pytest.mark.parametrize(
    "body",
    [{"repositories": ["other"]}, {"repository_ids": [1]}, {"permissions": {"issues": "write", "contents": "read"}}],
)
def test_no_more_is_given_than_the_installation_has(api, hub: Hub, app: App, body: dict[str, Any]) -> None:
    hub.create_repository("octo/other")
    assert mint(api, app, body).status_code == 422
    assert hub.apps.minted == 0


def test_a_token_may_be_asked_to_do_less(api, app: App, repo: Repository) -> None:
    repo.open_issue(title="x")
    token = mint(api, app, {"permissions": {"issues": "read"}}).json()["token"]
    assert api.get("/repos/octo/demo/issues/1", token=token).status_code == 200
    assert api.comment(token=token).status_code == 403


def test_a_suspended_installation_gives_nothing(api, app: App) -> None:
    app.suspended = True
    assert mint(api, app).status_code == 403


def test_an_app_is_only_where_it_is_installed(api, hub: Hub, app: App) -> None:
    hub.create_repository("octo/other")
    other = hub.apps.add("other-app[bot]", rsa_pair().public, "octo/other")
    assert api.get(HERE, token=signed(other)).status_code == 404
    assert api.get("/repos/octo/nowhere/installation", token=signed(app)).status_code == 404
    answer = api.post(f"/app/installations/{app.installation}/access_tokens", token=signed(other))
    assert answer.status_code == 404


def test_a_renamed_repository_redirects(api, app: App, repo: Repository) -> None:
    repo.rename("octo/new")
    answer = api.get(HERE, token=signed(app))
    assert (answer.status_code, answer.headers["location"]) == (
        301,
        f"{api.url}/repositories/{repo.id}/installation",
    )
    assert api.get(f"/repositories/{repo.id}/installation", token=signed(app)).status_code == 200


def test_what_a_token_says_of_itself_comes_with_every_answer(api, hub: Hub) -> None:
    hub.add_token("ghp_x", "ada", headers={"x-oauth-scopes": "repo"})
    assert api.get("/rate_limit", token="ghp_x").headers["x-oauth-scopes"] == "repo"
    assert "x-oauth-scopes" not in api.get("/rate_limit").headers
