"""The GraphQL documents as they are sent: an operation and only the fragments that it uses.

A strict server refuses a fragment that no operation spreads (GraphQL specification, 5.5.1.4).
"""

from __future__ import annotations

import functools
import re
from importlib import resources

_FRAGMENT = re.compile(r"^fragment (\w+) on .*?^}", re.DOTALL | re.MULTILINE)
_SPREAD = re.compile(r"\.\.\.\s*(?!on\b)(\w+)")


@functools.cache
def document(name: str) -> str:
    """The operation in `queries/{name}.graphql`, with the fragments of `issue.graphql` that it needs."""
    operation = _read(name)
    needed: dict[str, str] = {}
    waiting = _SPREAD.findall(operation)
    while waiting:
        fragment = waiting.pop()
        if fragment not in needed:
            needed[fragment] = _fragments()[fragment]
            waiting += _SPREAD.findall(needed[fragment])
    return "\n".join([operation, *(needed[fragment] for fragment in sorted(needed))])


@functools.cache
def _fragments() -> dict[str, str]:
    return {found[1]: found[0] for found in _FRAGMENT.finditer(_read("issue"))}


def _read(name: str) -> str:
    text = resources.files(__package__).joinpath(f"queries/{name}.graphql").read_text(encoding="utf-8")
    return "\n".join(line for line in text.splitlines() if not line.startswith("#"))
