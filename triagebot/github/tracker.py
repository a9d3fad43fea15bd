"""The night's tracker on GitHub: which requests answer each verb of `nightly.ports.Tracker`.

A failed read is raised, never taken for "not there"; a write goes out once.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any
from urllib.parse import urljoin, urlsplit

from triagebot.core import history
from triagebot.core.actions import MinimizeComment, Receipt, Write
from triagebot.core.faults import Gone, Limited, Misconfigured, Refused, TrackerFault, Unclear, Undelivered
from triagebot.core.issue import Comment, Identity, Label, Repository, Snapshot
from triagebot.core.rows import Recorded
from triagebot.github import documents, envelope, receipts, records, survey, wire
from triagebot.github.archive import Archive
from triagebot.github.credentials import Credential, Given
from triagebot.github.issues import Issues, patient
from triagebot.github.line import Line, Redirected
from triagebot.github.records import Json
from triagebot.github.wire import Answer

_log = logging.getLogger(__name__)

_MOST_PAGES = 100  # 10,000 labels: a list that goes on longer is a loop
_MOST_HOPS = 3
_MOVES = {301, 307, 308}  # a 302 leads to a login page


class GitHubTracker:
    """One repository on GitHub, by one token.

    `base_url` is the REST API's (`https://api.github.com`, or `https://HOST/api/v3`), `token` a text or
    another credential, `repo` is OWNER/NAME, `also` the logins that wrote for the bot before, `timeout`
    whole seconds between two signs of life, `ca` a file or folder of the authorities to trust.
    Raises `Misconfigured` for values that cannot work.
    """

    def __init__(
        self,
        base_url: str,
        token: str | Credential,
        repo: str,
        also: frozenset[str] = frozenset(),
        timeout: int = 15,
        ca: str | None = None,
    ) -> None:
        _check(base_url, token if isinstance(token, str) else "-", repo)
        self._base_url = base_url.rstrip("/")
        self._credential = Given(token) if isinstance(token, str) else token
        self._asked = repo
        self._also = also
        self._line = Line(self._base_url, self._credential, timeout, ca)
        self._found: Repository | None = None
        self._viewer: Identity | None = None

    def __repr__(self) -> str:
        return f"GitHubTracker({self._base_url!r}, {self._asked!r})"

    @property
    def account(self) -> tuple[str, str]:
        return self._line.host, self._me.login

    def close(self) -> None:
        """Close the calling thread's connection."""
        self._line.close()

    def repository(self) -> Repository:
        answer = self._resolve(f"{self._base_url}/repos/{self._asked}")
        if answer.status != 200:
            raise self._unresolved(answer)
        try:
            found = records.repository(answer.json(), token=self._credential.token())
        except Unclear as odd:
            raise Misconfigured(f"{answer}, yet not with a repository. {self._mend}") from odd
        granted = self._credential.granted
        self._found = replace(found, permission=granted or found.permission, as_app=granted is not None)
        if self._found.name.casefold() != self._asked.casefold():
            _log.warning("%s is called %s now: put that name into the schedule.", self._asked, self._found.name)
        return self._found

    def identity(self) -> Identity:
        try:
            self._viewer = records.identity(patient(self._query)("viewer"), self._also)
        except Limited:
            raise
        except (TrackerFault, Misconfigured) as fault:
            raise Misconfigured(
                f"GitHub does not tell which account the token writes as, so nothing is written. {fault} "
                "Check GITHUB_TOKEN and GITHUB_API_URL."
            ) from fault
        return self._viewer

    def labels(self) -> Sequence[Label]:
        found: dict[str, Label] = {}
        url = f"{self._base_url}/repos/{self._home.name}/labels?per_page=100"
        seen: set[str] = set()
        while url not in seen and len(seen) < _MOST_PAGES:
            seen.add(url)
            answer = self._line.read("GET", url)
            found |= {label.name: label for label in map(records.label, _items(answer))}
            following = wire.next_page(answer)
            if following is None:
                return [*found.values()]
            url = self._at_home(following)
        raise Unclear(f"The labels of {self._home.name} do not end after {len(seen)} pages; they were not believed.")

    def sweep(self) -> Iterator[Snapshot]:
        return self._issues.sweep()

    def look(self, number: int, recorded: Sequence[Recorded]) -> Snapshot:
        return self._issues.look(number, recorded)

    def look_again(self, nodes: Sequence[str]) -> Iterator[Snapshot]:
        return self._issues.look_again(nodes)

    def comment(self, recorded: Recorded) -> Comment | None:
        return self._issues.comment(recorded)

    def labelled(self, *, since: datetime | None, after: str | None) -> Iterator[history.Page]:
        return Archive(self._query, self._home, self._me).labelled(since=since, after=after)

    @property
    def granted(self) -> str | None:
        """What an App may do with issues (`WRITE`, `READ`); `None` for any other credential."""
        return self._credential.granted

    def account_facts(self) -> survey.Account:
        """What GitHub tells about the token and the clock. Costs nothing of the hourly quota."""
        return survey.account(self._line.read("GET", f"{self._base_url}/rate_limit"))

    def newest(self) -> survey.Traces:
        """Who wrote as triagebot on the newest issues, open or closed: one request."""
        return survey.traces(self._query("newest", **self._place), self._me)

    def send(self, write: Write) -> Receipt:
        home = self._home
        if isinstance(write, MinimizeComment):
            body = {"query": documents.document("minimize"), "variables": {"id": write.node}}
            answer = self._line.write("POST", self._line.graphql, body)
        else:
            request = write.request(home.name)
            answer = self._line.write(request.method, request.path, request.body)
        return receipts.receipt(write, answer, home)

    @property
    def _home(self) -> Repository:
        return self._found or self.repository()

    @property
    def _me(self) -> Identity:
        return self._viewer or self.identity()

    @property
    def _issues(self) -> Issues:
        return Issues(self._query, self._home, self._me)

    @property
    def _place(self) -> dict[str, str]:
        owner, name = self._home.name.split("/", 1)
        return {"owner": owner, "name": name}

    def _query(self, document: str, /, **variables: Any) -> Json:
        body = {"query": documents.document(document), "variables": variables}
        return envelope.data(self._line.read("POST", self._line.graphql, body))

    @property
    def _mend(self) -> str:
        return (
            f"Is {self._base_url} (GITHUB_API_URL) the address of the REST API? "
            "On a server of your own it must end in /api/v3."
        )

    def _resolve(self, url: str) -> Answer:
        """Follow a renamed repository's redirect, which later requests need not meet any more."""
        for _ in range(_MOST_HOPS):
            try:
                return self._line.read("GET", url)
            except Redirected as hop:
                if hop.status not in _MOVES:
                    raise Misconfigured(f"{hop} {self._mend}") from hop
                url = self._at_home(hop.location)
            except (Undelivered, Unclear) as fault:
                raise Misconfigured(f"{fault} {self._mend}") from fault
        raise Misconfigured(f"{self._asked} is redirected without an end. {self._mend}")

    def _unresolved(self, answer: Answer) -> Exception:
        fault = wire.fault(answer)
        if isinstance(fault, Gone):
            return Misconfigured(
                f"{fault} Check --repo ({self._asked}) and that GITHUB_TOKEN may read that repository. {self._mend}"
            )
        return Misconfigured(f"{fault} {self._mend}") if isinstance(fault, Refused) else fault

    def _at_home(self, url: str) -> str:
        """The address that an answer names, if it is on the server that the token is meant for."""
        there = urljoin(f"{self._base_url}/", url)
        if _server(there) != _server(self._base_url):
            raise Misconfigured(f"GitHub points to {wire.quote(there)}, which is another server. {self._mend}")
        return there


def _items(answer: Answer) -> list[Any]:
    if answer.status != 200:
        raise wire.fault(answer)
    items = answer.json()
    if not isinstance(items, list):
        raise Unclear(f"{answer}, yet not with a list; it was not believed.")
    return items


def _server(url: str) -> tuple[str, str | None, int | None]:
    try:
        parts = urlsplit(url)
        return parts.scheme, parts.hostname, parts.port or {"http": 80, "https": 443}.get(parts.scheme)
    except ValueError:  # a port that is no number
        return "", None, None


def _check(base_url: str, token: str, repo: str) -> None:
    scheme, host, port = _server(base_url)
    if scheme not in {"http", "https"} or not host or port is None:
        raise Misconfigured(f"{base_url!r} (GITHUB_API_URL) is no address; GitHub's own is https://api.github.com.")
    if not re.fullmatch(r"[A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+", repo):
        raise Misconfigured(f"{repo!r} is no repository: --repo wants OWNER/NAME.")
    if not re.fullmatch(r"[\x21-\x7e]+", token):
        raise Misconfigured("GITHUB_TOKEN is empty, or holds a blank or a line break that no token has: set it anew.")
