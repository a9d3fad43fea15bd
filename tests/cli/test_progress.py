"""Progress: a bar on a terminal, few plain lines elsewhere, and nothing in them that acts."""

from __future__ import annotations

import io
import threading
from dataclasses import dataclass

import pytest

from triagebot.cli import terminal
from triagebot.cli.progress import Named, Progress


class Screen(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


@dataclass
class Clock:
    now: float = 100.0

    def __call__(self) -> float:
        return self.now


def test_without_a_terminal_a_stage_is_told_at_its_start_now_and_then_and_at_its_end() -> None:
    out, clock = io.StringIO(), Clock()
    with Progress(terminal.console(out, no_color=False), every=5, clock=clock) as progress:
        progress.stage("triage", 20)
        for _ in range(12):
            clock.now += 1
            progress.advance()
    assert out.getvalue().splitlines() == ["triage: 0 of 20", "triage: 5 of 20", "triage: 10 of 20", "triage: 12 of 20"]


def test_a_stage_of_unknown_length_is_counted() -> None:
    out = io.StringIO()
    with Progress(terminal.console(out, no_color=False)) as progress:
        progress.stage("sweep")
        progress.advance(120)
        progress.stage("close")
    assert out.getvalue().splitlines() == ["sweep", "sweep: 120", "close"]


def test_a_step_outside_of_a_stage_is_no_error() -> None:
    out = io.StringIO()
    Progress(terminal.console(out, no_color=False)).advance()
    assert out.getvalue() == ""


@pytest.mark.parametrize("stream", [io.StringIO, Screen])
def test_quiet_shows_nothing(stream: type[io.StringIO]) -> None:
    out = stream()
    with Progress(terminal.console(out, no_color=False), quiet=True) as progress:
        progress.stage("triage", 1)
        progress.advance()
        progress.say("hello")
    assert out.getvalue() == ""


def test_on_a_terminal_there_is_a_bar_and_lines_stand_above_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    out = Screen()
    with Progress(terminal.console(out, no_color=False)) as progress:
        progress.stage("triage [b]", 2)
        progress.say("issue 7: [bold]waits[/bold] :smile:")
        progress.advance()
        progress.stage("close")
    assert "issue 7: [bold]waits[/bold] :smile:\n" in out.getvalue()
    assert "triage [b]" in out.getvalue()
    assert "\x1b[" in out.getvalue()


def test_a_dumb_terminal_gets_plain_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    out = Screen()
    with Progress(terminal.console(out, no_color=False)) as progress:
        progress.stage("triage", 2)
    assert out.getvalue() == "triage: 0 of 2\n"


@pytest.mark.parametrize("variable", ["FORCE_COLOR", "CLICOLOR_FORCE", "TTY_COMPATIBLE"])
def test_nothing_but_a_terminal_gets_colour(monkeypatch: pytest.MonkeyPatch, variable: str) -> None:
    monkeypatch.setenv(variable, "1")
    out = io.StringIO()
    terminal.console(out, no_color=False).print("x", style="bold red")
    assert out.getvalue() == "x\n"


def test_no_color_takes_the_colour_from_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    coloured, grey = Screen(), Screen()
    terminal.console(coloured, no_color=False).print("x", style="red")
    terminal.console(grey, no_color=True).print("x", style="red")
    assert (coloured.getvalue(), grey.getvalue()) == ("\x1b[31mx\x1b[0m\n", "x\n")


def test_every_thread_may_advance() -> None:
    out = io.StringIO()
    with Progress(terminal.console(out, no_color=False)) as progress:
        progress.stage("triage", 4000)
        threads = [threading.Thread(target=lambda: [progress.advance() for _ in range(1000)]) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert out.getvalue().splitlines()[-1] == "triage: 4000 of 4000"


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("two\nlines\tand more\r", "two lines and more"),
        ("red \x1b[31mtext\x07", "red [31mtext"),
        ("turned \u202eround\u200b", "turned round"),
        ("lone \ud800", "lone"),
        ("lone \ud800 \udcc3\udcbc", "lone"),
        ("/srv/\udcc3\udcbc/\udcff.db", "/srv/ü/\N{REPLACEMENT CHARACTER}.db"),
        ("::error::boo", ": :error::boo"),
        ("  ::set-output name=x::y", "  : :set-output name=x::y"),
        ("a ##[command]x", "a ## [command]x"),
        ("kept: a::b, ü, 漢, 🐛, `x`", "kept: a::b, ü, 漢, 🐛, `x`"),
    ],
)
def test_a_line_is_one_line_and_only_read(given: str, shown: str) -> None:
    assert terminal.plain(given) == shown


def test_of_several_repositories_each_line_says_whose_it_is_and_the_stages_of_all_stay() -> None:
    out = io.StringIO()
    with Progress(terminal.console(out, no_color=False)) as progress:
        one = Named(progress, "octo/demo")
        one.stage("sweep")
        one.advance(3)
        progress.stage("triage", 2)
        one.stage("learn")
        one.advance()
        one.say("a note")
    assert out.getvalue().splitlines() == [
        "octo/demo: sweep",
        "octo/demo: sweep: 3",
        "triage: 0 of 2",
        "octo/demo: a note",
        "triage: 1 of 2",
    ]
