"""GitHub Apps: their installations, and the hour's tokens that they sign for.

Statuses and shapes follow GitHub's published description, the words many public reports; called under the hub's lock.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import jwt

from triagebot.sandbox import refusals, shapes
from triagebot.sandbox.exchange import Answer, Call
from triagebot.sandbox.repository import Repository
from triagebot.sandbox.state import Account

if TYPE_CHECKING:
    from jwt.types import Options

    from triagebot.sandbox.hub import Hub

HOUR = 3600
# PyJWT would check times by this machine's clock.
_SIGNATURE_ALONE: Options = {"verify_exp": False, "verify_iat": False, "verify_nbf": False, "verify_aud": False}
_LONGEST = 600  # seconds that what an App signs may last
_INSTALLATION = re.compile(r"(?:/repos/([^/]+/[^/]+)|/repositories/(\d+))/installation")
_OWNERS = re.compile(r"/orgs/([^/]+)/installation")
_TOKENS = re.compile(r"/app/installations/(\d+)/access_tokens")
_RANKS = {"read": 1, "write": 2}


@dataclass(kw_only=True, eq=False)
class App:
    """An App and its one installation. `repositories` holds numbers; `issues` is read, write or `None`."""

    account: Account
    public_key: str = field(repr=False)
    installation: int
    since: datetime
    repositories: set[int] = field(default_factory=set)
    issues: str | None = "write"
    suspended: bool = False

    @property
    def id(self) -> int:
        return self.account.id

    @property
    def permissions(self) -> dict[str, str]:
        return {"metadata": "read"} | ({"issues": self.issues} if self.issues else {})


class Apps:
    """All Apps of a hub. `lifetime` is how many seconds a token lasts."""

    def __init__(self, hub: Hub) -> None:
        self.lifetime = HOUR
        self._hub = hub
        self._apps: dict[int, App] = {}
        self.minted = 0

    def add(self, login: str, public_key: str, *repositories: str) -> App:
        """Register the App behind the bot account `login`, and install it on these repositories."""
        hub = self._hub
        with hub.lock:
            app = App(
                account=hub.account(login),
                public_key=public_key,
                installation=hub.next_id("installation"),
                since=hub.moment(),
                repositories={hub.repository(name).id for name in repositories},
            )
            self._apps[app.id] = app
            return app

    def __iter__(self) -> Iterator[App]:
        return iter([*self._apps.values()])

    def handle(self, call: Call) -> Answer | None:
        """The answer to what only an App may ask; `None` for any other request."""
        tokens, place = _TOKENS.fullmatch(call.path), _INSTALLATION.fullmatch(call.path)
        if tokens and call.method == "POST":
            return self._signed(call, lambda app: self._token(app, int(tokens[1]), call.json or {}))
        if place and call.method == "GET":
            return self._signed(call, lambda app: self._place(app, call, place[1], place[2]))
        if (owner := _OWNERS.fullmatch(call.path)) and call.method == "GET":
            return self._signed(call, lambda app: self._at(app, call, owner[1]))
        return None

    def _signed(self, call: Call, then: Any) -> Answer:
        """Check the signature before anything else is done, by the hub's clock."""
        sent = call.headers.get("authorization", "").removeprefix("Bearer ")
        try:
            claims = jwt.decode(sent, options={"verify_signature": False})
            app = self._apps.get(int(claims["iss"]))
            if app is None:
                return refusals.refuse(404, "Integration not found")
            claims = jwt.decode(sent, app.public_key, algorithms=["RS256"], options=_SIGNATURE_ALONE)
        except (jwt.PyJWTError, KeyError, ValueError):
            return refusals.refuse(401, "A JSON web token could not be decoded")
        return _mistimed(claims, self._hub.now().timestamp()) or then(app)

    def _place(self, app: App, call: Call, name: str | None, number: str | None) -> Answer:
        try:
            repo = self._hub.repository(name) if name else self._hub.repository_by_id(int(number or 0))
        except KeyError:
            return refusals.not_found()
        if name and repo.full_name.casefold() != name.casefold():
            return refusals.moved(301, f"{call.base}/repositories/{repo.id}/installation")
        if repo.id not in app.repositories:
            return refusals.not_found()
        return Answer.of(200, self._shape(app, repo, call.base))

    def _at(self, app: App, call: Call, owner: str) -> Answer:
        """Where an App is installed at an owner, it is on at least one of the owner's repositories."""
        homes = [repo for repo in self._hub.repositories() if repo.id in app.repositories]
        mine = next((repo for repo in homes if self._hub.owner(repo).login.casefold() == owner.casefold()), None)
        return refusals.not_found() if mine is None else Answer.of(200, self._shape(app, mine, call.base))

    def _shape(self, app: App, repo: Repository, base: str) -> dict[str, Any]:
        owner = self._hub.owner(repo)
        at = shapes.time(app.since)
        return {
            "id": app.installation,
            "app_id": app.id,
            "app_slug": app.account.login.removesuffix("[bot]"),
            "target_id": owner.id,
            "target_type": owner.kind,
            "account": shapes.account(owner, base),
            "permissions": app.permissions,
            "repository_selection": "selected",
            "access_tokens_url": f"{base}/app/installations/{app.installation}/access_tokens",
            "repositories_url": f"{base}/installation/repositories",
            "html_url": f"{base}/settings/installations/{app.installation}",
            "events": [],
            "single_file_name": None,
            "created_at": at,
            "updated_at": at,
            "suspended_by": None,
            "suspended_at": at if app.suspended else None,
        }

    def _token(self, app: App, installation: int, wanted: Mapping[str, Any]) -> Answer:
        if installation != app.installation:
            return refusals.not_found()
        if app.suspended:
            return refusals.refuse(403, "This installation has been suspended")
        permissions: Mapping[str, str] = wanted.get("permissions") or app.permissions
        if any(_rank(level) > _rank(app.permissions.get(name)) for name, level in permissions.items()):
            return refusals.refuse(422, "The permissions requested are not granted to this installation.")
        if not self._within(app, wanted):
            return refusals.refuse(
                422,
                "There is at least one repository that does not exist or is not accessible to the parent installation.",
            )
        return self._minted(app, permissions)

    def _within(self, app: App, wanted: Mapping[str, Any]) -> bool:
        known = {repo.id: repo.full_name.partition("/")[2] for repo in self._hub.repositories()}
        names = {known[number] for number in app.repositories}
        return app.repositories.issuperset(wanted.get("repository_ids", ())) and names.issuperset(
            wanted.get("repositories", ())
        )

    def _minted(self, app: App, permissions: Mapping[str, str]) -> Answer:
        self.minted += 1
        secret = f"ghs_{app.id}_sandbox.{self.minted}.{'t' * 40}"  # as long as the newer ones, and with their dots
        until = self._hub.moment() + timedelta(seconds=self.lifetime)
        self._hub.add_token(secret, app.account.login, write=permissions.get("issues") == "write", until=until)
        told = {"token": secret, "expires_at": shapes.time(until), "permissions": dict(permissions)}
        return Answer.of(201, told | {"repository_selection": "selected"})


def _mistimed(claims: Mapping[str, Any], now: float) -> Answer | None:
    if not isinstance(claims.get("iat"), int) or claims["iat"] > now:
        return refusals.refuse(
            401,
            "'Issued at' claim ('iat') must be an Integer representing the time that the assertion was issued",
        )
    if not isinstance(claims.get("exp"), int) or claims["exp"] <= now:
        return refusals.refuse(
            401, "'Expiration time' claim ('exp') must be a numeric value representing the future time"
        )
    too_far = claims["exp"] > now + _LONGEST
    return refusals.refuse(401, "'Expiration time' claim ('exp') is too far in the future") if too_far else None


def _rank(level: str | None) -> int:
    return _RANKS.get(level or "", 0)
