"""One repository of the embedded GitHub, and everything that people (or the API, in their name) can do to it.

Each verb takes the hub's lock, so tests may act from any thread while requests are served.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from triagebot.sandbox.state import Account, Comment, Deleted, Event, Issue, Label, Moved, Reaction, node_id

if TYPE_CHECKING:
    from triagebot.sandbox.hub import Hub

PERMISSIONS = ("NONE", "READ", "TRIAGE", "WRITE", "MAINTAIN", "ADMIN")


class Repository:
    """Issues, labels and comments of one repository. `by` is a login; an unknown one becomes an account.

    `permission` is what every account may do here, unless `permissions` names its login.
    """

    def __init__(self, hub: Hub, full_name: str, *, id: int, created_at: datetime) -> None:
        self.hub = hub
        self.id = id
        self.full_name = full_name
        self.created_at = created_at
        self.archived = False
        self.issues_enabled = True
        self.private = False
        self.permission = "WRITE"
        self.permissions: dict[str, str] = {}
        self.kept: dict[int, Issue | Moved | Deleted] = {}
        self.label_set: dict[str, Label] = {}

    @property
    def node(self) -> str:
        return node_id("R", self.id)

    # --- what is stored

    def issue(self, number: int) -> Issue:
        """A copy of the issue as stored now. Raises `KeyError` if it is not here (any more)."""
        with self.hub.lock:
            return self.stored(number).copy()

    def comments(self, number: int) -> list[Comment]:
        """Copies of the comments as stored now, lowest id first, whether lists show them yet or not."""
        with self.hub.lock:
            return [comment.copy() for comment in self.stored(number).comments]

    def issues(self) -> list[Issue]:
        """Copies of all issues and pull requests that are here, lowest number first."""
        with self.hub.lock:
            return [issue.copy() for issue in sorted(self.here(), key=lambda issue: issue.number)]

    def labels(self) -> list[Label]:
        with self.hub.lock:
            return [*self.label_set.values()]

    def here(self) -> list[Issue]:
        """The records themselves, for callers that hold the lock."""
        return [issue for issue in self.kept.values() if isinstance(issue, Issue)]

    def stored(self, number: int) -> Issue:
        """The record itself, for callers that hold the lock."""
        found = self.kept.get(number)
        if not isinstance(found, Issue):
            raise KeyError(f"{self.full_name}#{number}")
        return found

    def allowed(self, account: Account) -> str:
        """One of `PERMISSIONS`."""
        return self.permissions.get(account.login, self.permission)

    # --- issues

    def open_issue(
        self,
        *,
        title: str,
        body: str | None = "",
        author: str = "someone",
        association: str = "NONE",
        created_at: datetime | None = None,
        labels: Iterable[str] = (),
        labelled_by: str | None = None,
        number: int | None = None,
    ) -> Issue:
        """Open an issue. Labels are put on at its creation, by its author unless `labelled_by` says otherwise."""
        with self.hub.lock:
            at = self.hub.moment(created_at)
            number = number if number is not None else max(self.kept, default=0) + 1
            if number in self.kept:
                raise ValueError(f"{self.full_name}#{number} exists already.")
            issue = Issue(
                id=self.hub.next_id("issue"),
                repo=self.full_name,
                number=number,
                title=title,
                body=body,
                author=self.hub.account(author),
                association=association,
                created_at=at,
                updated_at=at,
            )
            self.kept[number] = self.hub.nodes[issue.node] = issue
            for name in labels:
                self.label(number, name, by=labelled_by or author, at=at)
            return issue.copy()

    def open_pull_request(self, *, title: str, body: str | None = "", author: str = "someone") -> Issue:
        """Pull requests share the issues' numbers and stand in REST's list of issues."""
        with self.hub.lock:
            pull = self.stored(self.open_issue(title=title, body=body, author=author).number)
            self.hub.nodes.pop(pull.node)
            pull.pull_request = True
            self.hub.nodes[pull.node] = pull
            return pull.copy()

    def edit_issue(self, number: int, *, title: str | None = None, body: str | None = None) -> None:
        with self.hub.lock:
            issue = self.stored(number)
            issue.title = issue.title if title is None else title
            issue.body = issue.body if body is None else body
            issue.updated_at = self.hub.moment()

    def close(self, number: int, *, by: str = "maintainer") -> None:
        with self.hub.lock:
            issue = self.stored(number)
            issue.state, issue.closed_at = "closed", self.hub.moment()
            self._event(issue, "closed", by)

    def reopen(self, number: int, *, by: str = "maintainer") -> None:
        with self.hub.lock:
            issue = self.stored(number)
            issue.state, issue.closed_at = "open", None
            self._event(issue, "reopened", by)

    def lock(self, number: int, *, by: str = "maintainer") -> None:
        with self.hub.lock:
            self.stored(number).locked = True
            self._event(self.stored(number), "locked", by)

    def unlock(self, number: int, *, by: str = "maintainer") -> None:
        with self.hub.lock:
            self.stored(number).locked = False
            self._event(self.stored(number), "unlocked", by)

    def delete_issue(self, number: int) -> None:
        with self.hub.lock:
            issue = self.stored(number)
            self.hub.forget(issue)
            self.kept[number] = Deleted()

    def transfer_issue(self, number: int, to: str) -> Issue:
        """Move the issue to another repository: a new number and node id there, the old number points to it."""
        with self.hub.lock:
            target, issue = self.hub.repository(to), self.stored(number)
            self.hub.nodes.pop(issue.node)
            issue.id = self.hub.next_id("issue")
            issue.repo, issue.number = target.full_name, max(target.kept, default=0) + 1
            issue.labels = [name for name in issue.labels if name.casefold() in target.label_set]
            issue.updated_at = self.hub.moment()
            target.kept[issue.number] = self.hub.nodes[issue.node] = issue
            self.kept[number] = Moved(to=issue)
            return issue.copy()

    # --- comments

    def comment(self, number: int, body: str, *, by: str = "someone", association: str = "NONE") -> Comment:
        with self.hub.lock:
            issue, at = self.stored(number), self.hub.moment()
            comment = Comment(
                id=self.hub.next_id("comment"),
                issue=issue,
                body=body,
                author=self.hub.account(by),
                created_at=at,
                updated_at=at,
                shown_from=at + timedelta(seconds=self.hub.listing_lag),
                association=association,
            )
            issue.comments.append(comment)
            issue.updated_at = at
            self.hub.nodes[comment.node] = comment
            return comment.copy()

    def find_comment(self, comment_id: int) -> Comment:
        """The record itself, for callers that hold the lock. Raises `KeyError`."""
        for issue in self.here():
            for comment in issue.comments:
                if comment.id == comment_id:
                    return comment
        raise KeyError(f"{self.full_name} comment {comment_id}")

    def edit_comment(self, comment_id: int, body: str, *, by: str = "maintainer") -> None:
        with self.hub.lock:
            comment = self.find_comment(comment_id)
            comment.body, comment.editor = body, self.hub.account(by)
            comment.edited_at = comment.updated_at = comment.issue.updated_at = self.hub.moment()

    def delete_comment(self, comment_id: int, *, by: str = "maintainer") -> None:
        with self.hub.lock:
            comment = self.find_comment(comment_id)
            comment.issue.comments.remove(comment)
            self.hub.nodes.pop(comment.node)
            self._event(comment.issue, "comment_deleted", by, deleted_author=comment.author)

    def react(self, comment_id: int, content: str = "+1", *, by: str = "someone") -> None:
        with self.hub.lock:
            self.find_comment(comment_id).reactions.append(Reaction(by=self.hub.account(by), content=content))

    # --- labels

    def add_label(self, name: str, description: str | None = None, color: str = "ededed") -> Label:
        """Add a label to the repository. Raises `ValueError` if it has one of that name."""
        with self.hub.lock:
            if name.casefold() in self.label_set:
                raise ValueError(f"{self.full_name} has a label {name!r} already.")
            label = Label(
                id=self.hub.next_id("label"),
                name=name,
                description=description,
                color=color,
                created_at=self.hub.moment(),
            )
            self.label_set[name.casefold()] = label
            return label

    def remove_label(self, name: str) -> None:
        """Remove a label from the repository, and so from every issue, which leaves no events behind."""
        with self.hub.lock:
            gone = self.label_set.pop(name.casefold())
            for issue in self.here():
                issue.labels[:] = [name for name in issue.labels if name != gone.name]

    def rename_label(self, name: str, new_name: str) -> None:
        with self.hub.lock:
            label = self.label_set.pop(name.casefold())
            for issue in self.here():
                issue.labels[:] = [new_name if each == label.name else each for each in issue.labels]
            label.name = new_name
            self.label_set[new_name.casefold()] = label

    def label(self, number: int, *names: str, by: str = "maintainer", at: datetime | None = None) -> None:
        """Put labels on an issue; a name that the repository does not have becomes one of its labels, as on GitHub."""
        with self.hub.lock:
            issue = self.stored(number)
            for name in names:
                label = self.label_set.get(name.casefold()) or self.add_label(name)
                if label.name not in issue.labels:
                    issue.labels.append(label.name)
                    self._event(issue, "labeled", by, at=at, label=label.name)

    def unlabel(self, number: int, name: str, *, by: str = "maintainer", at: datetime | None = None) -> None:
        """Take a label off an issue. Raises `KeyError` if it is not on it."""
        with self.hub.lock:
            issue = self.stored(number)
            found = next((each for each in issue.labels if each.casefold() == name.casefold()), None)
            if found is None:
                raise KeyError(f"{self.full_name}#{number} has no label {name!r}")
            issue.labels.remove(found)
            self._event(issue, "unlabeled", by, at=at, label=found)

    # --- the repository itself

    def rename(self, full_name: str) -> None:
        """Rename or move the repository ("owner/name"); the old name redirects."""
        with self.hub.lock:
            self.hub.renamed(self, full_name)
            self.full_name = full_name
            for issue in self.here():
                issue.repo = full_name

    def _event(
        self,
        issue: Issue,
        kind: str,
        by: str,
        *,
        at: datetime | None = None,
        label: str | None = None,
        deleted_author: Account | None = None,
    ) -> None:
        event = Event(
            id=self.hub.next_id("event"),
            kind=kind,
            actor=self.hub.account(by),
            at=self.hub.moment(at),
            label=label,
            deleted_author=deleted_author,
        )
        issue.events.append(event)
        issue.updated_at = max(issue.updated_at, event.at)
