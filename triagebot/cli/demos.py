"""`demo`: the play on the embedded parts, shown while it goes on. Decides nothing; the acts are in `triagebot.demo`."""

from __future__ import annotations

import sys
import tempfile
import textwrap
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from rich.console import Console
from rich.text import Text

from triagebot.cli import sandboxes, signals, terminal
from triagebot.cli.boundary import ExitCode, Interrupted
from triagebot.cli.environment import Environment
from triagebot.cli.progress import Progress

if TYPE_CHECKING:
    from triagebot.demo.acts import Act
    from triagebot.demo.play import Outcome, Scene
    from triagebot.demo.truth import Agreement

ITSELF = (sys.executable, "-m", "triagebot")

_INTRODUCTION = (
    "Each act is played by triagebot, and by a simple bot without a ledger that takes the issues without a label. Each "
    "has its own small GitHub and model, on this machine. Every night is a process, and the same goes wrong for both."
)
_NOTES = (
    "Shortened: the settle time is 0.5 s, not 60 s; there is no pause between writes, not 1 s; and where a night "
    "stalls or is killed its lease ends at once, not after 2 minutes.",
    "The model is a small classifier. It has learnt from older issues of the imaginary project that these belong to, "
    "and has never seen these.",
    "Calls are questions to the model; stored are new comments; twins are those among them on an issue that had got "
    "one; right are the issues that carry what they should.",
)
_HEADS = ("runs", "calls", "stored", "twins", "right")


@dataclass(frozen=True, kw_only=True, slots=True)
class _Layout:
    """How wide the columns are: the act's title, the counts of triagebot, and those of the other bot."""

    title: int
    counts: tuple[int, ...]
    beside: tuple[int, ...]

    @property
    def width(self) -> int:
        return self.title + sum(self.counts) + sum(self.beside)


_NARROW = _Layout(title=24, counts=(5, 6, 7, 6, 7), beside=(11, 6, 7))
_WIDE = _Layout(title=40, counts=(7, 8, 9, 8, 9), beside=(12, 9, 8, 9))

_READABLE = 100
"""Columns of running text; longer lines are hard to follow."""


def on_stdout(environ: Mapping[str, str]) -> int:
    """The demo as the command shows it."""
    console = terminal.console(sys.stdout, no_color=Environment.read(environ).no_color)
    return run(environ, console, bar=console.is_terminal)


def run(
    environ: Mapping[str, str],
    console: Console,
    *,
    command: Sequence[str] = ITSELF,
    acts: Sequence[Act] | None = None,
    bar: bool = False,
) -> int:
    """Play the demo; 0 if triagebot kept its promise, 1 if not. `command` starts triagebot, `acts` is some of them.

    Raises `Misconfigured` where the embedded parts are not installed, and `OffScript` where the bot that
    stands beside did not play its part.
    """
    sandboxes.need_the_extra()
    board = Board(console)
    board.open()
    from triagebot.demo import play  # now, while the introduction is read: it brings scikit-learn along
    from triagebot.demo.acts import ACTS

    scenes = []
    with signals.handling(_end), tempfile.TemporaryDirectory(prefix="triagebot-") as folder, ExitStack() as stack:
        progress = stack.enter_context(Progress(console, quiet=not bar))
        played = play.perform(command, environ, Path(folder), progress, acts=acts or ACTS)
        for scene in stack.enter_context(closing(played)):
            board.show(scene)
            scenes.append(scene)
    return board.close(scenes)


class Board:
    """Writes the table row by row, as wide as the console allows."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._layout = _WIDE if console.width >= _WIDE.width else _NARROW

    def open(self) -> None:
        self._say(_INTRODUCTION)
        for words in _NOTES:
            self._say(words, "dim")
        self._console.print()
        layout = self._layout
        mine, other = _over("triagebot", layout.counts), _over("without a ledger", layout.beside)
        self._console.print(Text(" " * layout.title + mine + other, "bold"))
        heads = _cells(_HEADS, layout.counts) + _cells(_HEADS[-len(layout.beside) :], layout.beside)
        self._console.print(Text(" " * layout.title + heads, "bold"))

    def show(self, scene: Scene) -> None:
        row = Text(f"{scene.number} {scene.act.title}".ljust(self._layout.title), "bold")
        row.append_text(_counts(scene.act.runs, scene.bot, self._layout.counts))
        row.append_text(_counts(scene.act.runs, scene.naive, self._layout.beside))
        self._console.print(row)
        self._say(scene.act.told, "dim", indent="  ")
        for sentence in scene.broken:
            self._say(f"broken: {terminal.plain(sentence)}", "red", indent="  ")

    def close(self, scenes: Sequence[Scene]) -> int:
        """The last word, and the exit code that it means."""
        last = scenes[-1]
        self._console.print()
        if last.broken:
            self._say(f"triagebot broke its promise in act {last.number}, so the demo ends here.", "bold red")
            return ExitCode.INCOMPLETE
        self._say(f"All {last.bot.issues} issues carry what they should.", "bold green")
        twins = sum(scene.naive.twins for scene in scenes)
        self._say(f"Without a ledger {last.naive.right} do, and {twins} comments too many were stored.")
        self._say(_compared(last.agreement))
        return ExitCode.DONE

    def _say(self, words: str, style: str = "", indent: str = "") -> None:
        width = min(self._layout.width, _READABLE)
        lines = textwrap.wrap(words, width, initial_indent=indent, subsequent_indent=indent)
        self._console.print(Text("\n".join(lines), style))


def _compared(found: Agreement) -> str:
    """How good the labels are, in one sentence: whoever watched should not take them for better than they are."""
    people = found.both + found.only_people
    beyond = f"and {found.only_model} that they did not" if found.only_model else "and no other"
    return (
        f"How good the model is, is another matter: it set {found.both} of the {people} labels that the project's "
        f"people had set, {beyond}."
    )


def _counts(runs: int, outcome: Outcome, widths: Sequence[int]) -> Text:
    """As many of the last columns as there are widths; twins and what is wrong stand out."""
    cells = (
        (f"{runs}", ""),
        (f"{outcome.calls}", ""),
        (f"{outcome.stored}", ""),
        (f"{outcome.twins}", "red" if outcome.twins else ""),
        (f"{outcome.right}/{outcome.issues}", "red" if outcome.wrong else "green"),
    )
    shown = zip(cells[-len(widths) :], widths, strict=True)
    return Text.assemble(*((f"{word:>{width}}", f"not bold {colour}".strip()) for (word, colour), width in shown))


def _cells(words: Sequence[str], widths: Sequence[int]) -> str:
    return "".join(f"{word:>{width}}" for word, width in zip(words, widths, strict=True))


def _over(words: str, widths: Sequence[int]) -> str:
    """A heading over some columns, with a rule as wide as they are."""
    return f"{f' {words} ':-^{sum(widths) - 2}}".rjust(sum(widths))


def _end(number: int) -> NoReturn:
    """Told to stop, the play ends by an exception, so that no process and no folder is left behind."""
    raise Interrupted(number)
