"""The question that is put to the model: pure text in, pure text out."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from triagebot.core import clipping, markup, unseen
from triagebot.core.examples import as_data
from triagebot.core.faults import Misconfigured
from triagebot.core.issue import Label
from triagebot.core.past import Past
from triagebot.core.verdict import Unusable

PLACEHOLDER = "{{labels}}"
_NOTE = re.compile(r"\A\s*<!--.*?-->\s*", re.DOTALL)  # the template's word to its maintainers
_VERSION = re.compile(r"\A\s*<!--\s*Version (\S+?)\.?\s")  # the first words of the note
# What is said only where there are examples to show.
_IF_EXAMPLES = re.compile(r"^\{\{#examples\}\}\n(.*?)^\{\{/examples\}\}\n", re.DOTALL | re.MULTILINE)
_TITLE = 300  # characters; GitHub's titles end at 256

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

    `system` is the instruction with the label list, `user` the issue as JSON data with its `title` and
    `body` at the top, `labels` the names that an answer may use (the enum of the JSON schema).
    `version` is the template's, which is not sent.
    """

    system: str
    user: str
    labels: tuple[str, ...]
    version: str = ""


def compose(
    template: str, labels: Sequence[Label], title: str, body: str, *, input_chars: int, examples: Sequence[Past] = ()
) -> Question:
    """Put one issue into the question. Raises `Misconfigured` for a template that has not one place for the labels.

    `examples` are issues that were labelled before, likest last; a template that has nothing to
    say about examples is asked without them. `input_chars` bounds the whole user message as it is
    sent, JSON escapes included; a budget too small for the frame sends empty texts. JSON is the only
    delimiter: nothing within an issue can end it.
    """
    instruction = _NOTE.sub("", template).strip() + "\n"
    data = as_data([_cleaned(past) for past in examples], input_chars) if _IF_EXAMPLES.search(instruction) else []
    instruction = _IF_EXAMPLES.sub(r"\1" if data else "", instruction).strip()
    if instruction.count(PLACEHOLDER) != 1:
        raise Misconfigured(f"The prompt template must hold {PLACEHOLDER} once: put it where the labels belong.")
    return Question(
        system=instruction.replace(PLACEHOLDER, _listed(labels)),
        user=_issue(clean(title, markdown=False), clean(body), input_chars, data),
        labels=tuple(label.name for label in labels),
        version=version(template),
    )


def version(template: str) -> str:
    """The version that the template's note begins with (`<!-- Version 3. ...`); empty where it has none."""
    found = _VERSION.match(template)
    return found[1] if found else ""


def second_try(question: Question, unusable: Unusable) -> Question:
    """Return the question changed by what was wrong with the answer to it; the issue's text stays where it was."""
    wrong = _SECOND_TRY.get(unusable.kind, _ANY_KIND)
    return replace(question, system=f"{question.system}\n\nYour last answer to this issue was of no use: {wrong}")


def fingerprint(question: Question) -> str:
    """First 16 hex digits of SHA-256 over version, instruction and label names: what was asked, not about what.

    The instruction speaks of examples only where some are shown, so questions with and without them differ.
    """
    asked = json.dumps([question.version, question.system, question.labels], ensure_ascii=True, separators=(",", ":"))
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


def _cleaned(past: Past) -> Past:
    return replace(past, title=clean(past.title, markdown=False), body=clean(past.body))


def _issue(title: str, body: str, input_chars: int, shown: Sequence[dict[str, Any]]) -> str:
    room = input_chars - len(_data("", "", shown))
    short = clipping.fit(title, min(_TITLE, room // 2))
    return _data(short, clipping.fit(body, room - clipping.sent(short)), shown)


def _data(title: str, body: str, shown: Sequence[dict[str, Any]]) -> str:
    """The examples come first: what a model reads last is what it answers about."""
    before = {"examples": shown} if shown else {}
    return json.dumps({**before, "title": title, "body": body}, ensure_ascii=False)
