"""The boundary: every end has its exit code and its words, and a bug leaves a report fit to paste."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, NoReturn

import pytest
import typer

import triagebot
from triagebot.cli import boundary, durations
from triagebot.core import faults

TOKEN = "a-github-token-of-some-length"


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return {"HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path / "state"), "GITHUB_TOKEN": TOKEN}


def _raising(error: BaseException) -> Callable[[], NoReturn]:
    def main() -> NoReturn:
        raise error

    return main


@pytest.fixture
def end(environ: dict[str, str], capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str]]:
    """Run something and return its exit code and what stood on stderr."""

    def ended(main: Callable[[], int | None] | BaseException, *argv: str) -> tuple[int, str]:
        program = _raising(main) if isinstance(main, BaseException) else main
        code = boundary.run(program, argv=argv, environ=environ)
        return code, capsys.readouterr().err

    return ended


End = Callable[..., tuple[int, str]]


@pytest.mark.parametrize("code", [0, 1, 2, 130])
def test_an_ordinary_end_keeps_its_code_and_says_nothing(end: End, code: int) -> None:
    assert end(lambda: code) == (code, "")


def test_no_code_is_success(end: End) -> None:
    assert end(lambda: None) == (0, "")


@pytest.mark.parametrize(("asked", "code"), [(SystemExit(), 0), (SystemExit(3), 3), (SystemExit("words"), 1)])
def test_a_call_to_exit_is_obeyed(end: End, asked: SystemExit, code: int) -> None:
    assert end(asked) == (code, "")


def test_a_setting_that_cannot_work_is_one_sentence_and_code_2(end: End) -> None:
    assert end(faults.Misconfigured("No token; set GITHUB_TOKEN.")) == (2, "triagebot: No token; set GITHUB_TOKEN.\n")


@pytest.mark.parametrize("kind", [faults.LedgerUnusable, faults.NotPermitted, faults.ReadOnly, faults.ModelUnusable])
def test_what_ends_a_night_for_good_is_code_2(end: End, kind: type[faults.Fault]) -> None:
    assert end(kind("x"))[0] == 2


@pytest.mark.parametrize("kind", [faults.LedgerBusy, faults.LeaseLost, faults.Unclear, faults.ModelUnreachable])
def test_any_other_expected_failure_is_code_1(end: End, kind: type[faults.Fault]) -> None:
    assert end(kind("x is busy.")) == (1, "triagebot: x is busy.\n")


def test_a_sentence_holds_no_secret_and_no_second_line(end: End) -> None:
    assert end(faults.Unclear(f"sent {TOKEN}\n::error::x\x1b[1m")) == (1, "triagebot: sent [secret] ::error::x[1m\n")


@pytest.mark.parametrize(
    ("stop", "code", "name"),
    [
        (KeyboardInterrupt(), 130, "SIGINT"),
        (typer.Abort(), 130, "SIGINT"),
        (boundary.Interrupted(signal.SIGINT), 130, "SIGINT"),
        (boundary.Interrupted(signal.SIGTERM), 143, "SIGTERM"),
        (boundary.Interrupted(signal.SIGHUP), 129, "SIGHUP"),
    ],
)
def test_an_interrupt_is_128_plus_the_signal(end: End, stop: BaseException, code: int, name: str) -> None:
    got, said = end(stop)
    assert (got, said.count("\n")) == (code, 1)
    assert f"interrupted by {name}" in said


def test_nothing_takes_an_interrupt_for_a_failure_of_its_own() -> None:
    assert not issubclass(boundary.Interrupted, Exception)


# --- the step summary


@pytest.fixture
def page(environ: dict[str, str], tmp_path: Path) -> Path:
    environ["GITHUB_STEP_SUMMARY"] = str(tmp_path / "summary.md")
    return tmp_path / "summary.md"


def test_what_has_to_be_mended_stands_in_the_step_summary_as_data_without_a_secret(end: End, page: Path) -> None:
    page.write_text("before\n")
    end(faults.Misconfigured(f"No token {TOKEN}; set GITHUB_TOKEN.\n<b>`\x1b[1m\u202e|"))
    told = "before\n\n### triagebot: exit code 2\n\n`No token [secret]; set GITHUB_TOKEN. <b>'¦`\n"
    assert page.read_text(encoding="utf-8") == told
    end(faults.LedgerBusy("The ledger is busy."))
    assert page.read_text(encoding="utf-8").endswith("### triagebot: exit code 1\n\n`The ledger is busy.`\n")


def test_what_the_step_summary_tells_already_is_not_told_there_again(end: End, page: Path) -> None:
    assert end(boundary.Told(faults.Misconfigured(f"sent {TOKEN}"))) == (2, "triagebot: sent [secret]\n")
    assert end(boundary.Told(faults.Unclear("x")))[0] == 1
    assert not page.exists()


def test_a_step_summary_that_cannot_be_written_changes_nothing_else(end: End, page: Path) -> None:
    page.mkdir()
    code, said = end(faults.Misconfigured("No token."))
    assert (code, said.splitlines()[0]) == (2, "triagebot: No token.")
    assert f"GITHUB_STEP_SUMMARY {page} cannot be written" in said


def test_a_wrong_flag_is_told_in_the_step_summary_and_the_help_is_not(end: End, app: typer.Typer, page: Path) -> None:
    end(lambda: app(["--agge", "5m"], standalone_mode=False))
    assert "`No such option: --agge" in page.read_text(encoding="utf-8")
    page.unlink()
    end(lambda: 2)
    assert not page.exists()


# --- usage, through Typer itself


@pytest.fixture
def app() -> typer.Typer:
    program = typer.Typer()

    @program.command()
    def wait(age: Annotated[float | None, typer.Option(parser=durations.parse)] = None) -> None:
        typer.echo(age)

    return program


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["--age", "5x"], "'5x' is not a duration: write 20s, 15m, 26h or 30d"),
        (["--agge", "5m"], "No such option: --agge"),
        ([f"{TOKEN}"], "unexpected extra argument"),
    ],
)
def test_a_usage_error_is_code_2_with_its_usage(end: End, app: typer.Typer, argv: list[str], words: str) -> None:
    code, said = end(lambda: app(argv, standalone_mode=False, prog_name="triagebot"), *argv)
    assert code == 2
    assert "Usage: triagebot [OPTIONS]" in said
    assert words in said
    assert TOKEN not in said


def test_a_usage_that_is_right_runs(end: End, app: typer.Typer) -> None:
    assert end(lambda: app(["--age", "5m"], standalone_mode=False)) == (0, "")


# --- bugs


def test_a_bug_is_code_3_with_a_report_to_paste(end: End) -> None:
    code, said = end(ZeroDivisionError("a `b` ```c``` d"), "run", "--repo", "o/r")
    assert code == 3
    assert "this is a bug in triagebot" in said
    assert f"- triagebot {triagebot.__version__}, Python 3." in said
    assert "PyGithub 2." in said
    assert "```text\ntriagebot run --repo o/r\n```" in said
    assert "\n````text\nTraceback (most recent call last):" in said
    assert "ZeroDivisionError: a `b` ```c``` d\n````" in said


def test_a_report_is_kept_for_its_owner_alone(end: End, tmp_path: Path) -> None:
    _, said = end(ZeroDivisionError())
    [kept] = (tmp_path / "state" / "triagebot").iterdir()
    assert str(kept) in said
    assert said.endswith(kept.read_text(encoding="utf-8"))
    assert kept.stat().st_mode & 0o777 == 0o600


def test_a_report_holds_no_secret(end: End, tmp_path: Path) -> None:
    error = RuntimeError(f"401 for {TOKEN}")
    error.__cause__ = ValueError(TOKEN)
    _, said = end(error, "run", "--repo", TOKEN)
    assert said.count("[secret]") >= 3
    [kept] = (tmp_path / "state" / "triagebot").iterdir()
    assert TOKEN not in said + kept.read_text(encoding="utf-8")


def test_a_state_folder_that_cannot_be_written_does_not_hide_the_bug(
    end: End, environ: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "state").write_text("a file where the folder should be")
    code, said = end(ZeroDivisionError())
    assert code == 3
    assert "Traceback" in said
    assert "also in" not in said


def test_a_broken_pipe_that_is_not_our_output_is_a_bug(end: End) -> None:
    assert end(BrokenPipeError(32, "Broken pipe"))[0] == 3


# --- real processes, real streams


def _start(program: str, environ: dict[str, str], **streams: object) -> subprocess.Popen[bytes]:
    """Start a program inside the boundary, with buffered streams as most people have them."""
    wrapped = f"import os, sys\nfrom triagebot.cli import boundary\n{program}\n"
    wrapped += "sys.exit(boundary.run(main, argv=sys.argv[1:], environ=os.environ))"
    return subprocess.Popen(
        [sys.executable, "-c", wrapped], env=os.environ | environ | {"PYTHONUNBUFFERED": ""}, **streams
    )  # type: ignore[call-overload,no-any-return]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
@pytest.mark.parametrize("lines", [1, 100_000])
def test_a_full_disk_is_a_sentence(environ: dict[str, str], lines: int) -> None:
    """One line is met at the last flush, many in the middle."""
    with open("/dev/full", "wb") as full:
        process = _start(f"def main():\n  for _ in range({lines}): print('x')", environ, stdout=full, stderr=-1)
        _, said = process.communicate(timeout=30)
    assert said == b"triagebot: the output could not be written: No space left on device; make room and run it again.\n"
    assert process.returncode == 1


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_when_stderr_is_full_as_well_the_code_still_tells(environ: dict[str, str]) -> None:
    with open("/dev/full", "wb") as full:
        process = _start("def main():\n  raise ValueError('x')", environ, stdout=full, stderr=full)
        assert process.wait(30) == 3


def test_ctrl_c_ends_with_130(environ: dict[str, str]) -> None:
    # Told to listen, for what is started in the background of a shell ignores SIGINT; and in a loop, since a
    # signal that comes right before one long wait would be noticed only at its end.
    program = (
        "import signal, time\ndef main():\n  signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "  print('up', flush=True)\n  while True: time.sleep(0.05)"
    )
    process = _start(program, environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=30)
    assert process.returncode == 130
    assert said.startswith(b"triagebot: interrupted by SIGINT")
