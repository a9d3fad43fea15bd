"""A report of a bug in triagebot that can be pasted into an issue as it is: no secrets, no colours, no surprises."""

from __future__ import annotations

import contextlib
import os
import platform
import re
import shlex
import traceback
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from triagebot.cli import terminal, versions
from triagebot.cli.environment import redact, secrets_in, state_folder
from triagebot.core.faults import Misconfigured


def write(error: BaseException, *, argv: Sequence[str], environ: Mapping[str, str]) -> str:
    """Return the words for stderr, and keep the report in the state folder where that can be written."""
    report = compose(error, argv=argv, secrets=secrets_in(environ, argv))
    kept = _keep(report, environ)
    where = f" It is also in {kept}." if kept else ""
    return f"triagebot: this is a bug in triagebot. Please report it with the text below.{where}\n\n{report}"


def compose(error: BaseException, *, argv: Sequence[str], secrets: Sequence[str]) -> str:
    """The report as Markdown."""
    trace = _clean("".join(traceback.format_exception(error)), secrets)
    command = _clean(shlex.join(["triagebot", *argv]), secrets)
    return "\n".join(
        [
            "### Bug report",
            "",
            f"- {versions.line()}",
            f"- {platform.platform()}",
            "",
            _fenced(command),
            "",
            _fenced(trace),
            "",
            "A message in it may quote an issue or a path: read it before you paste it.",
            "",
        ]
    )


def _clean(text: str, secrets: Sequence[str]) -> str:
    return "\n".join(terminal.plain(line) for line in redact(text, secrets).splitlines())


def _fenced(text: str) -> str:
    """A fence longer than any run of backticks inside."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}text\n{text}\n{fence}"


def _keep(report: str, environ: Mapping[str, str]) -> Path | None:
    """Write the report to a new file that only its owner reads; a full or read-only disk must not hide the bug."""
    with contextlib.suppress(OSError, Misconfigured):
        folder = state_folder(environ)
        for place in (*reversed(folder.parents), folder):
            place.mkdir(mode=0o700, exist_ok=True)
        file = folder / f"bug-{datetime.now(UTC):%Y%m%dT%H%M%S}-{os.getpid()}.md"
        with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as out:
            out.write(report)
        return file
    return None
