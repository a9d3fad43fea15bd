"""The edge of the process: whatever its streams are, the work is done, told as far as can be, and its code is kept."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

ODD = "é 中 🔥 \ud800 \x9b"
"""Beyond ASCII, beyond Latin-1, beyond the first plane, half a character, and a control."""


def _python(code: str, *, shell: str = "", **env: str) -> subprocess.CompletedProcess[bytes]:
    """Run code inside the boundary, its streams redirected as a shell does it."""
    wrapped = f"import json, os, sys\nfrom triagebot.cli import boundary\n{code}\n"
    wrapped += "sys.exit(boundary.run(main, argv=(), environ=os.environ))"
    words = ["bash", "-c", f'exec "$0" -c "$1" {shell}', sys.executable, wrapped]
    return subprocess.run(words, env=os.environ | env, capture_output=True, check=False)


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8", "utf-16-le", "cp1252"])
def test_json_says_the_same_in_every_encoding(encoding: str) -> None:
    code = f"def main(): json.dump({{'title': {ODD!a}}}, sys.stdout, ensure_ascii=False)"
    done = _python(code, PYTHONIOENCODING=encoding)
    assert (done.returncode, done.stderr) == (0, b"")
    assert json.loads(done.stdout.decode(encoding)) == {"title": ODD}


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_in_a_locale_without_letters_they_are_written_out(stream: str) -> None:
    code = f"def main(): sys.{stream}.write({ODD!a})"
    done = _python(code, LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0")
    assert done.returncode == 0
    assert getattr(done, stream) == b"\\u00e9 \\u4e2d \\ud83d\\udd25 \\ud800 \\u009b"


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("code", [0, 1, 2])
def test_who_stops_reading_changes_neither_the_work_nor_its_code(code: int, unbuffered: str) -> None:
    program = f"""
def main():
    os.close(reader)
    for _ in range(5000): print('x' * 80)
    sys.stderr.write('worked to the end')
    return {code}
reader, writer = os.pipe()
os.dup2(writer, 1)
"""
    done = _python(program, PYTHONUNBUFFERED=unbuffered)
    assert (done.returncode, done.stderr) == (code, b"worked to the end")


def test_a_stderr_that_takes_nothing_ends_no_night() -> None:
    """As when the terminal is gone, or nobody reads on: only words for people are lost."""
    program = """
def main():
    os.close(reader)
    for _ in range(5000): sys.stderr.write('x' * 80 + '\\n')
    print('worked to the end')
reader, writer = os.pipe()
os.dup2(writer, 2)
"""
    done = _python(program)
    assert (done.returncode, done.stdout) == (0, b"worked to the end\n")


@pytest.mark.parametrize("shell", [">&-", "2>&-", ">&- 2>&-", "<&- >&- 2>&-"])
def test_a_closed_stream_is_an_empty_one(shell: str) -> None:
    program = """
def main():
    print('out'); sys.stdout.flush()
    sys.stderr.write('err'); sys.stdin.isatty()
    first = os.open('/dev/null', os.O_RDONLY)
    return 3 if first < 3 else 1  # else what is opened next gets the words of others
"""
    assert _python(program, shell=shell).returncode == 1


@pytest.mark.parametrize(
    ("command", "at"),
    [
        ("--version", "triagebot.cli.boundary"),
        ("--version", "triagebot.cli.versions"),
        ("status", "triagebot.cli.main"),
        ("status", "typer"),
        ("status", "triagebot.cli.ledgers"),
    ],
)
def test_ctrl_c_while_modules_are_imported_is_130_and_no_traceback(command: str, at: str) -> None:
    code = f"""
import os, signal, sys
class Press:
    def find_spec(self, name, *_):
        if name == {at!r}:
            sys.stdout.write('pressed')
            os.kill(os.getpid(), signal.SIGINT)
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.meta_path.insert(0, Press())
from triagebot.__main__ import entry
entry()
"""
    done = subprocess.run([sys.executable, "-c", code, command], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (130, "pressed"), done.stderr
    assert "Traceback" not in done.stderr
    assert done.stderr.count("\n") <= 1
