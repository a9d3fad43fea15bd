"""A GitHub App as the account: its key signs for an hour's token of its installation on one repository.

PyGithub signs too (`Auth.AppInstallationAuth`), but sends for the token on a connection of its own: one that
follows redirects, knows no certificate authority of ours, raises its own exceptions, and asks once for each thread.
"""

from __future__ import annotations

import logging
import re
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import urljoin, urlsplit

import jwt

from triagebot.core.faults import Limited, Misconfigured, NotPermitted, TrackerFault, Unclear, Undelivered
from triagebot.github import wire
from triagebot.github.line import Line, Redirected
from triagebot.github.wire import Answer

_log = logging.getLogger(__name__)

_MARGIN = 300.0  # seconds before its end at which a token is renewed: more than any one delivery takes
_AGAIN = 30.0  # seconds until the next try, where a token could not be renewed and the old one still holds
_SKEW = 20.0  # seconds by which our clock must differ from GitHub's before the signature follows GitHub's
_TRIES = 3
_MOVES = {301, 307, 308}
_ROLES = {"write": "WRITE", "read": "READ"}
_PERMIT = (
    'give the App the permission "Issues: Read and write" in its settings, and accept the new permission '
    "where it is installed"
)


@dataclass(frozen=True, kw_only=True)
class AppKey:
    """A GitHub App: its id (or client id), and one of its private keys as PEM text."""

    id: str
    private_key: str = field(repr=False)


class Signature:
    """Signs as the App itself, which may do nothing but ask for tokens (RFC 7519; GitHub takes RS256 alone).

    It ends after nine minutes (GitHub's bound is ten) and begins a minute ago, for clocks that differ a little.
    Where they differ more, the second try goes by GitHub's. Raises `Misconfigured` for a key that cannot sign.
    """

    scheme = "Bearer"
    granted = None

    def __init__(self, key: AppKey, now: Callable[[], float] = time.time) -> None:
        self._key = key
        self._now = now
        self.skew = 0.0
        self.token()

    def token(self) -> str:
        moment = int(self._now() + self.skew)
        claims = {"iat": moment - 60, "exp": moment + 480, "iss": self._key.id}
        try:
            return jwt.encode(claims, self._key.private_key, algorithm="RS256")
        except (jwt.PyJWTError, ValueError, TypeError, AttributeError) as error:  # the last one for a public key
            raise Misconfigured(
                "TRIAGEBOT_APP_PRIVATE_KEY holds no RSA private key that can be read: "
                "give the text of the .pem file that the App's settings page made, or its path."
            ) from error

    def renew(self, refused: str, answer: Answer) -> bool:
        del refused
        before, self.skew = self.skew, answer.now - answer.received
        return abs(self.skew - before) > _SKEW


@dataclass(frozen=True, kw_only=True)
class _Found:
    """The installation. `slug` is the App's name in addresses, `issues` what it may do with issues."""

    id: int
    slug: str
    issues: str
    place: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class _Held:
    """A token and, by the clock that only runs forward, when to renew it and when it ends."""

    token: str = field(repr=False)
    renew_at: float
    ends_at: float


class Installation:
    """The credential of an App on `repo` (OWNER/NAME): tokens for this repository's issues and nothing else.

    `clock` is monotonic, in seconds. Raises `Misconfigured` for a key that cannot sign; `token` besides for an App
    that is not installed there or may not write, `Limited`, and `Undelivered` where GitHub cannot be reached.
    """

    scheme = "token"

    def __init__(
        self,
        key: AppKey,
        base_url: str,
        repo: str,
        *,
        timeout: int,
        ca: str | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._app = key.id
        self._base_url = base_url.rstrip("/")
        self._repo = repo
        self._clock = clock
        self._signature = Signature(key)
        self._line = Line(self._base_url, self._signature, timeout, ca)
        self._lock = threading.Lock()
        self._found: _Found | None = None
        self._held: _Held | None = None

    @property
    def granted(self) -> str | None:
        return None if self._found is None else _ROLES.get(self._found.issues)

    @property
    def slug(self) -> str:
        """The App's name in addresses, "" before the first token."""
        return "" if self._found is None else self._found.slug

    def token(self) -> str:
        with self._lock:
            held = self._held
            if held is None or self._clock() >= held.renew_at:
                held = self._held = self._renewed(held)
            return held.token

    def renew(self, refused: str, answer: Answer) -> bool:
        del answer
        with self._lock:
            if self._held is not None and self._held.token == refused:
                self._held = None
        return True

    def _renewed(self, held: _Held | None) -> _Held:
        try:
            return self._minted()
        except (Limited, Undelivered, Unclear) as fault:
            now = self._clock()
            if held is not None and now < held.ends_at:
                _log.warning("The App's token could not be renewed yet. %s", fault)
                return replace(held, renew_at=now + _AGAIN)
            if isinstance(fault, Limited):
                raise
            raise Undelivered(f"There is no token to sign with, so nothing was sent. {fault}") from fault

    def _minted(self) -> _Held:
        found = self._found = self._found or self._find()
        url = f"{self._base_url}/app/installations/{found.id}/access_tokens"
        body = {**found.place, "permissions": {"issues": found.issues, "metadata": "read"}}
        answer = self._ask("POST", url, body)
        if answer.status != 201:
            self._found = None  # it may have been removed and installed again
            raise self._no_token(answer)
        token, seconds = _token(answer)
        now = self._clock()
        return _Held(token=token, renew_at=now + max(seconds - _MARGIN, seconds / 2), ends_at=now + seconds)

    def _find(self) -> _Found:
        url, place = f"{self._base_url}/repos/{self._repo}/installation", {"repositories": [self._repo.split("/")[1]]}
        try:
            answer = self._ask("GET", url)
        except Redirected as hop:  # the repository was renamed: its number stays
            url, place = self._moved(hop)
            answer = self._ask("GET", url)
        if answer.status != 200:
            raise self._not_there(answer)
        found = _found(answer, place)
        if found.issues not in _ROLES:
            raise NotPermitted(f"The GitHub App {found.slug!r} may not see the issues of {self._repo}: {_PERMIT}.")
        return found

    def _ask(self, verb: str, url: str, body: Mapping[str, Any] | None = None) -> Answer:
        """Ask up to three times: a token that was made and got lost on its way does no harm, and ends by itself."""
        for _ in range(_TRIES - 1):
            try:
                return self._once(verb, url, body)
            except Redirected:
                raise
            except Unclear as fault:
                _log.warning("%s Asking again.", fault)
        return self._once(verb, url, body)

    def _once(self, verb: str, url: str, body: Mapping[str, Any] | None) -> Answer:
        answer = self._line.read(verb, url, body)
        fault = wire.fault(answer) if answer.status >= 400 else None
        if isinstance(fault, Limited | Unclear):
            raise fault
        return answer

    def _moved(self, hop: Redirected) -> tuple[str, dict[str, Any]]:
        there = urljoin(f"{self._base_url}/", hop.location)
        number = re.search(r"/repositories/(\d+)/installation$", urlsplit(there).path)
        if hop.status not in _MOVES or number is None or urlsplit(there)[:2] != urlsplit(self._base_url)[:2]:
            raise Misconfigured(f"{hop} Check GITHUB_API_URL, and put the repository's present name into --repo.")
        return there, {"repository_ids": [int(number[1])]}

    def _not_there(self, answer: Answer) -> Exception:
        if answer.status == 404:
            return Misconfigured(
                f"{answer}. The GitHub App {self._app} is not installed on {self._repo}: install it there from the "
                "App's settings page, and check TRIAGEBOT_APP_ID and --repo."
            )
        return self._refused(answer)

    def _no_token(self, answer: Answer) -> Exception:
        if answer.status == 422:
            return NotPermitted(f"{answer}. The App's installation may not write issues there: {_PERMIT}.")
        if answer.status == 403:
            return NotPermitted(
                f"{answer}. The App's installation on {self._repo} gives no token: if it is suspended, let its owner "
                'lift that under "GitHub Apps" in the settings of the account.'
            )
        return self._refused(answer)

    def _refused(self, answer: Answer) -> Exception:
        if answer.status != 401:
            fault: TrackerFault = wire.fault(answer)
            return Misconfigured(f"{fault} Check TRIAGEBOT_APP_ID, and that the App is installed on {self._repo}.")
        off = f" (it is off by {abs(self._signature.skew):.0f} s)" if abs(self._signature.skew) > _SKEW else ""
        return NotPermitted(
            f"{answer}. GitHub does not take the App's signature: give a key of the App {self._app} (TRIAGEBOT_APP_ID) "
            f"in TRIAGEBOT_APP_PRIVATE_KEY, and see that this machine's clock is right{off}."
        )


class OwnersInstallation(Installation):
    """The credential of an App for all that it is installed on at `repo`, which is an organisation: to ask which
    repositories those are. Each of them is then worked on with a token of its own."""

    def _find(self) -> _Found:
        answer = self._ask("GET", f"{self._base_url}/orgs/{self._repo}/installation")
        if answer.status != 200:
            raise self._not_there(answer)
        found = _found(answer, {})
        if found.issues not in _ROLES:
            raise NotPermitted(f"The GitHub App {found.slug!r} may not see the issues of {self._repo}: {_PERMIT}.")
        return found


def _found(answer: Answer, place: Mapping[str, Any]) -> _Found:
    raw = answer.json()
    try:
        issues = raw["permissions"].get("issues", "none")
        return _Found(id=int(raw["id"]), slug=str(raw.get("app_slug") or ""), issues=str(issues), place=place)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise Misconfigured(
            f"{answer}, yet not with an installation: is GITHUB_API_URL the address of the REST API?"
        ) from error


def _token(answer: Answer) -> tuple[str, float]:
    """The token, and the seconds that it lasts by the server's clock."""
    raw = answer.json()
    try:
        token, seconds = raw["token"], wire.moment(raw["expires_at"]).timestamp() - answer.now
    except (KeyError, TypeError, ValueError) as error:
        raise Unclear(f"{answer}, yet without a token.") from error
    # It becomes a header.
    if not isinstance(token, str) or not re.fullmatch(r"[\x21-\x7e]+", token):
        raise Unclear(f"{answer}, yet with a token that no header can carry.")
    return token, seconds
