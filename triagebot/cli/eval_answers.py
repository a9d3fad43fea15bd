"""Answers of an endpoint kept in a file, so that an evaluation that is started again pays only for what is new."""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Protocol

from triagebot.cli import environment
from triagebot.core import prompt
from triagebot.core.faults import Misconfigured, QuestionRefused
from triagebot.core.prompt import Question
from triagebot.core.verdict import Reply, Usage

_KEPT = ("choices", "usage", "model")


class Model(Protocol):
    def ask(self, question: Question) -> Reply: ...


def default_file(mapping: Mapping[str, str]) -> Path:
    """Under the XDG cache folder; a relative XDG_CACHE_HOME counts as unset, as its specification asks."""
    given = Path(mapping.get("XDG_CACHE_HOME", ""))
    folder = given if given.is_absolute() else environment.home(mapping) / ".cache"
    return folder / "triagebot" / "eval-answers.jsonl"


class Remembering:
    """A `Model` before another one, safe for threads: what was answered once is read from `path`.

    A line for each answer, written at once, so a process may die at any time; a line that was cut off is
    asked for again. An answer belongs to the prompt, the label list, the issue's text and `asked`, which
    tells the endpoint, the model and how it is asked. What an answer took comes back with it; `paid` counts the
    requests that were made now. Failures of the endpoint are not kept.
    """

    def __init__(self, model: Model, path: Path, asked: Mapping[str, Any]) -> None:
        self._model = model
        self._path = path
        self._asked = json.dumps(asked, sort_keys=True)
        self._known = _read(path)
        self._lock = threading.Lock()
        self.paid = 0

    def ask(self, question: Question) -> Reply:
        """Raises what the model raises, and `QuestionRefused` again where it was raised before."""
        key = self._key(question)
        known = self._known.get(key)
        if known is None:
            known = self._answered(question)
            self._keep(key, known)
        if "refused" in known:
            raise QuestionRefused(known["said"], outcome=known["refused"], requests=known["requests"])
        return Reply(envelope=known["envelope"], usage=Usage(**known["usage"]), model=known["model"])

    def _answered(self, question: Question) -> dict[str, Any]:
        try:
            reply = self._model.ask(question)
        except QuestionRefused as refused:
            return {"refused": refused.outcome, "requests": refused.requests, "said": str(refused)}
        envelope = {name: reply.envelope[name] for name in _KEPT if name in reply.envelope}
        return {"envelope": envelope, "usage": asdict(reply.usage), "model": reply.model}

    def _keep(self, key: str, answer: dict[str, Any]) -> None:
        line = json.dumps({"key": key, **answer}, ensure_ascii=True) + "\n"
        with self._lock:
            self._known[key] = answer
            self.paid += answer["requests"] if "refused" in answer else answer["usage"]["requests"]
            _append(self._path, line)

    def _key(self, question: Question) -> str:
        user = hashlib.sha256(question.user.encode("utf-8", "surrogatepass")).hexdigest()
        return hashlib.sha256(f"{self._asked} {prompt.fingerprint(question)} {user}".encode()).hexdigest()


def _read(path: Path) -> dict[str, dict[str, Any]]:
    """What is known so far. The file is made here: one that cannot be written is better known before a call is paid."""
    _append(path, "")
    known = {}
    for line in path.read_text(encoding="utf-8", errors="replace").split("\n"):
        try:
            answer = json.loads(line)
            known[answer.pop("key")] = answer
        except (ValueError, TypeError, KeyError, AttributeError):
            continue  # cut off by a kill, or no answer at all
    return known


def _append(path: Path, line: str) -> None:
    """One write for a line: two evaluations may share a file. Only its owner may read it, for it quotes issues."""
    try:
        for folder in reversed(path.parents):
            folder.mkdir(mode=0o700, exist_ok=True)
        place = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(place, (_new_line(place) + line).encode() if line else b"")
        finally:
            os.close(place)
    except OSError as error:
        raise Misconfigured(
            f"the answers cannot be kept in {path}: {error.strerror}; name a file with --resume."
        ) from (error)


def _new_line(place: int) -> str:
    """What a kill cut off must not swallow the next answer."""
    size = os.fstat(place).st_size
    return "\n" if size and os.pread(place, 1, size - 1) != b"\n" else ""
