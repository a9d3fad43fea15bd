"""How lines reach a screen or a log: nothing in them can act, and colour only where somebody can see it."""

from __future__ import annotations

TYPE_CHECKING = False  # see `boundary`
if TYPE_CHECKING:
    from typing import TextIO

    from rich.console import Console


def plain(text: str) -> str:
    """Return `text` as one line that is only read, whoever wrote it.

    Control and format characters go (they move cursors, turn text round, hide it), and what
    GitHub's runner would take for a command to itself is broken: `::` at the start of a line
    and `##[` anywhere.
    """
    spaced = "".join(" " if character in "\r\n\t" else character for character in _decoded(text))
    line = "".join(character for character in spaced if character.isprintable()).rstrip().replace("##[", "## [")
    return line.replace("::", ": :", 1) if line.lstrip().startswith("::") else line


def _decoded(text: str) -> str:
    """A path beyond the locale's encoding comes from Python as lone surrogates, which nobody could read."""
    try:
        return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    except UnicodeEncodeError:  # lone surrogates that stand for no byte
        return text


def console(stream: TextIO, *, no_color: bool) -> Console:
    """A console that never styles what it is given: an issue title may hold `[bold]`, a number or `:smile:`.

    Rich takes FORCE_COLOR and its like for a terminal; here only a terminal is one.
    """
    from rich.console import Console

    seen = stream.isatty()
    return Console(file=stream, force_terminal=seen, no_color=no_color, markup=False, emoji=False, highlight=False)
