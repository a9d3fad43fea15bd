"""A night as the cassettes know it: the true command line, settings without a clock in them, and what it told.

`python -m tests.cassettes.nights CASSETTE...` plays cassettes, each in a process of its own, and says how it went.
"""

from __future__ import annotations

import importlib
import io
import json
import os
import sys
import tempfile
from collections.abc import Mapping
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

from tests.cassettes import tape
from triagebot.cli.main import main as triagebot

SETTINGS = """\
select: {horizon: off}
budget: {issues: off, calls: off, per_author: off}
workers: 1
model: {attempts: 1}
"""
UNHURRIED = ""
AT_ONCE = "delivery: {settle: 0s, per_second: off, per_hour: off}\n"


@dataclass(frozen=True, kw_only=True)
class Told:
    """What a night came to. `summary` is its JSON without what differs from one playing to the next."""

    code: int
    summary: dict[str, Any]
    errors: str

    @property
    def kept(self) -> dict[str, Any]:
        """What is written on the cassette, and must come out again."""
        return {"code": self.code, "summary": self.summary}


def run(folder: Path, env: Mapping[str, str], *, repo: str, day: str, delivery: str = AT_ONCE) -> Told:
    """One night of the program in this process, with its ledger and settings in `folder` and no other variables."""
    folder.mkdir(exist_ok=True)
    settings = folder / "triagebot.yml"
    settings.write_text(SETTINGS + delivery, encoding="utf-8")
    out, errors = io.StringIO(), io.StringIO()
    argv = ["run", "--repo", repo, "--day", day, "--config", str(settings), "--format", "json"]
    own = {**env, "TRIAGEBOT_LEDGER": str(folder / "ledger.db"), "XDG_STATE_HOME": str(folder)}
    with mock.patch.dict(os.environ, _foreign() | own, clear=True), redirect_stdout(out), redirect_stderr(errors):
        code = triagebot(argv)
    return Told(code=code, summary=_kept(json.loads(out.getvalue() or "{}")), errors=errors.getvalue())


def _kept(summary: dict[str, Any]) -> dict[str, Any]:
    """Without the hour at which it was, the address of the server, and what follows from the rest."""
    issues = [
        {name: issue[name] for name in issue if name not in {"link", "usd"}} for issue in summary.get("issues", ())
    ]
    kept = {name: value for name, value in summary.items() if name not in {"seconds", "last_good", "night"}}
    return kept | ({"issues": issues} if issues else {})


def _foreign() -> dict[str, str]:
    ours = ("GITHUB_", "OPENAI_", "TRIAGEBOT_")
    return {name: value for name, value in os.environ.items() if not name.startswith(ours)}


def replay(cassette: Path, folder: Path) -> list[str]:
    """Play one night from its cassette, and before it the nights that it follows; `folder` is for their ledger.

    Returns what went otherwise than recorded, nothing if all is well. The addresses are the default ones and
    the keys are none, so what is not on the cassette gets no answer.
    """
    with tape.play(cassette) as playing:
        night = playing.get_metadata("night", {})
        before = replay(_beside(cassette, night["after"]), folder) if night["after"] else []
        env = {"GITHUB_TOKEN": "of-no-use", "OPENAI_API_KEY": "of-no-use", "TRIAGEBOT_MODEL": night["model"]}
        told = run(folder, env, repo=night["repo"], day=night["day"])
        expected = playing.get_metadata("told", {})
        wrong = before + tape.left_over(playing)
    if told.kept != expected:
        wrong.append(f"it told {told.kept}, recorded was {expected}; {told.errors}")
    return wrong


def _beside(cassette: Path, name: str) -> Path:
    there = cassette.with_name(name)
    return there if there.exists() else tape.FOLDER / name


_HEAVY = (
    "triagebot.cli.nights",
    "triagebot.github.tracker",
    "triagebot.model.client",
    "openai.resources.chat.completions",
    "httpcore2",
)


def main(paths: list[str]) -> None:
    # A night that dies of a bug leaves threads behind, which would meet the next one.
    for heavy in _HEAVY:
        importlib.import_module(heavy)  # once, not in each child
    for path in paths:
        child = os.fork()
        if not child:
            _play_and_leave(Path(path))
        _, status = os.waitpid(child, 0)
        sys.stdout.write(f"{path}: {'red' if status else 'green'}\n")


def _play_and_leave(path: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        wrong = replay(path, Path(folder))
    sys.stderr.write("".join(f"{each}\n" for each in wrong))
    sys.stderr.flush()
    os._exit(bool(wrong))


if __name__ == "__main__":
    main(sys.argv[1:])
