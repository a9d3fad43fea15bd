"""The question that is put to the model: pure text in, pure text out."""

from __future__ import annotations

import bisect
import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from triagebot.core import markup, unseen
from triagebot.core.faults import Misconfigured
from triagebot.core.issue import Label
from triagebot.core.verdict import Unusable

PLACEHOLDER = "{{labels}}"
_NOTE = re.compile(r"\A\s*<!--.*?-->\s*", re.DOTALL)  # the template's word to its maintainers
_TITLE = 300  # characters; GitHub's titles end at 256
_HEAD = 0.7  # the share of a cut text that its start gets: reports say what is wrong first, logs end with it

_SECOND_TRY = {
    "truncated": "it was cut off at the length limit. Do not think aloud, name two labels at most, "
    "and give each a reason of at most six words.",
    "empty": "it held no text. Write the JSON object as the answer itself, not as reasoning.",
    "unparseable": "it was not one whole JSON object of the shape asked for. Write that object and nothing else: "
    "no prose, no code fence, no comment.",
}
_ANY_KIND = 'it could not be used. Write the JSON object and nothing else; {"labels": []} is a good answer.'


@dataclass(frozen=True, kw_only=True, slots=True)
class Question:
    """One question about one issue.

    `system` is the instruction with the label list, `user` the issue as JSON data,
    `labels` the names that an answer may use (the enum of the JSON schema).
    """

    system: str
    user: str
    labels: tuple[str, ...]


def compose(template: str, labels: Sequence[Label], title: str, body: str, *, input_chars: int) -> Question:
    """Put one issue into the question. Raises `Misconfigured` for a template that has not one place for the labels.

    `input_chars` bounds the whole user message as it is sent, JSON escapes included; a
    budget too small for the frame sends empty texts. JSON is the only delimiter: nothing
    within the issue can end it.
    """
    instruction = _NOTE.sub("", template).strip()
    if instruction.count(PLACEHOLDER) != 1:
        raise Misconfigured(f"The prompt template must hold {PLACEHOLDER} once: put it where the labels belong.")
    return Question(
        system=instruction.replace(PLACEHOLDER, _listed(labels)),
        user=_issue(clean(title, markdown=False), clean(body), input_chars),
        labels=tuple(label.name for label in labels),
    )


def second_try(question: Question, unusable: Unusable) -> Question:
    """Return the question changed by what was wrong with the answer to it; the issue's text stays where it was."""
    wrong = _SECOND_TRY.get(unusable.kind, _ANY_KIND)
    return replace(question, system=f"{question.system}\n\nYour last answer to this issue was of no use: {wrong}")


def fingerprint(question: Question) -> str:
    """First 16 hex digits of SHA-256 over the instruction and the label names: what was asked, not about what."""
    asked = json.dumps([question.system, question.labels], ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(asked.encode()).hexdigest()[:16]


def clean(text: str, *, markdown: bool = True) -> str:
    """Return what a reader of the issue sees, as canonical text: the only way issue text gets into a prompt.

    A title is no Markdown (`markdown=False`): it is one line, in which a comment is shown.
    """
    if not markdown:
        return " ".join(unseen.visible(text).split())
    return unseen.visible(markup.without_noise(unseen.visible(text))).strip("\n")


def _listed(labels: Sequence[Label]) -> str:
    """One label a line; names are sent as they are, for an answer has to repeat them exactly."""
    rows = [{"name": label.name} | _meaning(label) for label in labels]
    return "[\n" + ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows) + "\n]"


def _meaning(label: Label) -> dict[str, str]:
    words = clean(label.description, markdown=False)
    return {"description": words} if words else {}


def _issue(title: str, body: str, input_chars: int) -> str:
    room = input_chars - len(_data("", ""))
    short = _fit(title, min(_TITLE, room // 2))
    return _data(short, _fit(body, room - _sent(short)))


def _data(title: str, body: str) -> str:
    return json.dumps({"title": title, "body": body}, ensure_ascii=False)


def _sent(text: str) -> int:
    return len(json.dumps(text, ensure_ascii=False)) - 2


def _fit(text: str, room: int) -> str:
    """Cut `text` so that no more than `room` characters are sent for it: as much as fits of both its ends."""
    if len(text) <= room and _sent(text) <= room:
        return text
    sizes = range(min(len(text), max(room, 0)))
    best = bisect.bisect_right(sizes, room, key=lambda size: _sent(_cut(text, size))) - 1
    return _cut(text, best) if best > 0 else ""


def _cut(text: str, size: int) -> str:
    """Keep `size` characters of `text`, and say how many are missing."""
    head = round(size * _HEAD)
    tail = text[len(text) - (size - head) :]
    return f"{text[:head]}\n[... {len(text) - size} characters left out ...]\n{tail}"
