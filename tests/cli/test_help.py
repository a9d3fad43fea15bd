"""What the program says of itself: every command teaches by examples that work, and the shell completes them."""

from __future__ import annotations

import contextlib
import io
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main

from triagebot.cli.main import app, main

PROGRAM = Path(sys.executable).with_name("triagebot")


def _all(group: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    yield path
    for name, command in group.commands.items():
        yield from _all(command, (*path, name)) if hasattr(command, "commands") else [(*path, name)]


COMMANDS = list(_all(typer.main.get_command(app)))

each_command = pytest.mark.parametrize("command", COMMANDS, ids=lambda path: " ".join(path) or "triagebot")


@pytest.fixture(autouse=True)
def _as_on_a_terminal_of_80_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


def _help(command: tuple[str, ...]) -> str:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        assert main([*command, "--help"]) == 0
    return out.getvalue()


def _examples(text: str) -> list[str]:
    """The lines after "Example...", each of its own; a line that ends in a backslash goes on."""
    lines = text.partition("  Example")[2].partition("\n\n")[0].replace("\\\n", " ").splitlines()[1:]
    return [line.strip() for line in lines]


@each_command
def test_help_fits_80_columns_and_cuts_nothing_short(command: tuple[str, ...]) -> None:
    text = _help(command)
    assert [line for line in text.splitlines() if len(line) > 80] == []
    assert "..." not in text.replace("[ARGS]...", "")


@each_command
def test_every_command_has_examples_that_the_program_understands(command: tuple[str, ...]) -> None:
    examples = _examples(_help(command))
    assert examples
    if command:
        assert any(" ".join(("triagebot", *command)) in example for example in examples)
    for example in examples:
        _parse(example)


def _parse(example: str) -> None:
    """Read a command line as the program would, and stop before anything is done."""
    words = shlex.split(example.partition("||")[0], comments=True)
    words = words[words.index("triagebot") + 1 :]
    command: Any = typer.main.get_command(app)
    while hasattr(command, "commands"):
        command = command.commands[words.pop(0)]
    command.make_context("triagebot", words)


def test_an_example_with_a_wrong_flag_would_be_noticed() -> None:
    with pytest.raises(typer.TyperException):
        _parse("triagebot run --no-such-flag")


def test_the_shortest_help_is_the_whole_list() -> None:
    """Without a word, the program shows what there is."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        main([])
    assert "Commands:" in out.getvalue()


# --- completion


def test_the_shell_is_given_a_script_that_completes() -> None:
    """Through a real bash: commands, flags and values."""
    script = f"""
        PATH={PROGRAM.parent}:$PATH
        eval "$(_TRIAGEBOT_COMPLETE=source_bash triagebot)"
        ask() {{
          COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
          _triagebot_completion triagebot
          echo "${{COMPREPLY[@]}}"
        }}
        ask triagebot sta
        ask triagebot sandbox g
        ask triagebot run --dry
        ask triagebot status --format j
        complete -p triagebot
    """
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True, env={**os.environ})
    assert done.stderr == ""
    *answers, registered = done.stdout.splitlines()
    assert answers == ["status", "github", "--dry-run", "json"]
    assert registered.endswith("-F _triagebot_completion triagebot")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_has_its_script(shell: str) -> None:
    env = {**os.environ, "_TRIAGEBOT_COMPLETE": f"source_{shell}"}
    done = subprocess.run([PROGRAM], capture_output=True, text=True, check=True, env=env)
    assert "_TRIAGEBOT_COMPLETE" in done.stdout


def test_completion_is_shown_on_request() -> None:
    done = subprocess.run(
        ["bash", "-c", f"{PROGRAM} --show-completion; exit $?"], capture_output=True, text=True, check=True
    )
    assert "_triagebot_completion" in done.stdout
