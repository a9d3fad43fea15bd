"""The embedded GitHub's records as the night's own: what the real edge reads out of JSON."""

from __future__ import annotations

from collections.abc import Sequence

from triagebot.core import text
from triagebot.core.issue import (
    Actor,
    Authorship,
    Comment,
    CommentDeleted,
    Identity,
    LabelChange,
    LabelEvent,
    Snapshot,
    authorship,
)
from triagebot.core.rows import Recorded
from triagebot.sandbox import state
from triagebot.sandbox.hub import BOT, Hub


def identity(hub: Hub) -> Identity:
    return Identity(login=BOT, id=hub.account(BOT).id)


def snapshot(hub: Hub, repo_id: int, issue: state.Issue, recorded: Sequence[Recorded] = ()) -> Snapshot:
    """An issue with the comments that lists show by now, and those recorded ones that answer by their ids."""
    listed = {each.id: each for each in hub.shown(issue)}
    gone = set()
    for known in recorded:
        node = hub.nodes.get(known.node)
        if isinstance(node, state.Comment):
            listed[node.id] = node
        else:
            gone.add(known.id)
    seen = [comment(hub, each) for _, each in sorted(listed.items())]
    return Snapshot(
        repo_id=repo_id,
        number=issue.number,
        node=issue.node,
        title=text.canonical(issue.title),
        body=text.canonical(issue.body),
        author=_actor(issue.author),
        association=issue.association,
        created_at=issue.created_at,
        closed=issue.state != "open",
        locked=issue.locked,
        labels=tuple(issue.labels),
        comments=tuple(each for each in seen if each.by is not Authorship.STRANGER),
        label_events=tuple(_label_event(e) for e in issue.events if e.kind in {"labeled", "unlabeled"}),
        deletions=tuple(_deletion(e) for e in issue.events if e.kind == "comment_deleted"),
        gone=frozenset(gone),
    )


def comment(hub: Hub, stored: state.Comment) -> Comment:
    return Comment(
        id=stored.id,
        node=stored.node,
        body=stored.body,
        by=authorship(identity(hub), _actor(stored.author), viewer_did_author=stored.author.login == BOT),
        edited_by_other=stored.editor is not None and stored.editor is not stored.author,
        reactions=len(stored.reactions),
        minimized=stored.minimized is not None,
    )


def _actor(account: state.Account) -> Actor:
    return Actor(login=account.login, id=account.id, bot=account.kind == "Bot")


def _label_event(event: state.Event) -> LabelEvent:
    change = LabelChange.PUT_ON if event.kind == "labeled" else LabelChange.TAKEN_OFF
    return LabelEvent(change=change, label=event.label or "", actor=_actor(event.actor), at=event.at)


def _deletion(event: state.Event) -> CommentDeleted:
    author = _actor(event.deleted_author) if event.deleted_author else None
    return CommentDeleted(id=str(event.id), actor=_actor(event.actor), author=author, at=event.at)
