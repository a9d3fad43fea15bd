"""Each guard that the demo shows at work is seen to be missed when it is taken out of the shipped code."""

from __future__ import annotations

import io
import os
import re
import sys
from pathlib import Path

import pytest
from rich.console import Console

from triagebot.cli import demos
from triagebot.cli.boundary import ExitCode
from triagebot.demo.acts import ACTS

FIRST, AGAIN, AT_ONCE, LATE, KILLED, LOST, OBJECTS = ACTS
TWIN = "no issue should get a second comment, not even for a while"


def played(*acts: object, command: tuple[str, ...]) -> tuple[int, str]:
    """The exit code, and the words without their line breaks."""
    console = Console(file=io.StringIO(), width=80)
    code = demos.run(os.environ, console, command=command, acts=[act for act in ACTS if act in acts])
    return code, " ".join(console.file.getvalue().split())  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("guard", "acts", "told"),
    [
        ("author", [FIRST], "issue 4 should carry 1 comment and question; it carries no comment and no label"),
        ("fence", [LATE], TWIN),
        ("look", [KILLED], TWIN),
        pytest.param("memory", [FIRST, AGAIN], "0 questions to the model should have done", marks=pytest.mark.slow),
        pytest.param("lease", [AT_ONCE], "4 questions to the model should have done", marks=pytest.mark.slow),
        pytest.param(
            "adoption",
            [FIRST, LOST],
            r"\d+ questions to the model should have done; it was asked \d\d",
            marks=pytest.mark.slow,
        ),
        pytest.param("silence", [LOST, OBJECTS], TWIN, marks=pytest.mark.slow),
        pytest.param(
            "heed",
            [LOST, OBJECTS],
            "issue 9 should carry 1 comment and no label; it carries 1 comment and enhancement",
            marks=pytest.mark.slow,
        ),
    ],
    ids=lambda value: value if isinstance(value, str) and " " not in value else "",
)
def test_without_one_guard_an_act_fails_and_says_what_stands(guard: str, acts: list[object], told: str) -> None:
    broken = str(Path(__file__).with_name("broken.py"))
    code, words = played(*acts, command=(sys.executable, broken, guard))
    assert code == ExitCode.INCOMPLETE
    assert re.search(f"broken: {told}", words), words
    assert f"triagebot broke its promise in act {len(acts)}, so the demo ends here." in words


def test_a_program_that_does_not_start_fails_the_act_with_its_last_words() -> None:
    code, words = played(AGAIN, command=(sys.executable, "-c", "raise SystemExit('no such thing')"))
    assert code == ExitCode.INCOMPLETE
    assert "broken: a night of triagebot ended with code 1: no such thing" in words
