"""The GraphQL envelope: data that may be believed, or the fault that its errors name. No I/O.

GraphQL answers 200 with `errors` for limits, for what is not there and for partial data
(docs.github.com "Rate limits and query limits for the GraphQL API").
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from triagebot.core.faults import Gone, Misconfigured, NotPermitted, ReadOnly, Refused, TrackerFault, Unclear
from triagebot.github import wire
from triagebot.github.wire import Answer

_LIMITS = {"RATE_LIMITED", "RATE_LIMIT"}
_NO_RIGHTS = {"FORBIDDEN", "INSUFFICIENT_SCOPES"}
_MUTATION = ("minimizeComment",)


def data(answer: Answer) -> Mapping[str, Any]:
    """The `data` of a whole answer, in which only nodes that were asked for by id may be missing.

    Raises `Limited`, `Gone` (the issue), `Misconfigured` (the repository), `NotPermitted`,
    or `Unclear` for anything partial.
    """
    if answer.status != 200:
        raise _status_fault(answer)
    body = answer.json()
    if not isinstance(body, dict):
        raise Unclear(f"{answer}, with something that is no GraphQL answer; nothing in it was believed.")
    found, errors = body.get("data"), body.get("errors") or []
    each = errors if isinstance(errors, list) else [errors]
    faults = [fault for error in each if (fault := _judge(answer, error, found))]
    if faults:
        raise min(faults, key=_rank)
    if not isinstance(found, dict):
        if wire.speaks_of_limit(wire.said(answer)):
            raise wire.limited(answer, wire.said(answer))
        raise Unclear(f"{answer}, without data; nothing in it was believed.")
    return found


def _status_fault(answer: Answer) -> Exception:
    fault = wire.fault(answer)
    if isinstance(fault, Gone):
        return Misconfigured(f"{fault} There is no GraphQL at this address: does GITHUB_API_URL end in /api/v3?")
    return fault


def _rank(fault: Exception) -> bool:
    # One answer may name several things: what is certain goes before what is unclear.
    return isinstance(fault, Unclear)


def _judge(answer: Answer, error: Any, found: Any) -> TrackerFault | Misconfigured | None:
    kind, path, words = _parts(error)
    if kind in _LIMITS or wire.speaks_of_limit(words):
        return wire.limited(answer, words, primary=kind in _LIMITS)
    if kind == "NOT_FOUND":
        return _missing(answer, path, found)
    if kind in _NO_RIGHTS:
        return _forbidden(answer, path, words, kind)
    if path[-1:] == ("databaseId",) and _whole_id(found, path):
        return None
    return Unclear(f"{answer}; a partial answer is a failed one, nothing in it was believed.")


def _parts(error: Any) -> tuple[str, tuple[str | int, ...], str]:
    if not isinstance(error, dict):
        return "", (), ""
    path, message = error.get("path"), error.get("message")
    return (
        str(error.get("type") or ""),
        tuple(path) if isinstance(path, list) else (),
        message if isinstance(message, str) else "",
    )


def _missing(answer: Answer, path: Sequence[str | int], found: Any) -> TrackerFault | Misconfigured | None:
    match tuple(path):
        case ("node",) | ("nodes", int()) if _reached(found, path) is None:
            return None
        case ("repository",):
            return Misconfigured(f"{answer}. Check --repo, and that the token may read this repository.")
        case ("repository", "issue") if _reached(found, ("repository", "hasIssuesEnabled")) is False:
            return ReadOnly(f"{answer}: its issues are disabled. Switch them on in the repository's settings.")
        case ("repository", "issue") | ("minimizeComment",):
            return Gone(f"{answer}.")
        case _:
            return Unclear(f"{answer}; a partial answer is a failed one, nothing in it was believed.")


def _forbidden(answer: Answer, path: Sequence[str | int], words: str, kind: str) -> TrackerFault:
    if fault := wire.refused(answer, words):
        return fault
    if kind == "FORBIDDEN" and tuple(path) == _MUTATION:
        return Refused(f"{answer}.")  # this one comment, not the token as such
    return NotPermitted(f"{answer}. Give the token the right to read and write issues.")


def _whole_id(found: Any, path: Sequence[str | int]) -> bool:
    # `databaseId` is a 32-bit Int; a larger one is an error, told rightly by `fullDatabaseId`.
    holder = _reached(found, path[:-1])
    return isinstance(holder, dict) and holder.get("fullDatabaseId") is not None


def _reached(found: Any, path: Sequence[str | int]) -> Any:
    for step in path:
        if isinstance(found, dict) and isinstance(step, str):
            found = found.get(step)
        elif isinstance(found, list) and isinstance(step, int) and 0 <= step < len(found):
            found = found[step]
        else:
            return None
    return found
