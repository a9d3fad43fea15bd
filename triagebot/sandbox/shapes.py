"""Stored records in the shapes of GitHub's REST answers, complete enough for its published schemas.

`base` is the URL of the server that answers: every link in an answer leads back to it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from triagebot.sandbox.repository import PERMISSIONS, Repository
from triagebot.sandbox.state import Account, Comment, Issue, Label, Reaction

Shape = dict[str, Any]

_REACTIONS = ("+1", "-1", "laugh", "hooray", "confused", "heart", "rocket", "eyes")
_ACCOUNT_LINKS = {
    "followers_url": "followers",
    "following_url": "following{/other_user}",
    "gists_url": "gists{/gist_id}",
    "starred_url": "starred{/owner}{/repo}",
    "subscriptions_url": "subscriptions",
    "organizations_url": "orgs",
    "repos_url": "repos",
    "events_url": "events{/privacy}",
    "received_events_url": "received_events",
}
_REPOSITORY_LINKS = {
    "archive_url": "{archive_format}{/ref}",
    "assignees_url": "assignees{/user}",
    "blobs_url": "git/blobs{/sha}",
    "branches_url": "branches{/branch}",
    "collaborators_url": "collaborators{/collaborator}",
    "comments_url": "comments{/number}",
    "commits_url": "commits{/sha}",
    "compare_url": "compare/{base}...{head}",
    "contents_url": "contents/{+path}",
    "contributors_url": "contributors",
    "deployments_url": "deployments",
    "downloads_url": "downloads",
    "events_url": "events",
    "forks_url": "forks",
    "git_commits_url": "git/commits{/sha}",
    "git_refs_url": "git/refs{/sha}",
    "git_tags_url": "git/tags{/sha}",
    "hooks_url": "hooks",
    "issue_comment_url": "issues/comments{/number}",
    "issue_events_url": "issues/events{/number}",
    "issues_url": "issues{/number}",
    "keys_url": "keys{/key_id}",
    "labels_url": "labels{/name}",
    "languages_url": "languages",
    "merges_url": "merges",
    "milestones_url": "milestones{/number}",
    "notifications_url": "notifications{?since,all,participating}",
    "pulls_url": "pulls{/number}",
    "releases_url": "releases{/id}",
    "stargazers_url": "stargazers",
    "statuses_url": "statuses/{sha}",
    "subscribers_url": "subscribers",
    "subscription_url": "subscription",
    "tags_url": "tags",
    "teams_url": "teams",
    "trees_url": "git/trees{/sha}",
}

_REPOSITORY_COUNTS = (
    *("forks", "forks_count", "stargazers_count", "watchers", "watchers_count"),
    *("size", "network_count", "subscribers_count"),
)


def time(at: datetime) -> str:
    return at.strftime("%Y-%m-%dT%H:%M:%SZ")


def account(who: Account, base: str) -> Shape | None:
    """A user object; `None` for an account that is gone."""
    if who.deleted:
        return None
    url = f"{base}/users/{who.login}"
    return {
        "login": who.login,
        "id": who.id,
        "node_id": who.node,
        "avatar_url": f"{base}/avatars/u/{who.id}?v=4",
        "gravatar_id": "",
        "url": url,
        "html_url": f"{base}/{who.login}",
        "type": who.kind,
        "user_view_type": "public",
        "site_admin": False,
    } | {name: f"{url}/{rest}" for name, rest in _ACCOUNT_LINKS.items()}


def user(who: Account, base: str) -> Shape:
    """The longer object of GET /user."""
    unknown = dict.fromkeys(("name", "company", "location", "email", "hireable", "bio", "twitter_username"))
    counts = dict.fromkeys(("public_repos", "public_gists", "followers", "following"), 0)
    times = {"created_at": time(who.created_at), "updated_at": time(who.created_at)}
    return (account(who, base) or {}) | unknown | counts | times | {"blog": ""}


def app(who: Account, base: str) -> Shape:
    """The GitHub App behind a bot account."""
    slug = who.login.removesuffix("[bot]")
    return {
        "id": who.id,
        "slug": slug,
        "node_id": who.node,
        "owner": account(who, base),
        "name": slug,
        "description": None,
        "external_url": f"{base}/apps/{slug}",
        "html_url": f"{base}/apps/{slug}",
        "created_at": time(who.created_at),
        "updated_at": time(who.created_at),
        "permissions": {"issues": "write", "metadata": "read"},
        "events": [],
    }


def label(of: Label, repo: str, base: str) -> Shape:
    return {
        "id": of.id,
        "node_id": of.node,
        "url": f"{base}/repos/{repo}/labels/{of.name}".replace(" ", "%20"),
        "name": of.name,
        "color": of.color,
        "default": False,
        "description": of.description,
    }


def labels_on(issue: Issue, repo: Repository, base: str) -> list[Shape]:
    return [label(repo.label_set[name.casefold()], repo.full_name, base) for name in issue.labels]


def comment(of: Comment, base: str) -> Shape:
    url = f"{base}/repos/{of.issue.repo}/issues/comments/{of.id}"
    return {
        "url": url,
        "html_url": f"{base}/{of.issue.repo}/issues/{of.issue.number}#issuecomment-{of.id}",
        "issue_url": f"{base}/repos/{of.issue.repo}/issues/{of.issue.number}",
        "id": of.id,
        "node_id": of.node,
        "user": account(of.author, base),
        "created_at": time(of.created_at),
        "updated_at": time(of.updated_at),
        "author_association": of.association,
        "body": of.body,
        "reactions": _reactions(of.reactions, url),
        "minimized": {"reason": of.minimized} if of.minimized else None,
        "performed_via_github_app": None if of.author.kind != "Bot" or of.author.deleted else app(of.author, base),
    }


def issue(of: Issue, repo: Repository, base: str, *, comments: int) -> Shape:
    """`comments` is how many of its comments show by now."""
    url, html = f"{base}/repos/{of.repo}/issues/{of.number}", f"{base}/{of.repo}/issues/{of.number}"
    unset = ("assignee", "milestone", "active_lock_reason", "state_reason", "closed_by", "performed_via_github_app")
    shape: Shape = dict.fromkeys(unset) | {
        "url": url,
        "repository_url": f"{base}/repos/{of.repo}",
        "labels_url": f"{url}/labels{{/name}}",
        "comments_url": f"{url}/comments",
        "events_url": f"{url}/events",
        "timeline_url": f"{url}/timeline",
        "html_url": html,
        "id": of.id,
        "node_id": of.node,
        "number": of.number,
        "title": of.title,
        "user": account(of.author, base),
        "labels": labels_on(of, repo, base),
        "state": of.state,
        "locked": of.locked,
        "assignees": [],
        "comments": comments,
        "created_at": time(of.created_at),
        "updated_at": time(of.updated_at),
        "closed_at": time(of.closed_at) if of.closed_at else None,
        "author_association": of.association,
        "body": of.body,
        "reactions": _reactions((), url),
    }
    if of.pull_request:  # the only mark by which a list tells a pull request from an issue
        pull = f"{base}/repos/{of.repo}/pulls/{of.number}"
        there = f"{base}/{of.repo}/pull/{of.number}"
        shape["pull_request"] = {
            "url": pull,
            "html_url": there,
            "diff_url": f"{there}.diff",
            "patch_url": f"{there}.patch",
            "merged_at": None,
        }
    return shape


def repository(of: Repository, owner: Account, base: str, *, permission: str | None) -> Shape:
    """`permission` is one of `PERMISSIONS`, or `None` for an app, of which GitHub tells nothing but "false".

    Installation tokens write where this object says `push: false`:
    github.com/lindell/multi-gitter/pull/334, flathub-infra/flatpak-external-data-checker/pull/223.
    """
    url, html = f"{base}/repos/{of.full_name}", f"{base}/{of.full_name}"
    flags = ("fork", "has_projects", "has_wiki", "has_pages", "has_discussions", "has_downloads", "disabled")
    unset = ("description", "homepage", "language", "mirror_url", "license")
    opened = sum(each.state == "open" for each in of.issues())
    return (
        dict.fromkeys(_REPOSITORY_COUNTS, 0)
        | dict.fromkeys(flags, False)
        | dict.fromkeys(unset)
        | {name: f"{url}/{rest}" for name, rest in _REPOSITORY_LINKS.items()}
        | {
            "id": of.id,
            "node_id": of.node,
            "name": of.full_name.partition("/")[2],
            "full_name": of.full_name,
            "owner": account(owner, base),
            "private": of.private,
            "visibility": "private" if of.private else "public",
            "url": url,
            "html_url": html,
            "clone_url": f"{html}.git",
            "git_url": f"{html}.git",
            "ssh_url": f"{html}.git",
            "svn_url": html,
            "default_branch": "main",
            "has_issues": of.issues_enabled,
            "archived": of.archived,
            "open_issues": opened,
            "open_issues_count": opened,
            "created_at": time(of.created_at),
            "updated_at": time(of.created_at),
            "pushed_at": time(of.created_at),
            "permissions": _permissions(PERMISSIONS.index(permission) if permission else 0),
        }
    )


def _reactions(given: Sequence[Reaction], url: str) -> Shape:
    counts = Counter(reaction.content for reaction in given)
    return {"url": f"{url}/reactions", "total_count": len(given)} | {name: counts[name] for name in _REACTIONS}


def _permissions(rank: int) -> dict[str, bool]:
    return {
        name: rank >= least for name, least in (("admin", 5), ("maintain", 4), ("push", 3), ("triage", 2), ("pull", 1))
    }
