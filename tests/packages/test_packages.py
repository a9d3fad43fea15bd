"""What is installed is what was tested: wheel and sdist, each in a clean environment, far from the checkout.

Needs a package index, as `pip` is configured; skipped where none can be reached.
"""

from __future__ import annotations

import email
import json
import os
import re
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import triagebot
from triagebot.cli.boundary import ExitCode

ROOT = Path(__file__).parents[2]
ISSUES = [{"title": "Crash on start", "body": "It crashes with an error."}, {"title": "Dark theme", "body": ""}]

# As it was before the guards of the tests took proxies and the home folder away: pip may need both.
_ENVIRON = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "COVERAGE", "COV_"))}


@dataclass(frozen=True, kw_only=True)
class Installed:
    """An environment with triagebot in it, and a folder to work in that is no checkout."""

    kind: str
    package: Path
    bin: Path
    folder: Path

    def pip(self, *words: str) -> None:
        _run([str(self.bin / "python"), "-m", "pip", "install", "-q", *words], self.folder, _ENVIRON)

    def run(self, *argv: str, code: int = 0, **env: str) -> subprocess.CompletedProcess[str]:
        """Run the installed program; nothing of the checkout or of this machine's settings is in its sight."""
        clean = {"PATH": f"{self.bin}:{os.defpath}", "HOME": str(self.folder), "NO_COLOR": "1", **env}
        return _run([str(self.bin / "triagebot"), *argv], self.folder, clean, code)


def _run(words: list[str], folder: Path, env: dict[str, str], code: int | None = 0) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(words, cwd=folder, env=env, capture_output=True, text=True, check=False, timeout=600)
    assert code in (None, done.returncode), f"{words} ended with {done.returncode}:\n{done.stdout}\n{done.stderr}"
    return done


@pytest.fixture(scope="module")
def _index(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("index")
    words = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--retries", "0", "hatchling"]
    if _run(words, folder, _ENVIRON, code=None).returncode:
        pytest.skip("no package index can be reached, and building and installing need one")


@pytest.fixture(scope="module")
def packages(_index: None, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The sdist, and the wheel that is built from the sdist and not from the checkout."""
    folder = tmp_path_factory.mktemp("dist")
    _run([sys.executable, "-m", "build", "--outdir", str(folder), str(ROOT)], folder, _ENVIRON)
    [wheel], [sdist] = folder.glob("*.whl"), folder.glob("*.tar.gz")
    return {"wheel": wheel, "sdist": sdist}


@pytest.fixture(scope="module", params=["wheel", "sdist"])
def installed(
    request: pytest.FixtureRequest, packages: dict[str, Path], tmp_path_factory: pytest.TempPathFactory
) -> Installed:
    folder = tmp_path_factory.mktemp(request.param)
    _run([sys.executable, "-m", "venv", str(folder / "venv")], folder, _ENVIRON)
    work = folder / "elsewhere"
    work.mkdir()
    made = Installed(kind=request.param, package=packages[request.param], bin=folder / "venv" / "bin", folder=work)
    made.pip(str(made.package))
    return made


pytestmark = pytest.mark.slow


# --- what is in them


def test_the_wheel_holds_the_package_whole_and_nothing_else(packages: dict[str, Path]) -> None:
    """Texts for the model, SQL, GraphQL documents, samples, schema, the typing mark; no tests and no cassettes."""
    ours = {f"triagebot/{path}" for path in _files(ROOT / "triagebot")}
    ours |= {f"triagebot/prompts/{path}" for path in _files(ROOT / "prompts")}
    with zipfile.ZipFile(packages["wheel"]) as wheel:
        found = set(wheel.namelist())
    info = f"triagebot-{triagebot.__version__}.dist-info"
    named = {"METADATA", "WHEEL", "RECORD", "entry_points.txt", "licenses/LICENSE"}
    assert found == ours | {f"{info}/{name}" for name in named}
    texts = ("prompts/*.j2", "templates/*.j2", "*.sql", "*.graphql", "sandbox/*.jsonl", "py.typed")
    for kind in texts:
        assert any(Path(name).match(kind) for name in found), kind


def test_the_sdist_holds_what_the_tests_need(packages: dict[str, Path]) -> None:
    with tarfile.open(packages["sdist"]) as sdist:
        found = {name.partition("/")[2] for name in sdist.getnames()}
    for folder in ("triagebot", "prompts", "tests", "cassettes", ".github"):
        assert {f"{folder}/{path}" for path in _files(ROOT / folder)} <= found
    assert {"README.md", "LICENSE", "pyproject.toml"} <= found


def _files(folder: Path) -> Iterator[str]:
    for path in folder.rglob("*"):
        if path.is_file() and "__pycache__" not in path.parts:
            yield str(path.relative_to(folder))


def test_the_papers_of_the_package_are_in_order(packages: dict[str, Path]) -> None:
    with zipfile.ZipFile(packages["wheel"]) as wheel:
        [paper] = [name for name in wheel.namelist() if name.endswith("/METADATA")]
        told = email.message_from_bytes(wheel.read(paper))
    assert told["Version"] == triagebot.__version__
    assert told["License-Expression"] == "MIT"
    assert told["Requires-Python"] == ">=3.11"
    assert set(told.get_all("Provides-Extra", [])) >= {"sandbox", "test"}


# --- what they do


def test_it_is_the_installed_one_and_tells_its_versions(installed: Installed) -> None:
    where = "import triagebot; print(triagebot.__file__)"
    found = _run([str(installed.bin / "python"), "-c", where], installed.folder, {}).stdout.strip()
    assert Path(found).is_relative_to(installed.bin.parent)
    told = installed.run("--version").stdout
    assert told.startswith(f"triagebot {triagebot.__version__}, Python ")
    assert not re.search(r"not found", told)


def test_the_drill_holds(installed: Installed) -> None:
    assert "3/3 single-winner" in installed.run("drill", "--times", "3", "--processes", "2").stdout


def test_a_dry_run_from_a_file_needs_nothing_but_a_model(installed: Installed, model_server: str) -> None:
    (installed.folder / "issues.json").write_text(
        "\n".join(json.dumps(issue | {"labels": [{"name": "bug"}]}) for issue in ISSUES), encoding="utf-8"
    )
    env = {"OPENAI_BASE_URL": model_server, "TRIAGEBOT_MODEL": "stand-in"}
    ran = installed.run("run", "--from", "issues.json", "--dry-run", "--format", "json", **env)
    payloads = json.loads(ran.stdout)["payloads"]
    assert {(each["issue"], each["action"]) for each in payloads} == {(1, "labels"), (1, "comment")}


def test_the_demo_needs_its_extra_and_says_so_and_plays_with_it(installed: Installed) -> None:
    without = installed.run("demo", code=ExitCode.MISCONFIGURED)
    assert "triagebot[sandbox]" in without.stderr
    installed.pip(f"{installed.package}[sandbox]")
    installed.run("demo")
