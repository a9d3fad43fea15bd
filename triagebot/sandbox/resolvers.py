"""What each GraphQL field of the embedded GitHub says, over the hub's memory; called under the hub's lock."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from triagebot.sandbox import shapes
from triagebot.sandbox.connections import Bounds, Refusal, connection
from triagebot.sandbox.repository import PERMISSIONS, Repository
from triagebot.sandbox.state import Account, Comment, Event, Issue, Label, Token

if TYPE_CHECKING:
    from graphql import GraphQLResolveInfo

    from triagebot.sandbox.hub import Hub

    Info = GraphQLResolveInfo["Asked"]

MOST_NODES = 100
LARGEST_INT = 2**31 - 1  # GraphQL's Int; a larger id is only told as fullDatabaseId
_KINDS = {"labeled": "LABELED_EVENT", "unlabeled": "UNLABELED_EVENT", "comment_deleted": "COMMENT_DELETED_EVENT"}
_EVENT_TYPES = {"labeled": "LabeledEvent", "unlabeled": "UnlabeledEvent", "comment_deleted": "CommentDeletedEvent"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Asked:
    """What resolvers know besides their arguments."""

    hub: Hub
    token: Token


def type_name(value: object) -> str:
    match value:
        case Account(kind=kind):
            return kind
        case Event(kind=kind):
            return _EVENT_TYPES[kind]
        case Comment():
            return "IssueComment"
    return type(value).__name__  # Issue, Label, Repository


# --- roots


def _repository(_root: None, info: Info, owner: str, name: str, followRenames: bool = True) -> Repository:
    asked: Asked = info.context
    wanted = f"{owner}/{name}"
    try:
        repo = asked.hub.repository(wanted)
    except KeyError:
        repo = None
    renamed = repo is not None and repo.full_name.casefold() != wanted.casefold()
    if repo is None or not _may_see(asked, repo) or (renamed and not followRenames):
        raise Refusal(f"Could not resolve to a Repository with the name '{wanted}'.", "NOT_FOUND")
    return repo


def _owner(_root: None, info: Info, login: str) -> Account | None:
    """Whoever owns a repository here; an unknown name is null, without an error."""
    hub = info.context.hub
    owners = (hub.owner(repo) for repo in hub.repositories())
    return next((each for each in owners if each.login.casefold() == login.casefold()), None)


def _node(_root: None, info: Info, id: str) -> Issue | Comment:
    found = info.context.hub.nodes.get(id)
    if found is None or not _may_see(info.context, _home(info.context, found)):
        raise Refusal(f"Could not resolve to a node with the global id of '{id}'.", "NOT_FOUND")
    return found


def _nodes(_root: None, info: Info, ids: list[str]) -> list[Issue | Comment | Refusal]:
    if len(ids) > MOST_NODES:
        raise Refusal(
            f"You may not provide more than {MOST_NODES} node ids; you provided {len(ids)}.", "ARGUMENT_LIMIT"
        )
    found: list[Issue | Comment | Refusal] = []
    for each in ids:
        try:
            found.append(_node(None, info, each))
        except Refusal as missing:  # becomes null at its place, and an error with that path
            found.append(missing)
    return found


def _minimize(_root: None, info: Info, input: dict[str, Any]) -> dict[str, Any]:
    asked: Asked = info.context
    comment = _node(None, info, input["subjectId"])
    repo, may = _home(asked, comment), asked.token.write
    if not isinstance(comment, Comment):
        raise Refusal("Could not minimize: the subject is no comment.", "UNPROCESSABLE")
    if not may or repo.archived or PERMISSIONS.index(repo.allowed(asked.token.account)) < PERMISSIONS.index("TRIAGE"):
        raise Refusal("Resource not accessible by integration", "FORBIDDEN")
    comment.minimized = input["classifier"].lower().replace("_", "-")
    return {"clientMutationId": input.get("clientMutationId"), "minimizedComment": comment}


# --- lists


def _repositories(owner: Account, info: Info, **args: Any) -> dict[str, Any]:
    """By name only; affiliations are those of an owner who collaborates nowhere else."""
    asked: Asked = info.context
    order = args.pop("orderBy", None) or {"direction": "ASC"}
    args.pop("ownerAffiliations", None)
    archived, issues = args.pop("isArchived", None), args.pop("hasIssuesEnabled", None)
    rows = [
        each
        for each in asked.hub.repositories()
        if asked.hub.owner(each) is owner
        and _may_see(asked, each)
        and archived in {None, each.archived}
        and issues in {None, each.issues_enabled}
    ]
    descending, bounds = order["direction"] == "DESC", Bounds(**args)
    return connection(rows, bounds, field="repositories", key=lambda each: [each.full_name], descending=descending)


def _viewer_permission(repo: Repository, info: Info) -> str | None:
    allowed = repo.allowed(info.context.token.account)
    return None if allowed == "NONE" else allowed


def _issues(repo: Repository, _info: Info, **args: Any) -> dict[str, Any]:
    order = args.pop("orderBy", None) or {"field": "CREATED_AT", "direction": "ASC"}
    narrowed = args.pop("filterBy", None) or {}
    states = args.pop("states", None) or narrowed.get("states") or ["OPEN", "CLOSED"]
    since = narrowed.get("since") or ""
    keys: dict[str, Callable[[Issue], list[Any]]] = {
        "CREATED_AT": lambda issue: [shapes.time(issue.created_at), issue.number],
        "UPDATED_AT": lambda issue: [shapes.time(issue.updated_at), issue.number],
        "COMMENTS": lambda issue: [len(issue.comments), issue.number],
    }
    wanted = [each for each in repo.here() if not each.pull_request and each.state.upper() in states]
    # Times in one form compare as texts. GitHub: "issues that have been updated at or after the given date".
    rows = [each for each in wanted if shapes.time(each.updated_at) >= since] if repo.issues_enabled else []
    descending = order["direction"] == "DESC"
    return connection(rows, Bounds(**args), field="issues", key=keys[order["field"]], descending=descending)


def _issue(repo: Repository, _info: Info, number: int) -> Issue:
    """A transferred issue is not found by its old number here: github.com/apache/devlake/issues/7969."""
    found = repo.kept.get(number)
    if not isinstance(found, Issue) or found.pull_request or not repo.issues_enabled:
        raise Refusal(f"Could not resolve to an Issue with the number of {number}.", "NOT_FOUND")
    return found


def _label_set(repo: Repository, _info: Info, **args: Any) -> dict[str, Any]:
    return connection(repo.labels(), Bounds(**args), field="labels", key=lambda each: [each.id])


def _comments(issue: Issue, info: Info, **args: Any) -> dict[str, Any]:
    return connection(info.context.hub.shown(issue), Bounds(**args), field="comments", key=lambda each: [each.id])


def _labels(issue: Issue, info: Info, **args: Any) -> dict[str, Any]:
    known = _home(info.context, issue).label_set
    rows = [known[name.casefold()] for name in issue.labels]
    return connection(rows, Bounds(**args), field="labels", key=lambda each: [each.id])


def _timeline(issue: Issue, _info: Info, **args: Any) -> dict[str, Any]:
    kinds = args.pop("itemTypes", None) or [*_KINDS.values()]
    rows = [event for event in issue.events if _KINDS.get(event.kind) in kinds]
    return connection(rows, Bounds(**args), field="timelineItems", key=lambda event: [shapes.time(event.at), event.id])


def _reactions(comment: Comment, _info: Info, **args: Any) -> dict[str, Any]:
    rows = [*enumerate(comment.reactions)]
    return connection(rows, Bounds(**args), field="reactions", key=lambda pair: [pair[0]])


# --- values


def _small(number: int) -> int | None:
    return number if number <= LARGEST_INT else None


def _alive(account: Account | None) -> Account | None:
    return None if account is None or account.deleted else account


def _login(account: Account, info: Info) -> str:
    # An app has its plain name as an actor, but "name[bot]" as the viewer, which is a User by the schema.
    return account.login.removesuffix("[bot]") if info.parent_type.name == "Bot" else account.login


def _time(at: Any) -> str | None:
    return shapes.time(at) if at else None


def _event_label(event: Event, _info: Info) -> Label:
    return Label(id=event.id, name=event.label or "", created_at=event.at)


def _home(asked: Asked, record: Issue | Comment) -> Repository:
    return asked.hub.repository(record.repo if isinstance(record, Issue) else record.issue.repo)


def _may_see(asked: Asked, repo: Repository) -> bool:
    return not repo.private or repo.allowed(asked.token.account) != "NONE"


def _did_author(comment: Comment, info: Info) -> bool:
    return comment.author is info.context.token.account


_NODE = {"id": lambda record, _info: record.node}
_ACCOUNT = _NODE | {"databaseId": lambda account, _info: _small(account.id), "login": _login}
_EVENT = _NODE | {
    "actor": lambda event, _info: _alive(event.actor),
    "createdAt": lambda event, _info: _time(event.at),
}
RESOLVERS: dict[str, dict[str, Callable[..., Any]]] = {
    "Query": {
        "node": _node,
        "nodes": _nodes,
        "repository": _repository,
        "repositoryOwner": _owner,
        "viewer": lambda _root, info: info.context.token.account,
    },
    "Mutation": {"minimizeComment": _minimize},
    "Bot": _ACCOUNT,
    "Mannequin": _ACCOUNT,
    "Organization": _ACCOUNT | {"repositories": _repositories},
    "User": _ACCOUNT | {"repositories": _repositories},
    "Label": _NODE,
    "LabeledEvent": _EVENT | {"label": _event_label},
    "UnlabeledEvent": _EVENT | {"label": _event_label},
    "CommentDeletedEvent": _EVENT | {"deletedCommentAuthor": lambda event, _info: _alive(event.deleted_author)},
    "Repository": {
        "id": lambda repo, _info: repo.node,
        "databaseId": lambda repo, _info: _small(repo.id),
        "hasIssuesEnabled": lambda repo, _info: repo.issues_enabled,
        "isArchived": lambda repo, _info: repo.archived,
        "issue": _issue,
        "issues": _issues,
        "labels": _label_set,
        "nameWithOwner": lambda repo, _info: repo.full_name,
        "viewerPermission": _viewer_permission,
    },
    "Issue": _NODE
    | {
        "author": lambda issue, _info: _alive(issue.author),
        "authorAssociation": lambda issue, _info: issue.association,
        "body": lambda issue, _info: issue.body or "",
        "comments": _comments,
        "createdAt": lambda issue, _info: _time(issue.created_at),
        "labels": _labels,
        "repository": lambda issue, info: _home(info.context, issue),
        "state": lambda issue, _info: issue.state.upper(),
        "timelineItems": _timeline,
        "updatedAt": lambda issue, _info: _time(issue.updated_at),
    },
    "IssueComment": _NODE
    | {
        "author": lambda comment, _info: _alive(comment.author),
        "databaseId": lambda comment, _info: _small(comment.id),
        "editor": lambda comment, _info: _alive(comment.editor),
        "fullDatabaseId": lambda comment, _info: str(comment.id),
        "isMinimized": lambda comment, _info: comment.minimized is not None,
        "lastEditedAt": lambda comment, _info: _time(comment.edited_at),
        "reactions": _reactions,
        "viewerDidAuthor": _did_author,
    },
}
