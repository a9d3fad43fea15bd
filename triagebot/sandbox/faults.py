"""What can go wrong between a client and GitHub, on demand.

    hub.faults.add(faults.stored_then(faults.POST_COMMENT, 502))            # once
    hub.faults.add(faults.secondary_limit(faults.ANY_WRITE), times=None)    # from now on
    hang = hub.faults.add(faults.hangs(faults.LOOK), skip=2)                # the third look
    hang.reached.wait(5); ...; hang.release()

"Stored" means carried out: the hub's memory has changed, whatever the client is told.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from email.utils import format_datetime
from typing import Any

from triagebot.sandbox import refusals
from triagebot.sandbox.arming import Fault, On, Then
from triagebot.sandbox.exchange import HTML, Answer

UNICORN = "<html><body><h1>502 Bad Gateway</h1>The server returned an invalid or incomplete response.</body></html>"

ANY = On()
ANY_WRITE = On(when=lambda call: call.is_write)
ANY_READ = On(when=lambda call: not call.is_write)
GRAPHQL = On(path="/graphql")
GET_REPOSITORY = On(method="GET", when=lambda call: call.path.count("/") == 3 and call.path.startswith("/repos/"))
GET_LABELS = On(method="GET", path="/repo*/labels")
POST_COMMENT = On(method="POST", path="*/issues/*/comments")
PATCH_COMMENT = On(method="PATCH", path="*/issues/comments/*")
DELETE_COMMENT = On(method="DELETE", path="*/issues/comments/*")
ADD_LABELS = On(method="POST", path="*/issues/*/labels")
REMOVE_LABEL = On(method="DELETE", path="*/issues/*/labels/*")
SWEEP, LOOK, MINIMIZE = (On(operation=name) for name in ("Sweep", "Look", "Minimize"))


# --- ready-made faults, by what the client meets


def answers(on: On, status: int, content: object = None, headers: Mapping[str, str] | None = None) -> Fault:
    """Answered without being carried out; `content` becomes JSON, an error message in GitHub's form if it is text."""
    if content is None or isinstance(content, str):
        return Fault(name=f"answers {status}", on=on, answer=refusals.refuse(status, content or "", headers=headers))
    return Fault(name=f"answers {status}", on=on, answer=Answer.of(status, content, headers))


def stored_then(on: On, status: int = 502, headers: Mapping[str, str] | None = None) -> Fault:
    """Carried out, then answered by an error."""
    answer = refusals.refuse(status, "Server Error", headers=headers)
    return Fault(name=f"stored, then {status}", on=on, stored=True, answer=answer)


def stored_then_dropped(on: On) -> Fault:
    return Fault(name="stored, then dropped", on=on, stored=True, then=Then.DROP)


def dropped(on: On) -> Fault:
    """The connection is cut before anything is carried out."""
    return Fault(name="dropped", on=on, then=Then.DROP)


def dropped_halfway(on: On) -> Fault:
    """Carried out; the connection is cut after half of the answer."""
    return Fault(name="dropped halfway", on=on, stored=True, then=Then.DROP_HALFWAY)


def hangs(on: On) -> Fault:
    """Not carried out while it hangs, and never if the client leaves; carried out when released."""
    return Fault(name="hangs", on=on, then=Then.HANG)


def stored_then_hangs(on: On) -> Fault:
    return Fault(name="stored, then hangs", on=on, stored=True, then=Then.HANG)


def carried_out_late(on: On) -> Fault:
    """Hangs until released and is carried out then, though the client may have given up long ago."""
    return Fault(name="carried out late", on=on, then=Then.HANG_ON)


def cut_json(on: On) -> Fault:
    """Carried out; whole by HTTP's rules, with the true status, but only half of the JSON."""
    return Fault(name="cut JSON", on=on, stored=True, answer=lambda truth: replace(truth, body=_half(truth.body)))


def odd(on: On, content: object, status: int | None = None, *, stored: bool = True) -> Fault:
    """Carried out (or not), then answered by unexpected JSON with the true status (or another)."""
    return Fault(
        name="odd answer", on=on, stored=stored, answer=lambda truth: Answer.of(status or truth.status, content)
    )


def changed(on: On, change: Mapping[str, Any]) -> Fault:
    """Carried out; the true JSON object with some members changed, or left out where `None`."""

    def alter(truth: Answer) -> Answer:
        told = truth.json | dict(change)
        return replace(truth, body=json.dumps({name: told[name] for name in told if told[name] is not None}).encode())

    return Fault(name="changed answer", on=on, stored=True, answer=alter)


def html(on: On, status: int = 200, *, stored: bool = False) -> Fault:
    """A page instead of JSON, as proxies and wrong base URLs give."""
    answer = Answer(status=status, body=UNICORN.encode(), headers={"content-type": HTML})
    return Fault(name="HTML", on=on, stored=stored, answer=answer)


def redirects(on: On, location: str, status: int = 301) -> Fault:
    return Fault(name=f"redirects {status}", on=on, answer=refusals.moved(status, location))


def secondary_limit(
    on: On, *, status: int = 403, retry_after: str | None = None, old_words: bool = False, stored: bool = False
) -> Fault:
    """A secondary limit (403 or 429). `retry_after` goes out as it is: seconds, a date (`http_date`) or rubbish."""
    message = refusals.OLD_SECONDARY if old_words else refusals.NEW_SECONDARY
    answer = refusals.secondary_limit(status=status, retry_after=retry_after, message=message)
    return Fault(name="secondary limit", on=on, stored=stored, answer=answer)


def primary_limit(on: On, *, reset: int, status: int = 403) -> Fault:
    """The hourly quota is used up until `reset` (Unix time), in REST's words."""
    return Fault(name="primary limit", on=on, answer=refusals.primary_limit(status=status, reset=reset))


def graphql_limit(on: On = GRAPHQL, *, reset: int, word: str = "RATE_LIMITED") -> Fault:
    """The hourly quota is used up, in GraphQL's words: status 200, and an error of type `word`."""
    return Fault(name="GraphQL limit", on=on, answer=refusals.graphql_limit(reset=reset, word=word))


def graphql_error(on: On = GRAPHQL, message: str = "Something went wrong", type: str | None = None) -> Fault:
    """Status 200, the true data, and one error more beside it: partial data by all that a client can tell."""

    def alter(truth: Answer) -> Answer:
        told = truth.json
        error = {"message": message} | ({"type": type} if type else {})
        return Answer.of(200, told | {"errors": [*told.get("errors", ()), error]})

    return Fault(name="GraphQL error", on=on, stored=True, answer=alter)


def not_permitted(on: On) -> Fault:
    return Fault(name="not permitted", on=on, answer=refusals.not_permitted("Bot"))


def http_date(at: datetime) -> str:
    """A time in the form that HTTP headers have; `at` must be UTC."""
    return format_datetime(at, usegmt=True)


def _half(body: bytes) -> bytes:
    return body[: len(body) // 2]


MAKERS: dict[str, Callable[..., Fault]] = {
    maker.__name__: maker
    for maker in (
        answers,
        stored_then,
        stored_then_dropped,
        dropped,
        dropped_halfway,
        hangs,
        stored_then_hangs,
        carried_out_late,
        cut_json,
        odd,
        changed,
        html,
        redirects,
        secondary_limit,
        primary_limit,
        graphql_limit,
        graphql_error,
        not_permitted,
    )
}
