"""Finding the JSON in what a model says. Nothing is repaired: a value that is cut off is no value."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

# A reasoning block may hold a draft of the answer, braces and all. The tags are those that open models use and a
# server without a parser for them lets through: in angle brackets most of them; in square ones Mistral's; in
# triangles Kimi's; with bars Cohere's and OpenThinker's; channels (all but "final" are not for the reader) gpt-oss's.
# A filled group marks an end. "<|end|>" is none: Phi ends its answers with it.
_REASONING = re.compile(
    r"<(/?)(?:\w{1,9}:)?(?:think|thinking|thought|reason|reasoning|analysis)(?:\s[^<>]{0,100})?>"
    r"|\[(/?)think\]|◁(/?)think▷|<\|(?:start|begin|(end))(?:_of)?_(?:thinking|thought)\|>"
    r"|<\|channel\|>(?:(final)|analysis|commentary)[^<>]{0,100}(?:<\|constrain\|>[^<>]{0,20})?<\|message\|>",
    re.IGNORECASE,
)
_FENCE = re.compile(r"```[\w+-]*\s*")
_START = re.compile(r'\{\s*["}]|\[\s*["{\]]')
_DECODER = json.JSONDecoder(parse_int=float)  # an int of 5,000 digits would raise, a float is infinite
_WRONG_STARTS = 1_000  # each costs a pass over what lies before it, since the error counts lines


def readings(said: str) -> Iterator[object]:
    """Yield the JSON values that `said` may mean, the likeliest first.

    The whole text; what follows a leading reasoning block; what is left without any
    reasoning; the content of the only fence; then values within prose, the last first,
    objects before lists.
    """
    rest = without_reasoning(said)
    for whole in (said, _after_block(said), rest):
        yield from _decoded(whole.strip(), whole=True)
    if rest.count("```") in {1, 2} and (fence := _FENCE.search(rest)):
        yield from _decoded(rest[fence.end() :])
    yield from _in_prose(rest.rstrip())


def without_reasoning(said: str) -> str:
    """Return the text outside reasoning blocks: an unclosed one reaches to the end, a stray end to the start."""
    kept: list[str] = []
    position, inside = 0, False
    for tag in _REASONING.finditer(said):
        closing = _ends(tag)
        if closing and not inside:
            kept.clear()
        if not closing and not inside:
            kept.append(said[position : tag.start()])
        position, inside = tag.end(), not closing
    return "".join(kept) if inside else "".join(kept) + said[position:]


def _after_block(said: str) -> str:
    """Return what follows a leading block, so that an answer *about* such tags is not taken for reasoning."""
    opening = _REASONING.match(said.lstrip())
    first = next(filter(_ends, _REASONING.finditer(said)), None) if opening else None
    return said[first.end() :] if first else ""


def _ends(tag: re.Match[str]) -> bool:
    return any(tag.groups())


def _decoded(text: str, *, whole: bool = False) -> Iterator[object]:
    try:
        value, end = _DECODER.raw_decode(text)
    except (ValueError, RecursionError):
        return
    if not whole or end == len(text):
        yield value


def _in_prose(text: str) -> Iterator[object]:
    found = _whole_values(text)
    found.reverse()
    yield from (value for value in found if isinstance(value, dict))
    # "[ ]" in prose is an open task, not the answer that nothing fits.
    yield from (value for value in found if isinstance(value, list) and value)


def _whole_values(text: str) -> list[Any]:
    """Return the objects and lists in `text`, none from within another; nothing if the last one is cut off."""
    found: list[Any] = []
    position = wrong = 0
    while wrong < _WRONG_STARTS and (start := _START.search(text, position)):
        try:
            value, position = _DECODER.raw_decode(text, start.start())
        except json.JSONDecodeError as error:
            if error.msg.startswith("Unterminated") or error.pos >= len(text):
                return []  # what came before the last, unfinished word was a draft
            # Going on behind the error, not behind the brace: no part of a broken value counts.
            wrong, position = wrong + 1, max(error.pos, start.start() + 1)
        except RecursionError:
            return []
        else:
            found.append(value)
    return found if wrong < _WRONG_STARTS else []
