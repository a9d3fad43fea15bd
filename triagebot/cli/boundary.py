"""The one place that turns what went wrong into words and an exit code. Deep code raises; only this answers.

What words need is imported when there are any: this module stands before everything else, `--version` included.
"""

from __future__ import annotations

import contextlib
import enum
import errno
import io
import os
import signal
import sys
from collections.abc import Callable, Mapping, Sequence

from triagebot.cli import streams, terminal
from triagebot.core.faults import Fault, Misconfigured

TYPE_CHECKING = False  # as type checkers know it; typing itself is a tenth of the time that `--version` takes
if TYPE_CHECKING:
    from typing import TextIO

    import typer

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EIO})


class ExitCode(enum.IntEnum):
    """What the process tells its caller; an interrupt adds 128 plus the signal's number."""

    DONE = 0
    INCOMPLETE = 1
    MISCONFIGURED = 2
    BUG = 3


class Told(Exception):
    """`fault` ended the work, and the step summary tells of it already."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(str(fault))
        self.fault = fault


class Interrupted(BaseException):
    """The process was asked to stop by signal `number`, and has put its state in order. No `Exception`: nothing
    on the way up may take it for a failure of its own."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def run(main: Callable[[], int | None], *, argv: Sequence[str], environ: Mapping[str, str]) -> int:
    """Run `main` and return the process's exit code, having said on stderr what went wrong, and in the step summary
    what has to be mended.

    `argv` (without secrets) goes into a bug report; `environ` tells the secrets, the step summary and the state folder.
    """
    streams.make_ready()
    try:
        code = main() or ExitCode.DONE
        _flush(sys.stdout)
    except SystemExit as asked:
        code = asked.code if isinstance(asked.code, int) else ExitCode.INCOMPLETE if asked.code else ExitCode.DONE
    except KeyboardInterrupt:
        code = _interrupted(signal.SIGINT)
    except Interrupted as stopped:
        code = _interrupted(stopped.number)
    except Exception as error:  # noqa: BLE001 - the boundary: whatever nobody expected is a bug, and is told as one
        code = _failed(error, argv, environ)
    _let_go(sys.stdout, sys.stderr)
    return int(code)


def _interrupted(number: int) -> int:
    _say(f"interrupted by {signal.Signals(number).name}; what was done is recorded, the next run goes on from there.")
    return 128 + number


def _failed(error: Exception, argv: Sequence[str], environ: Mapping[str, str]) -> int:
    import typer

    from triagebot.cli import bugreport
    from triagebot.cli.environment import redact, secrets_in

    if isinstance(error, typer.Abort):
        return _interrupted(signal.SIGINT)
    secrets = secrets_in(environ, argv)
    if isinstance(error, Fault | Told):
        return _stopped(error, redact(str(error), secrets), environ)
    if isinstance(error, typer.TyperException):
        _write(redact(_usage(error), secrets))
        if "\n" not in (sentence := error.format_message()):  # the help is no news
            _tell_the_step(redact(sentence, secrets), error.exit_code, environ)
        return error.exit_code
    if isinstance(error, OSError) and error.errno in _FULL:
        where = error.filename or "the output"
        _say(f"{where} could not be written: {error.strerror}; make room and run it again.")
        return ExitCode.INCOMPLETE
    _write(bugreport.write(error, argv=argv, environ=environ))
    return ExitCode.BUG


def _stopped(error: Fault | Told, sentence: str, environ: Mapping[str, str]) -> int:
    fault = error.fault if isinstance(error, Told) else error
    code = ExitCode.MISCONFIGURED if isinstance(fault, Misconfigured) else ExitCode.INCOMPLETE
    _say(sentence)
    if fault is error:
        _tell_the_step(sentence, code, environ)
    return code


def _tell_the_step(sentence: str, code: int, environ: Mapping[str, str]) -> None:
    """In Actions, who looks at a night that could not be sees the exit code first, and this beside it."""
    if there := environ.get("GITHUB_STEP_SUMMARY", "").strip():
        from pathlib import Path

        from triagebot.cli import pages

        pages.add(Path(there), pages.of_none(sentence, code))


def _usage(error: typer.TyperException) -> str:
    """What Typer would print: usage, hint and error, without colour."""
    shown = io.StringIO()
    show = getattr(error, "show", None)
    if show is None:
        return f"triagebot: {error.format_message()}\n"
    show(file=shown)
    return shown.getvalue()


def _say(sentence: str) -> None:
    _write(f"triagebot: {terminal.plain(sentence)}\n")


def _write(text: str) -> None:
    """Say it on stderr; where that is closed or full as well, the exit code has to do."""
    with contextlib.suppress(OSError, ValueError):
        sys.stderr.write(text)
        sys.stderr.flush()


def _flush(stream: TextIO) -> None:
    """A disk that fills up is often met only when the last buffer goes out."""
    if not stream.closed:
        stream.flush()


def _let_go(*written: TextIO) -> None:
    """What cannot be written any more goes to the void, or Python complains at exit and makes the exit code 120."""
    for stream in written:
        try:
            _flush(stream)
        except OSError:
            with contextlib.suppress(OSError, ValueError), open(os.devnull, "wb") as void:
                os.dup2(void.fileno(), stream.fileno())
