"""What a night tells, keeps and does not: every place where it speaks, and each way in which one may be closed."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.world import World
from triagebot.sandbox import faults
from triagebot.sandbox.hub import TOKEN

MODEL_KEY = "a-key-of-the-model-7c1d9e2f"
PASTED = "ghp_" + 36 * "a"
PASSWORD = "a-password-of-the-proxy"
SAID = {
    "the token": TOKEN,
    "the model's key": MODEL_KEY,
    "the key in base64": base64.b64encode(MODEL_KEY.encode()).decode(),
    "the proxy's password": PASSWORD,
    "a key that somebody pasted": PASTED,
    "a key that is cut": "x" * 478 + MODEL_KEY,
}


@pytest.fixture
def page(world: World) -> Path:
    world.env["GITHUB_STEP_SUMMARY"] = str(world.folder / "summary.md")
    return world.folder / "summary.md"


def kept(world: World) -> str:
    """Everything that the ledger holds, as bytes of its files: what was deleted from a table counts, too."""
    files = world.ledger.parent.glob(world.ledger.name + "*")
    return b"\n".join(file.read_bytes() for file in files).decode("latin-1")


def leaks(text: str) -> list[str]:
    parts = [*SAID.values(), MODEL_KEY[:12]]
    return [part for part in parts if part[-40:] in text or part in text]


@pytest.mark.parametrize("said", SAID)
@pytest.mark.parametrize("several", [False, True])
def test_a_secret_that_the_model_says_is_told_and_kept_nowhere(
    world: World, page: Path, said: str, several: bool
) -> None:
    number = world.crash()
    reason, name = f"it says {SAID[said]}", f"{SAID[said]}"
    votes = [{"name": "bug", "confidence": 0.9, "reason": reason}, {"name": name, "confidence": 0.9, "reason": name}]
    world.stand.script = lambda _: json.dumps({"labels": votes})
    world.env |= {"OPENAI_API_KEY": MODEL_KEY, "HTTPS_PROXY": f"http://user:{PASSWORD}@127.0.0.1:9"}
    more = ("--repo", "octo/demo", "--repo", "octo/gone") if several else ()
    text = world.run("--verbose", *more)
    world.crash("It crashes again")
    shown = world.run("--format", "json", *more)
    assert world.repo.issue(number).labels == ["bug"]
    told = text.out + text.err + shown.out + shown.err
    comments = "".join(comment.body for comment in world.repo.comments(number))
    assert leaks(told) == []
    assert leaks(page.read_text(encoding="utf-8")) == []
    assert leaks(kept(world)) == []
    assert leaks(comments) == []
    json.loads(shown.out)


class _Echo(BaseHTTPRequestHandler):
    """An endpoint that repeats the key in all it says, as OpenAI does in part where it refuses one."""

    status = 401

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        words = f"Incorrect API key provided: {self.headers['authorization']}, or {PASTED}"
        votes = '{"labels": [{"name": "bug", "confidence": 0.9, "reason": "it crashes"}]}'
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": votes}}
        answer = {"model": self.headers["authorization"], "choices": [choice]}
        body = json.dumps(answer if self.status == 200 else {"error": {"message": words}}).encode()
        self.send_response(self.status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def echo() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Echo) as server:
        threading.Thread(target=server.serve_forever).start()
        yield f"http://127.0.0.1:{server.server_port}/v1"
        server.shutdown()


@pytest.mark.parametrize("status", [401, 400, 500])
def test_a_key_that_an_endpoint_repeats_is_told_and_kept_nowhere(
    world: World, page: Path, echo: str, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_Echo, "status", status)
    world.crash()
    ran = world.run("--verbose", OPENAI_API_KEY=MODEL_KEY, OPENAI_BASE_URL=echo)
    assert ran.code in (1, 2)
    assert "Incorrect API key" in ran.err + ran.out
    assert leaks(ran.out + ran.err + page.read_text(encoding="utf-8") + kept(world)) == []


def test_a_model_whose_name_is_a_secret_is_told_and_kept_nowhere(
    world: World, page: Path, echo: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The endpoint says itself which model has answered."""
    monkeypatch.setattr(_Echo, "status", 200)
    number = world.crash()
    ran = world.run("--verbose", OPENAI_API_KEY=MODEL_KEY, OPENAI_BASE_URL=echo)
    assert world.repo.issue(number).labels == ["bug"]
    assert world.repo.comments(number) == []
    assert leaks(ran.out + ran.err + page.read_text(encoding="utf-8") + kept(world)) == []


@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("form", ["text", "json"])
def test_a_token_that_github_repeats_is_told_nowhere(world: World, page: Path, form: str, several: bool) -> None:
    number = world.crash()
    world.hub.faults.add(faults.answers(faults.POST_COMMENT, 422, {"message": f"Odd: {TOKEN}"}), times=None)
    more = ("--repo", "octo/demo", "--repo", "octo/gone") if several else ()
    ran = world.run("--format", form, "--verbose", *more)
    world.hub.faults.add(faults.answers(faults.REMOVE_LABEL, 422, {"message": f"Odd: {TOKEN}"}), times=None)
    undo = world.run("--format", form, "--issue", str(number), "--repo", "octo/demo", command="undo")
    told = ran.out + ran.err + page.read_text(encoding="utf-8") + undo.out + undo.err
    assert "Odd: [secret]" in ran.out
    assert "Odd: [secret]" in undo.out
    assert leaks(told) == []


# --- the step summary is there however the night ends


def test_a_night_that_could_not_be_says_why_in_the_step_summary(world: World, page: Path) -> None:
    world.crash()
    ran = world.run(GITHUB_TOKEN="wrong")
    assert ran.code == 2
    assert "### triagebot: exit code 2" in page.read_text(encoding="utf-8")
    assert "set a new GITHUB_TOKEN" in page.read_text(encoding="utf-8")
    page.unlink()
    world.configure("workers: none\n")
    assert world.run().code == 2
    assert "workers" in page.read_text(encoding="utf-8")


def test_where_no_repository_can_be_worked_on_it_is_told_once(world: World, page: Path) -> None:
    ran = world.run("--repo", "octo/gone", "--repo", "octo/lost")
    assert ran.code == 2
    assert "none of the 2 repositories" in ran.err
    assert page.read_text(encoding="utf-8").count("### ") == 1


def test_what_stops_a_night_half_way_is_told_once(world: World, page: Path) -> None:
    world.crash()
    world.night()
    page.unlink()
    world.repo.edit_issue(1, title="How do I install it?", body="")
    world.crash("It crashes too")
    world.stand.fault("401", times=None, skip=1)
    world.run("--workers", "1")
    assert page.read_text(encoding="utf-8").count("### ") == 1


READERS = {"a reader that is gone": "| true", "a closed stream": ">&-", "a full disk": "> /dev/full"}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("several", [False, True])
def test_the_step_summary_is_written_whatever_becomes_of_stdout(
    world: World, page: Path, reader: str, several: bool
) -> None:
    world.crash()
    more = ["--repo", "octo/demo", "--repo", "octo/demo2"] if several else []
    world.hub.create_repository("octo/demo2", labels=[("bug", "")])
    words = [sys.executable, "-m", "triagebot", "run", "--config", str(world.folder / "config.yml"), *more]
    script = f'"$@" {READERS[reader]}; exit ${{PIPESTATUS[0]}}'
    done = subprocess.run(
        ["bash", "-c", script, "bash", *words], env=os.environ | world.env, capture_output=True, text=True, check=False
    )
    assert done.returncode == (1 if "full" in reader else 0), done.stderr
    assert "1 labelled" in page.read_text(encoding="utf-8")
    assert "Traceback" not in done.stderr


def test_the_alarm_rings_with_its_stderr_closed(world: World) -> None:
    world.crash()
    world.night()
    words = [sys.executable, "-m", "triagebot", "status", "--repo", "octo/demo", "--max-age", "0s"]
    script = ["bash", "-c", '"$@" 2>&-', "bash", *words]
    assert subprocess.run(script, env=os.environ | world.env, capture_output=True, check=False).returncode == 1
