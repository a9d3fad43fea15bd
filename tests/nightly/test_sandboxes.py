"""The embedded parts as commands: what they print leads another process to them."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from triagebot.cli.main import main


@contextmanager
def serving(*argv: str) -> Iterator[str]:
    """Run `triagebot sandbox ...`; yields its first line."""
    words = [sys.executable, "-m", "triagebot", "sandbox", *argv, "--port", "0"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().strip()
        finally:
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=10)
    assert process.returncode == 130, err
    assert "Traceback" not in err


def settings(line: str) -> dict[str, str]:
    return dict(word.split("=", 1) for word in line.split())


def test_the_embedded_github_serves_the_issues_of_a_file(tmp_path: Path) -> None:
    file = tmp_path / "issues.json"
    file.write_text(json.dumps([{"title": "It crashes", "body": "", "labels": [{"name": "bug"}]}]))
    with serving("github", "--issues", str(file), "--repo", "ada/engine") as line:
        told = settings(line)
        assert told["GITHUB_REPOSITORY"] == "ada/engine"
        request = urllib.request.Request(f"{told['GITHUB_API_URL']}/repos/ada/engine/issues")
        request.add_header("Authorization", f"Bearer {told['GITHUB_TOKEN']}")
        with urllib.request.urlopen(request, timeout=10) as answer:
            assert [issue["title"] for issue in json.load(answer)] == ["It crashes"]


def test_the_embedded_model_answers_where_it_says(tmp_path: Path) -> None:
    with serving("model") as line:
        told = settings(line)
        assert told["TRIAGEBOT_MODEL"]
        with urllib.request.urlopen(f"{told['OPENAI_BASE_URL']}/models", timeout=10) as answer:
            assert json.load(answer)["object"] == "list"


@pytest.mark.parametrize("part", ["github", "model"])
def test_a_port_that_is_taken_is_a_setting_to_mend(part: str, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert main(["sandbox", part, "--port", port]) == 2
    assert f"--port {port}" in capsys.readouterr().err


def test_without_its_extra_the_sandbox_names_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert main(["sandbox", "model"]) == 2
    assert "triagebot[sandbox]" in capsys.readouterr().err
