"""Which repositories of an owner triagebot can work on: they take issues, and we may write to them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from triagebot.core.faults import Misconfigured, Unclear
from triagebot.core.issue import Repository
from triagebot.github import documents, envelope, records, wire
from triagebot.github.credentials import Credential, Given
from triagebot.github.issues import Appetite, pages
from triagebot.github.line import Line
from triagebot.github.records import Json, Page

_WRITERS = frozenset({"ADMIN", "MAINTAIN", "WRITE", "TRIAGE"})
_MOST = 100
_INSTALLED = "ghs_"  # an installation's token, of an App or of GitHub Actions


def repositories(
    base_url: str, token: str | Credential, owner: str, *, timeout: int, ca: str | None = None
) -> list[str]:
    """The names, OWNER/NAME, in their order. Raises `Misconfigured` where there are none, and what reading raises.

    An installation is told its own repositories; anybody else those of the owner where the account's role may write.
    A fine-grained token may be good for fewer of them: that, only a write tells.
    """
    credential = Given(token) if isinstance(token, str) else token
    line = Line(base_url.rstrip("/"), credential, timeout, ca)
    installed = credential.token().startswith(_INSTALLED)
    try:
        found = [*(_installed(line, base_url.rstrip("/"), owner) if installed else _of_account(line, owner))]
    finally:
        line.close()
    if not found:
        raise Misconfigured(
            f"--org {owner}: there is no repository that takes issues and that the token may write to: "
            "check the name, and what the token or the GitHub App was given."
        )
    return sorted(found, key=str.casefold)


def _of_account(line: Line, owner: str) -> Iterator[str]:
    appetite = Appetite(_MOST)

    def page(after: str | None) -> Page:
        return appetite.fill(lambda size: _page(line, owner, after, size))

    for found in pages(page(None), page):
        yield from (records.name_with_owner(node) for node in found.nodes if _may_write(node))


def _page(line: Line, owner: str, after: str | None, size: int) -> Page:
    variables = {"owner": owner, "first": size, "after": after}
    body = {"query": documents.document("owner"), "variables": variables}
    data: Json = envelope.data(line.read("POST", line.graphql, body))
    if data.get("repositoryOwner") is None:
        raise Misconfigured(f"--org {owner}: GitHub knows no organisation of that name, or does not show it.")
    return records.page(data, "repositoryOwner", "repositories")


def _may_write(node: Json) -> bool:
    """Whatever the filters of the query let through; a server may be older than they are."""
    closed = node.get("isArchived") is True or node.get("hasIssuesEnabled") is False
    return node.get("viewerPermission") in _WRITERS and not closed


def _installed(line: Line, base_url: str, owner: str) -> Iterator[str]:
    """`GET /installation/repositories`, whose pages are counted: the Link header may name another host."""
    seen = 0
    for number in range(1, _MOST + 1):
        answer = line.read("GET", f"{base_url}/installation/repositories?per_page={_MOST}&page={number}")
        if answer.status != 200:
            raise wire.fault(answer)
        told, rows = _rows(answer.json(), str(answer))
        seen += len(rows)
        yield from (found.name for found in rows if _fits(found, owner))
        if not rows or seen >= told:
            return
    raise Unclear(f"The repositories of {owner} do not end after {_MOST} pages; they were not believed.")


def _rows(body: Any, said: str) -> tuple[int, list[Repository]]:
    try:
        return int(body["total_count"]), [records.repository(row, token=_INSTALLED) for row in body["repositories"]]
    except (KeyError, TypeError, ValueError) as error:
        raise Unclear(f"{said}, yet not with a list of repositories; it was not believed.") from error


def _fits(found: Repository, owner: str) -> bool:
    return found.name.partition("/")[0].casefold() == owner.casefold() and not found.archived and found.issues_enabled
