"""What counts as "written": the one answer for each kind of write that proves it. No I/O.

Anything short of the proof is a fault: of a status that says no, by its words; of a status
that says yes with a body that does not fit, `Unclear`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from triagebot.core.actions import AddLabels, DeleteComment, EditComment, PostComment, Receipt, RemoveLabel, Write
from triagebot.core.faults import Gone, TrackerFault, Unclear
from triagebot.core.issue import Repository
from triagebot.github import envelope, wire
from triagebot.github.wire import Answer


def receipt(write: Write, answer: Answer, repository: Repository) -> Receipt:
    """What the answer proves. Raises the `TrackerFault` that it names otherwise."""
    match write:
        case PostComment():
            return _posted(write, answer, repository)
        case EditComment():
            return _edited(write, answer)
        case DeleteComment():
            return _deleted(write, answer)
        case AddLabels():
            return _labelled(answer)
        case RemoveLabel():
            return _taken_off(answer)
        case _:
            return _minimized(answer)


def _posted(write: PostComment, answer: Answer, repository: Repository) -> Receipt:
    body = _body(answer, 201)
    number, node = _id(body), body.get("node_id")
    if number is None or not isinstance(node, str) or not _on_issue(body.get("issue_url"), write.issue, repository):
        raise _odd(answer, f"a comment on issue {write.issue}")
    return Receipt(comment_id=number, comment_node=node)


def _on_issue(url: Any, number: int, repository: Repository) -> bool:
    # A redirected or transferred POST would name another issue here.
    path = urlsplit(url).path.casefold() if isinstance(url, str) else ""
    names = (f"/repos/{repository.name.casefold()}", f"/repositories/{repository.id}")
    return path.endswith(tuple(f"{name}/issues/{number}" for name in names))


def _edited(write: EditComment, answer: Answer) -> Receipt:
    if answer.status in {404, 410} and isinstance(fault := wire.fault(answer), Gone):
        raise Unclear(f"{fault} The comment may be gone, or just not shown: it is looked for before anything else.")
    body = _body(answer, 200)
    node = body.get("node_id")
    if _id(body) != write.comment_id:
        raise _odd(answer, f"comment {write.comment_id}")
    return Receipt(comment_id=write.comment_id, comment_node=node if isinstance(node, str) else None)


def _deleted(write: DeleteComment, answer: Answer) -> Receipt:
    if answer.status != 204 and not isinstance(fault := wire.fault(answer), Gone):
        raise fault
    return Receipt(comment_id=write.comment_id)


def _labelled(answer: Answer) -> Receipt:
    names = [_label(item) for item in _list(answer)]
    if None in names:
        raise _odd(answer, "the labels of the issue")
    return Receipt(labels=tuple(name for name in names if name is not None))


def _taken_off(answer: Answer) -> Receipt:
    """A label that is not there (any more) is off."""
    if answer.status != 200 and isinstance(wire.fault(answer), Gone):
        return Receipt()
    return _labelled(answer)


def _list(answer: Answer) -> list[Any]:
    if answer.status != 200:
        raise wire.fault(answer)
    body = answer.json()
    if not isinstance(body, list):
        raise _odd(answer, "the labels of the issue")
    return body


def _label(item: Any) -> str | None:
    name = item.get("name") if isinstance(item, dict) else None
    return name if isinstance(name, str) else None


def _minimized(answer: Answer) -> Receipt:
    done = envelope.data(answer).get("minimizeComment")
    if not isinstance(done, dict) or not isinstance(done.get("minimizedComment"), dict):
        raise _odd(answer, "the comment that was to be hidden")
    return Receipt()


def _body(answer: Answer, status: int) -> Mapping[str, Any]:
    if answer.status != status:
        raise wire.fault(answer)
    body = answer.json()
    if not isinstance(body, dict):
        raise _odd(answer, "the comment")
    return body


def _id(body: Mapping[str, Any]) -> int | None:
    number = body.get("id")
    return number if isinstance(number, int) and not isinstance(number, bool) else None


def _odd(answer: Answer, what: str) -> TrackerFault:
    return Unclear(f"{answer}, yet not with {what}: it may have been carried out.")
