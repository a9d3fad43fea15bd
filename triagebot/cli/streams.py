"""The standard streams made fit for a night: whatever becomes of them, the work goes on and its exit code is its own.

Imported before everything else, `--version` included: needs no more than what Python has loaded anyway.
"""

from __future__ import annotations

import codecs
import contextlib
import errno
import io
import os
import sys

TYPE_CHECKING = False  # as type checkers know it; typing itself is a tenth of the time that `--version` takes
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Literal, TextIO

    from _typeshed import ReadableBuffer

_ESCAPE = "triagebot.escape"


def make_ready() -> None:
    """See that `sys.stdin`, `sys.stdout` and `sys.stderr` are open, take every character and outlive their readers.

    Whoever stops reading (`| head`) has seen enough, and the night goes on. What keeps stderr from being written,
    a terminal that is gone included, never ends it either: nothing but words for people goes there.
    """
    codecs.register_error(_ESCAPE, _escaped)
    sys.stdin = sys.stdin or _nowhere("r")
    sys.stdout = _lasting(sys.stdout, _reader_is_gone) if sys.stdout else _nowhere("w")
    sys.stderr = _lasting(sys.stderr, lambda _: True) if sys.stderr else _nowhere("w")


def _escaped(error: UnicodeError) -> tuple[str, int]:
    """What the stream's encoding has no letter for, as JSON writes it.

    Output for machines is JSON, where such characters stand in strings alone: it remains valid, and says the same.
    """
    if not isinstance(error, UnicodeEncodeError):
        raise error
    units = error.object[error.start : error.end].encode("utf-16-be", "surrogatepass")
    pairs = (units[at : at + 2] for at in range(0, len(units), 2))
    return "".join(f"\\u{int.from_bytes(pair, 'big'):04x}" for pair in pairs), error.end


def _reader_is_gone(error: OSError) -> bool:
    return error.errno in (errno.EPIPE, errno.ECONNRESET)


def _nowhere(mode: Literal["r", "w"]) -> TextIO:
    """An open stream in the place of one that was closed (`>&-`). It gets the lowest number that is free, its own: else
    the next file to be opened would, and with it what others write there."""
    return open(os.devnull, mode, encoding="utf-8", errors=_ESCAPE)


def _lasting(stream: TextIO, forgives: Callable[[OSError], bool]) -> TextIO:
    """The same stream, but one whose failures of a kind are forgiven; only a real one can be, and once."""
    if stream not in (sys.__stdout__, sys.__stderr__) or type(stream) is not io.TextIOWrapper:
        return stream
    with contextlib.suppress(OSError):
        stream.flush()
    try:
        raw = _Lasting(stream.fileno(), forgives)
    except (OSError, ValueError):
        return stream
    return io.TextIOWrapper(
        raw if stream.write_through else io.BufferedWriter(raw),  # as Python does with -u
        encoding=stream.encoding,
        errors=_ESCAPE,
        line_buffering=stream.line_buffering,
        write_through=stream.write_through,
    )


class _Lasting(io.FileIO):
    """An open file descriptor that leads to nowhere once a write to it has failed in a way that is forgiven."""

    def __init__(self, number: int, forgives: Callable[[OSError], bool]) -> None:
        super().__init__(number, "w", closefd=False)
        self._forgives = forgives

    def write(self, data: ReadableBuffer, /) -> int:
        try:
            return super().write(data)
        except OSError as error:
            if not self._forgives(error):
                raise
        void = os.open(os.devnull, os.O_WRONLY)
        os.dup2(void, self.fileno())
        os.close(void)
        return super().write(data)
