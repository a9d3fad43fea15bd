"""The rule by which the embedded model answers: a few words, openly simple, the same every time.

It is no classifier (that is `learnt`). It exists so that a test sees plausible answers that it can predict.

- A label is taken for a *concept* when its name holds one of the concept's stems ("kind/bug" is the bug concept).
- A concept scores 2 for each of its words in the title and 1 for each in the body.
- A label of no concept scores 3 when its own last part ("parser" in "area: parser") is a word of the title.
- Every label that scores, and scores at least half of the best is named, best first, at most three;
  the confidence is 0.5 + 0.1 per point, at most 0.95; the reason is the words that decided.
- Nothing scores: an empty list.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Concept:
    """What a label may be about: stems that its name holds, and a pattern of words that speak for it."""

    stems: tuple[str, ...]
    words: re.Pattern[str]


def _words(pattern: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w)(?:{pattern})(?!\w)", re.IGNORECASE)


CONCEPTS = (
    Concept(
        ("bug", "defect", "crash", "regression"),
        _words(
            r"bugs?|errors?|crash(?:es|ed|ing)?|traceback|exceptions?|fail(?:s|ed|ing|ure)?|broken|breaks|regression"
            r"|segfault|wrong|incorrect(?:ly)?|not work(?:ing)?|doesn't work|unexpected(?:ly)?|hangs?|panic"
            r"|steps to reproduce|expected behaviou?r|\w+(?:error|exception)"
        ),
    ),
    Concept(
        ("feature", "enhancement", "improvement", "proposal"),
        _words(
            r"add(?:ing)?|support(?:s|ed)?|would be (?:nice|great|good|useful|helpful)|feature(?: request)?|allow"
            r"|implement|proposal|introduce|ability to|enhancement|improve(?:ment)?|consider|new option"
        ),
    ),
    Concept(
        ("question", "help", "support"),
        re.compile(
            r"(?<!\w)(?:how (?:to|do|can|should)|why|is it possible|can i|what is|is there a way)(?!\w)|\?", re.I
        ),
    ),
    Concept(("doc",), _words(r"docs?|documentation|documented|readme|typos?|docstrings?|tutorial|changelog|spelling")),
    Concept(("perf",), _words(r"slow(?:er|ly)?|performance|memory (?:leak|usage)|speed|latency|out of memory|oom")),
)


def answer(labels: Iterable[str], title: str, body: str) -> dict[str, Any]:
    """The answer in the agreed shape: `{"labels": [{"name", "confidence", "reason"}]}`."""
    scored = [(*_score(name, title, body), name) for name in labels]
    best = max((points for points, _, _ in scored), default=0)
    named = sorted((s for s in scored if s[0] >= max(1, best / 2)), key=lambda s: -s[0])[:3]
    return {
        "labels": [
            {"name": name, "confidence": round(min(0.95, 0.5 + 0.1 * points), 2), "reason": f"It says {words}."}
            for points, words, name in named
        ]
    }


def concept(name: str) -> Concept | None:
    """What a label of that name is taken to be about."""
    plain = name.casefold()
    return next((c for c in CONCEPTS if any(stem in plain for stem in c.stems)), None)


def _score(name: str, title: str, body: str) -> tuple[int, str]:
    about = concept(name)
    if about is None:
        own = re.split(r"[:/]", name.casefold())[-1].strip()
        hit = bool(own) and _words(re.escape(own)).search(title) is not None
        return (3, f'"{own}"') if hit else (0, "")
    in_title, in_body = _hits(about, title), _hits(about, body)
    words = list(dict.fromkeys([*in_title, *in_body]))
    return 2 * len(in_title) + len(in_body), ", ".join(f'"{word}"' for word in words[:3])


def _hits(concept: Concept, text: str) -> list[str]:
    return list(dict.fromkeys(found.casefold() for found in concept.words.findall(text)))


def labels_of(request: Mapping[str, Any]) -> list[str]:
    """The labels that may be named: the enum of the JSON schema, else those that the system text lists."""
    schema = _dig(request, "response_format", "json_schema", "schema")
    enum = next(_enums(schema), None)
    return enum if enum is not None else _listed(message(request, "system"))


def issue_of(request: Mapping[str, Any]) -> tuple[str, str]:
    """Title and body out of the JSON object in the last user message; text that is no JSON is all body."""
    text = message(request, "user")
    start = text.find("{")
    try:
        issue, _ = json.JSONDecoder().raw_decode(text, max(start, 0))
    except ValueError:
        return "", text
    if not isinstance(issue, dict):
        return "", text
    issue = issue["issue"] if isinstance(issue.get("issue"), dict) else issue
    return str(issue.get("title") or ""), str(issue.get("body") or "")


def message(request: Mapping[str, Any], role: str) -> str:
    """The text of the last message of this role."""
    texts = [m.get("content") for m in request.get("messages") or () if isinstance(m, dict) and m.get("role") == role]
    content = texts[-1] if texts else ""
    if isinstance(content, list):
        return "".join(str(part.get("text") or "") for part in content if isinstance(part, dict))
    return str(content or "")


def _dig(value: Any, *keys: str) -> Any:
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _enums(schema: Any) -> Iterator[list[str]]:
    if isinstance(schema, dict):
        if isinstance(schema.get("enum"), list):
            yield [str(name) for name in schema["enum"]]
        for inner in schema.values():
            yield from _enums(inner)
    elif isinstance(schema, list):
        for inner in schema:
            yield from _enums(inner)


_BULLET = re.compile(r"""^\s*[-*]\s+(?:"([^"]+)"|`([^`]+)`|(.+?))(?:\s*(?::\s|—|--).*)?$""")


def _listed(text: str) -> list[str]:
    """Names in JSON lines, each an object with a name or a list of names; where there are none, in bullets."""
    lines = text.splitlines()
    in_json = [name for line in lines for name in _named(_json(line.strip().rstrip(",")))]
    in_bullets = [next(filter(None, found.groups())) for found in map(_BULLET.match, lines) if found]
    return list(dict.fromkeys(in_json or in_bullets))


def _json(line: str) -> Any:
    try:
        return json.loads(line)
    except ValueError:
        return None


def _named(value: Any) -> list[str]:
    if isinstance(value, list):
        return [name for item in value for name in _named(item)]
    if isinstance(value, dict):
        return [str(value["name"])] if "name" in value else []
    return [value] if isinstance(value, str) else []
