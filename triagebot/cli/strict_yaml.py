"""YAML as a settings file needs it: plain values, text keys, nothing twice, nothing that can run or swell."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from triagebot.core.faults import Misconfigured

LARGEST = 1024 * 1024
"""Bytes. A settings file is some hundred; what is larger is another file by mistake."""


def read(path: Path) -> dict[str, Any]:
    """Return the mapping in `path`; an empty file is an empty mapping.

    Raises `FileNotFoundError` where there is none, `Misconfigured` with file and line for the rest.
    """
    text = _text(path)
    try:
        content = yaml.load(text, Loader=_Loader)  # noqa: S506 - a SafeLoader, made stricter below
    except yaml.YAMLError as error:
        raise Misconfigured(f"{path}{_place(error)} is not YAML that triagebot reads: {_problem(error)}.") from error
    except RecursionError as error:
        raise Misconfigured(f"{path} is nested too deeply; triagebot's settings go three levels deep.") from error
    if content is None:
        return {}
    if not isinstance(content, dict):
        raise Misconfigured(f"{path} must hold keys and values, as in `workers: 4`, not a {_kind(content)}.")
    return content


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            raw = file.read(LARGEST + 1)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise Misconfigured(f"{path} cannot be read: {error.strerror}.") from error
    if len(raw) > LARGEST:
        raise Misconfigured(f"{path} is larger than 1 MiB; it cannot be triagebot's settings.")
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        raise Misconfigured(f"{path}, line {line} is not UTF-8; save the file as UTF-8.") from error


def _place(error: yaml.YAMLError) -> str:
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    return f", line {mark.line + 1}" if mark else ""


def _problem(error: yaml.YAMLError) -> str:
    """What went wrong on one line; a ReaderError has a `reason` where the others have a `problem`."""
    said = getattr(error, "problem", None) or getattr(error, "reason", None) or "it cannot be parsed"
    return " ".join(str(said).split())[:200]


def _kind(content: object) -> str:
    return "list" if isinstance(content, list) else "single value"


class _Loader(yaml.SafeLoader):
    """Refuses what a settings file must not hold.

    PyYAML lets the last of two equal keys win without a word, and copies the pairs of
    every `<<` it meets: nine merges on nine levels fill the memory. Plain aliases are
    references, which cost nothing.
    """

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[str] = set()
        for key_node, _ in node.value:
            seen.add(self._key(key_node, seen))
        return super().construct_mapping(node, deep)

    def _key(self, node: yaml.Node, seen: set[str]) -> str:
        if node.tag == "tag:yaml.org,2002:merge":
            raise _refused("merge keys (<<) are not allowed here", node)
        if node.tag != "tag:yaml.org,2002:str":
            shown = f" {node.value}" if isinstance(node, yaml.ScalarNode) else ""
            raise _refused(f"the key{shown} is not text; put it in quotes", node)
        if node.value in seen:
            raise _refused(f"the key {node.value} is there twice", node)
        return str(node.value)

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        """A date that no calendar has, or a number of 5,000 digits, comes out of PyYAML as a bare ValueError."""
        try:
            return super().construct_object(node, deep)
        except (ValueError, OverflowError) as error:
            raise _refused(f"a value cannot be read ({error})", node) from error


def _refused(problem: str, node: yaml.Node) -> yaml.constructor.ConstructorError:
    return yaml.constructor.ConstructorError(None, None, problem, node.start_mark)
