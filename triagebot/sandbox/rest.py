"""The REST paths of the embedded GitHub: who may ask, what is asked for, and the answer.

Called under the hub's lock. Paths, statuses and shapes follow GitHub's published description.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

from triagebot.sandbox import refusals, shapes
from triagebot.sandbox.exchange import Answer, Call
from triagebot.sandbox.paging import page
from triagebot.sandbox.repository import PERMISSIONS, Repository
from triagebot.sandbox.state import Comment, Deleted, Issue, Moved, Token

if TYPE_CHECKING:
    from triagebot.sandbox.hub import Hub


class Refused(Exception):
    """GitHub says no; `answer` is how."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(answer.status)
        self.answer = answer


@dataclass(frozen=True, kw_only=True, slots=True)
class Ask:
    """A call whose repository is found; `args` are the variable parts of the path behind it."""

    hub: Hub
    call: Call
    token: Token
    repo: Repository
    args: tuple[str, ...] = ()

    @property
    def sent(self) -> Any:
        """The decoded body. Refused where it is no JSON."""
        sent = self.call.json
        if sent is None:
            raise Refused(refusals.bad_json())
        return sent


def handle(hub: Hub, call: Call, token: Token) -> Answer:
    """Carry out one REST call."""
    try:
        if call.path in _ALONE and call.method == "GET":
            return _ALONE[call.path](hub, call, token)
        repo, rest = _find(hub, call)
        if repo.private and repo.allowed(token.account) == "NONE":
            raise Refused(refusals.not_found())
        for method, pattern, handler in _ROUTES:
            found = re.fullmatch(pattern, rest)
            if found and method == call.method:
                return handler(Ask(hub=hub, call=call, token=token, repo=repo, args=found.groups()))
    except Refused as no:
        return no.answer
    return refusals.not_found()


def _find(hub: Hub, call: Call) -> tuple[Repository, str]:
    """The repository a path names, and the rest of the path. A former name redirects."""
    by_id = re.fullmatch(r"/repositories/(\d+)(/.*)?", call.path)
    by_name = re.fullmatch(r"/repos/([^/]+/[^/]+)(/.*)?", call.path)
    try:
        if by_id:
            return hub.repository_by_id(int(by_id[1])), by_id[2] or ""
        if by_name is None:
            raise Refused(refusals.not_found())
        repo, rest = hub.repository(by_name[1]), by_name[2] or ""
    except KeyError:
        raise Refused(refusals.not_found()) from None
    if repo.full_name.casefold() != by_name[1].casefold():
        query = f"?{urlencode(call.query)}" if call.query else ""
        location = f"{call.base}/repositories/{repo.id}{quote(rest)}{query}"
        raise Refused(refusals.moved(301 if call.method == "GET" else 307, location))
    return repo, rest


# --- without a repository


def _user(_hub: Hub, call: Call, token: Token) -> Answer:
    if token.account.kind == "Bot":
        return refusals.not_permitted("Bot")
    return Answer.of(200, shapes.user(token.account, call.base))


def _rate_limit(hub: Hub, _call: Call, token: Token) -> Answer:
    core, graphql = (hub.limits.told(resource, token) for resource in ("core", "graphql"))
    search = {"limit": 30, "used": 0, "remaining": 30, "reset": core["reset"]}
    return Answer.of(200, {"resources": {"core": core, "graphql": graphql, "search": search}, "rate": core})


def _installation_repositories(hub: Hub, call: Call, token: Token) -> Answer:
    """What the token's installation was given; only such a token may ask."""
    if token.account.kind != "Bot":
        return refusals.not_permitted(token.account.kind)
    given = next((app.repositories for app in hub.apps if app.account is token.account), None)
    rows = [repo for repo in hub.repositories() if given is None or repo.id in given]
    part, link = page(rows, call.query, f"{call.base}/installation/repositories")
    told = [shapes.repository(repo, hub.owner(repo), call.base, permission=None) for repo in part]
    return Answer.of(200, {"total_count": len(rows), "repositories": told}, {"link": link} if link else None)


# --- reading


def _repository(ask: Ask) -> Answer:
    allowed = None if ask.token.account.kind == "Bot" else ask.repo.allowed(ask.token.account)
    return Answer.of(200, shapes.repository(ask.repo, ask.hub.owner(ask.repo), ask.call.base, permission=allowed))


def _labels(ask: Ask) -> Answer:
    labels = sorted(ask.repo.label_set.values(), key=lambda label: label.name.casefold())
    return _page(ask, labels, lambda label: shapes.label(label, ask.repo.full_name, ask.call.base))


def _issues(ask: Ask) -> Answer:
    """The list of issues, pull requests among them; a repository without issues lists none (no 410 is documented)."""
    query = ask.call.query
    state, wanted = query.get("state", "open"), set(filter(None, query.get("labels", "").casefold().split(",")))
    found = [
        issue
        for issue in ask.repo.here()
        if state in ("all", issue.state)
        and wanted <= {name.casefold() for name in issue.labels}
        and shapes.time(issue.updated_at) >= query.get("since", "")
        and ask.repo.issues_enabled
    ]
    orders: dict[str, Callable[[Issue], Any]] = {
        "created": lambda issue: (issue.created_at, issue.number),
        "updated": lambda issue: (issue.updated_at, issue.number),
        "comments": lambda issue: len(ask.hub.shown(issue)),
    }
    order = orders.get(query.get("sort", "created"), orders["created"])
    found.sort(key=order, reverse=query.get("direction", "desc") != "asc")
    return _page(ask, found, lambda issue: _issue_shape(ask, issue))


def _issue(ask: Ask) -> Answer:
    return Answer.of(200, _issue_shape(ask, _issue_of(ask)))


def _comments(ask: Ask) -> Answer:
    # Sub-resources of a transferred issue answer 404, as measured in github.com/Systemorph/MeshWeaver/issues/4629.
    issue, since = _issue_of(ask, moved=refusals.not_found()), ask.call.query.get("since", "")
    shown = [each for each in ask.hub.shown(issue) if shapes.time(each.updated_at) >= since]
    return _page(ask, shown, lambda each: shapes.comment(each, ask.call.base))


def _issue_labels(ask: Ask) -> Answer:
    issue = _issue_of(ask)
    return _page(ask, shapes.labels_on(issue, ask.repo, ask.call.base), lambda shape: shape)


def _comment(ask: Ask) -> Answer:
    return Answer.of(200, shapes.comment(_comment_of(ask), ask.call.base))


# --- writing


def _post_comment(ask: Ask) -> Answer:
    _may_write(ask)
    issue = _issue_of(ask)
    if issue.locked and not _is_collaborator(ask):
        raise Refused(refusals.locked())
    stored = ask.repo.comment(issue.number, _body_of(ask), by=ask.token.account.login)
    shape = shapes.comment(stored, ask.call.base)
    return Answer.of(201, shape, {"location": shape["url"]})


def _patch_comment(ask: Ask) -> Answer:
    _may_write(ask)
    comment = _comment_of(ask)
    ask.repo.edit_comment(comment.id, _body_of(ask), by=ask.token.account.login)
    return Answer.of(200, shapes.comment(comment, ask.call.base))


def _delete_comment(ask: Ask) -> Answer:
    _may_write(ask)
    ask.repo.delete_comment(_comment_of(ask).id, by=ask.token.account.login)
    return Answer(status=204)


def _add_labels(ask: Ask) -> Answer:
    _may_write(ask)
    issue, sent = _issue_of(ask), ask.sent
    listed = sent.get("labels") if isinstance(sent, dict) else sent
    if not isinstance(listed, list) or not listed:
        raise Refused(refusals.not_supplied("labels"))
    names = [str(each.get("name", "") if isinstance(each, dict) else each).strip() for each in listed]
    if not all(0 < len(name) <= 50 for name in names):
        raise Refused(refusals.invalid("Label", "invalid", "name"))
    ask.repo.label(issue.number, *names, by=ask.token.account.login)
    return Answer.of(200, shapes.labels_on(issue, ask.repo, ask.call.base))


def _remove_label(ask: Ask) -> Answer:
    _may_write(ask)
    issue = _issue_of(ask)
    try:
        ask.repo.unlabel(issue.number, ask.args[1], by=ask.token.account.login)
    except KeyError:
        raise Refused(refusals.no_such_label()) from None
    return Answer.of(200, shapes.labels_on(issue, ask.repo, ask.call.base))


# --- what they share


def _page(ask: Ask, rows: list[Any], shape: Callable[[Any], Any]) -> Answer:
    """One page of a list. Its links name the repository by number, as the recorded ones do."""
    rest = ask.call.path.split("/", 4)[4] if ask.call.path.startswith("/repos/") else ask.call.path.split("/", 3)[3]
    part, link = page(rows, ask.call.query, f"{ask.call.base}/repositories/{ask.repo.id}/{rest}")
    return Answer.of(200, [shape(row) for row in part], {"link": link} if link else None)


def _issue_of(ask: Ask, moved: Answer | None = None) -> Issue:
    if not ask.repo.issues_enabled:
        raise Refused(refusals.issues_disabled())
    match ask.repo.kept.get(int(ask.args[0])):
        case Issue() as issue:
            return issue
        case Deleted():
            raise Refused(refusals.issue_deleted())
        case Moved(to=issue):
            raise Refused(moved or refusals.moved(301, _new_place(ask, issue)))
    raise Refused(refusals.not_found())


def _new_place(ask: Ask, issue: Issue) -> str:
    target = ask.hub.repository(issue.repo)
    tail = ask.call.path.partition(f"/issues/{ask.args[0]}")[2]
    return f"{ask.call.base}/repositories/{target.id}/issues/{issue.number}{quote(tail)}"


def _comment_of(ask: Ask) -> Comment:
    try:
        return ask.repo.find_comment(int(ask.args[0]))
    except KeyError:
        raise Refused(refusals.not_found()) from None


def _issue_shape(ask: Ask, issue: Issue) -> shapes.Shape:
    return shapes.issue(issue, ask.repo, ask.call.base, comments=len(ask.hub.shown(issue)))


def _body_of(ask: Ask) -> str:
    sent = ask.sent
    body = sent.get("body") if isinstance(sent, dict) else None
    if not isinstance(body, str):
        raise Refused(refusals.not_supplied("body"))
    if not body.strip():
        raise Refused(refusals.body_blank())
    if len(body) > refusals.MAX_BODY:
        raise Refused(refusals.body_too_long())
    return body


def _may_write(ask: Ask) -> None:
    if ask.repo.archived:
        raise Refused(refusals.archived())
    if not ask.token.write or PERMISSIONS.index(ask.repo.allowed(ask.token.account)) < PERMISSIONS.index("TRIAGE"):
        raise Refused(refusals.not_permitted(ask.token.account.kind))


def _is_collaborator(ask: Ask) -> bool:
    """People with write access may comment on a locked issue; an app is no collaborator (actions/stale#51)."""
    allowed = PERMISSIONS.index(ask.repo.allowed(ask.token.account))
    return ask.token.account.kind == "User" and allowed >= PERMISSIONS.index("WRITE")


_ALONE: dict[str, Callable[[Hub, Call, Token], Answer]] = {
    "/user": _user,
    "/rate_limit": _rate_limit,
    "/installation/repositories": _installation_repositories,
}
_ROUTES: tuple[tuple[str, str, Callable[[Ask], Answer]], ...] = (
    ("GET", "", _repository),
    ("GET", "/labels", _labels),
    ("GET", "/issues", _issues),
    ("GET", r"/issues/(\d+)", _issue),
    ("GET", r"/issues/(\d+)/comments", _comments),
    ("POST", r"/issues/(\d+)/comments", _post_comment),
    ("GET", r"/issues/(\d+)/labels", _issue_labels),
    ("POST", r"/issues/(\d+)/labels", _add_labels),
    ("DELETE", r"/issues/(\d+)/labels/(.+)", _remove_label),
    ("GET", r"/issues/comments/(\d+)", _comment),
    ("PATCH", r"/issues/comments/(\d+)", _patch_comment),
    ("DELETE", r"/issues/comments/(\d+)", _delete_comment),
)
