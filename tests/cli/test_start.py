"""The start: what is asked for most often loads least, and the way out is at hand before anything goes wrong."""

from __future__ import annotations

import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

import triagebot
from triagebot.cli import versions

_LIBRARIES = ("openai", "httpx2", "github", "sklearn", "numpy", "jinja2", "yaml", "rich")


def _python(code: str, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, check=False)


def _loaded(*words: str) -> set[str]:
    """The names of everything that `triagebot WORDS` has imported when it ends."""
    code = (
        "import sys; from triagebot.__main__ import entry\ntry: entry()\nfinally: print(*sys.modules, file=sys.stderr)"
    )
    done = _python(code, *words)
    assert done.returncode == 0, done.stderr
    return set(done.stderr.split())


def test_the_version_needs_no_library_at_all() -> None:
    assert not _loaded("--version") & {*_LIBRARIES, "typer", "pydantic", "importlib.metadata", "triagebot.cli.main"}


def test_the_help_needs_typer_alone() -> None:
    loaded = _loaded("--help")
    assert "typer" in loaded
    assert not loaded & {*_LIBRARIES, "pydantic", "triagebot.cli.wiring", "triagebot.ledger.ledger"}


@pytest.mark.parametrize("words", [["--version"], ["--version", "run"]])
def test_the_version_is_the_same_on_every_way(words: list[str]) -> None:
    """Alone it is answered early; beside other words the command line answers it."""
    done = subprocess.run([sys.executable, "-m", "triagebot", *words], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{versions.line()}\n", "")


def test_the_versions_are_those_that_the_installer_knows() -> None:
    told = versions.line()
    assert told.startswith(f"triagebot {triagebot.__version__}, Python {sys.version_info.major}.")
    for name in ("PyGithub", "openai", "tenacity", "typer", "rich", "jinja2", "pyyaml", "pydantic"):
        assert f"{name} {metadata.version(name)}" in told


def test_a_library_whose_folder_is_not_named_so_is_asked_about(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """As where a distribution has packaged it, or an archive holds it."""
    egg = tmp_path / "tenacity.egg-info"
    egg.write_text("Metadata-Version: 2.1\nName: tenacity\nVersion: 1.2.3\n")
    monkeypatch.setattr(sys, "path", [str(tmp_path), str(tmp_path / "gone")])
    assert "tenacity 1.2.3, typer (not found)" in versions.line()


def test_a_version_that_cannot_be_written_is_told_in_one_sentence() -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "triagebot", "--version"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "No space left on device" in done.stderr


def test_a_bug_is_told_where_no_file_can_be_opened_any_more() -> None:
    """What tells it is imported before anything else is done."""
    code = """
import resource, sys, typer
from triagebot.cli import ledgers, main
def status(*_, **__):
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))
    raise RuntimeError("nobody expected this")
ledgers.status = status
sys.exit(main.main(["status"]))
"""
    done = _python(code)
    assert done.returncode == 3, done.stderr
    assert "this is a bug in triagebot" in done.stderr
    assert "nobody expected this" in done.stderr
