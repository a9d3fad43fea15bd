"""Fuzz target: whatever bytes a model's server sends end in labels of the list, or in a named reason for none.

`python tests/fuzz/fuzz_judge.py CORPUS -max_total_time=60` (needs atheris, the extra `fuzz`).
"""

from __future__ import annotations

import importlib
import json
import re
import sys
from collections.abc import Mapping
from datetime import UTC, datetime

_TARGETS = ("triagebot.core.comment", "triagebot.core.policy", "triagebot.core.verdict", "triagebot.model.wire")
_NOW = datetime(2026, 10, 19, tzinfo=UTC)
_STATUS = (200, 200, 200, 201, 400, 429, 500, 302)
_LIVE = re.compile(r"[@#]\w|<[\w!?/]|&[\w#]|(?<!\w)/\w")  # what begins a mention, a reference, a tag, a command
_FINISH = (None, "stop", "stop", "length", "content_filter", "tool_calls")


def check(data: bytes) -> None:
    """The first byte says what the rest is: a body as it comes over the wire, or the model's words in a good one."""
    from triagebot.core import verdict
    from triagebot.model.wire import Answer, Problem, meaning, read

    head, rest = (data[0], data[1:]) if data else (0, b"")
    content = rest if head & 1 else _completion(head >> 1, rest)
    status = _STATUS[head >> 5] if head & 1 else 200
    found = read(Answer(status=status, content=content, headers={}), _NOW)
    if isinstance(found, Problem):
        assert meaning(found) is not None
        return
    assert isinstance(found, Mapping)
    verdict.tokens(found)
    judged = verdict.judge(found)
    if isinstance(judged, verdict.Answer):
        _only_listed_names_in_code_spans(judged)
    else:
        assert judged.kind in {"refused", "filtered", "truncated", "empty", "unparseable"}
        assert judged.reason


def _completion(kind: int, words: bytes) -> bytes:
    try:
        said = words.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        said = words.decode("utf-8", "replace")
    message = {"content": said} if kind % 7 else {"content": [{"type": "text", "text": said}], "refusal": ""}
    return json.dumps({"choices": [{"message": message, "finish_reason": _FINISH[kind % len(_FINISH)]}]}).encode()


def _only_listed_names_in_code_spans(answer: object) -> None:
    from triagebot.core import comment, policy, verdict
    from triagebot.core.issue import Label

    assert isinstance(answer, verdict.Answer)
    labels = [Label(name=name) for name in ("bug", "✨ feature", "good first issue", "area: db,cache", "automerge")]
    rules = policy.LabelPolicy()
    usable = policy.usable(rules, labels)
    choice = policy.choose(rules, usable, answer.votes)
    assert {vote.name for vote in choice.votes} <= {label.name for label in usable}
    assert len(choice.votes) <= rules.max
    assert len(choice.votes) + len(choice.dropped) == len(answer.votes)
    for vote in answer.votes:
        assert 0 <= vote.confidence <= 1
        span = comment.as_data(vote.reason)
        assert "\n" not in span
        assert not _LIVE.search(span), span
        span.encode()


def main() -> None:
    import atheris

    with atheris.instrument_imports(include=["triagebot", "json"]):
        for name in _TARGETS:
            importlib.import_module(name)
    atheris.Setup(sys.argv, check)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
