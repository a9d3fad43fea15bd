"""The main of one process of a drill: hear an order, wait at the gate if told so, do it, say what came of it."""

from __future__ import annotations

import functools
import pkgutil
import sys
from collections.abc import Callable
from datetime import date
from pathlib import Path

from triagebot.core.faults import Misconfigured
from triagebot.drill import talk
from triagebot.drill.hand import Hand
from triagebot.drill.namespace import Namespace
from triagebot.drill.talk import Line, Words
from triagebot.ledger.ledger import Ledger


def main() -> None:
    """Serve until the other end of the pipes is gone, which also happens when the drill itself was killed."""
    line = Line(into=sys.stdout.fileno(), out_of=sys.stdin.fileno())
    try:
        _serve(line, line.hear())
    except talk.Ended:
        return


def _serve(line: Line, given: Words) -> None:
    arrived: list[Hand] = []
    line.say(_outcome(lambda: arrived.append(_arrived(line, given))))
    while arrived:
        order = line.hear()
        if order.pop("meet"):
            line.say({"here": True})
            talk.pass_through(given["gate"])
        line.say(_outcome(functools.partial(getattr(arrived[0], order.pop("verb")), **order)))


def _arrived(line: Line, given: Words) -> Hand:
    opened: Callable[..., Ledger] = pkgutil.resolve_name(given["opener"])
    how = {"address": given["address"], "must_exist": True, "settle": 0.0}
    hand = Hand(
        ledger=opened(**how),
        hasty=lambda timeout: opened(**how, timeout=timeout),
        namespace=Namespace(repo_id=given["repo_id"], day=date.fromisoformat(given["day"])),
        log=Path(given["log"]),
        line=line,
    )
    hand.arrive()
    return hand


def _outcome(work: Callable[[], Words | None]) -> Words:
    """What came of it. That anything at all was raised is a finding, and the drill is to be told of it."""
    try:
        return work() or {}
    except talk.Ended:
        raise
    except Exception as error:  # noqa: BLE001 - the end of a process: told to the one that started it
        unusable = str(error) if isinstance(error, Misconfigured) else None
        return {"raised": f"{type(error).__name__}: {error}", "unusable": unusable}
