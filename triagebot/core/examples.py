"""Examples of how a repository labelled before: which ones, and how much of each. Pure."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

from triagebot.core import clipping
from triagebot.core.past import Past

POOL = 8
"""For each example that is wanted, so many likely ones are worth looking at: the choice needs something to choose."""

TITLE = 120
BODY = 500
"""Characters of an example's title and body as they are sent, at most. What an issue is about stands at its start;
four examples take a fifth of the default budget so."""

_LEAST = 160
"""Characters, without which an example says too little to be shown."""

_SHARE = 3
"""The examples get one part in so many of the whole question: the issue itself must not starve."""


def choose(ranked: Sequence[Past], count: int) -> tuple[Past, ...]:
    """At most `count` of `ranked`, which stands likest first; the likest comes out last, next to the issue.

    Balanced, so that the commonest label does not swamp the rest. In most repositories one label is on
    half of all issues, and so on most of the likest ones; a model that is shown three of it and one other
    repeats the three. So each turn takes the issue whose labels were shown least so far, the likest
    first: a round robin over the labels. No more than half (rounded up) carry the same set of
    labels, even if that leaves fewer examples than were wanted.
    """
    most = -(-count // 2)
    waiting = [past for past in ranked if past.labels]
    shown: Counter[str] = Counter()
    sets: Counter[frozenset[str]] = Counter()
    chosen: list[Past] = []
    while len(chosen) < count:
        waiting = [past for past in waiting if sets[frozenset(past.labels)] < most]
        if not waiting:
            break
        past = min(waiting, key=lambda past: max(shown[label] for label in past.labels))  # the first one of the least
        waiting.remove(past)
        chosen.append(past)
        shown.update(past.labels)
        sets[frozenset(past.labels)] += 1
    likest = {id(past): place for place, past in enumerate(ranked)}
    return tuple(sorted(chosen, key=lambda past: -likest[id(past)]))


def as_data(chosen: Sequence[Past], input_chars: int) -> list[dict[str, Any]]:
    """The examples as JSON data, clipped: together within a third of `input_chars`, as they are sent.

    Texts must be cleaned already. Where the budget is small, the least like ones, which stand first, are left out.
    """
    room = input_chars // _SHARE
    kept = list(chosen[max(0, len(chosen) - room // _LEAST) :])
    shown: list[dict[str, Any]] = []
    for place, past in enumerate(reversed(kept)):
        example = _clipped(past, (room - _size(shown)) // (len(kept) - place))
        if example is not None:
            shown.append(example)
    return shown[::-1]


def _clipped(past: Past, room: int) -> dict[str, Any] | None:
    """One example within `room` characters, or `None` where its labels alone are longer."""
    bare = _size([_example("", "", past)])
    left = room - bare
    if left < 0:
        return None
    title = clipping.fit(past.title, min(TITLE, left // 2))
    return _example(title, clipping.fit(past.body, min(BODY, left - clipping.sent(title))), past)


def _example(title: str, body: str, past: Past) -> dict[str, Any]:
    return {"title": title, "body": body, "labels": list(past.labels)}


def _size(examples: Sequence[dict[str, Any]]) -> int:
    """Characters as sent, the comma behind each one included."""
    return sum(len(json.dumps(example, ensure_ascii=False)) + 2 for example in examples)
