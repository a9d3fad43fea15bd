"""The recorded nights: each plays to its end from its cassette alone, and nothing on it is idle or secret."""

from __future__ import annotations

import copy
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
import requests
import vcr.errors

from tests.cassettes import nights, people, record, tape
from tests.contract import FOLDER, Contract
from triagebot.sandbox.exchange import Answer, Call, Exchange

ROOT = Path(__file__).parents[2]
CASSETTES = sorted(tape.FOLDER.glob("*.yaml"))

each_cassette = pytest.mark.parametrize("cassette", CASSETTES, ids=lambda path: path.stem)


def _told(cassette: Path) -> dict[str, Any]:
    return tape.load(cassette.read_text(encoding="utf-8"))


# --- playing


def test_there_are_recordings_of_whole_nights() -> None:
    """A first night, one after it, and one in which GitHub fails: each with questions, labels and a comment."""
    assert {"first-night", "second-night"} <= {path.stem for path in CASSETTES}
    for cassette in CASSETTES:
        asked = [f"{each['request']['method']} {each['request']['uri']}" for each in _told(cassette)["interactions"]]
        for part in ("POST https://api.github.com/graphql", "/chat/completions", "/labels", "/comments"):
            assert any(part in one for one in asked), f"{cassette.name} has no {part}"


@each_cassette
def test_a_recorded_night_plays_again(cassette: Path) -> None:
    """Through the same command line: the same requests, each once, and the same summary and exit code."""
    _assert_green(cassette)


@pytest.mark.parametrize(
    "cassette",
    [pytest.param(path, marks=[] if path.stem == "bad-gateway" else pytest.mark.slow) for path in CASSETTES],
    ids=lambda path: path.stem,
)
def test_every_interaction_is_needed_and_every_body_is_minded(cassette: Path, tmp_path: Path) -> None:
    """Without one interaction, or with one byte of a body changed, the night goes red."""
    copies = dict(_spoilt(_told(cassette)))
    for name, told in copies.items():
        (tmp_path / name).write_text(tape.dump(told), encoding="utf-8")
    verdicts = _verdicts(_play_apart(cassette, *(tmp_path / name for name in copies)))
    assert verdicts == {cassette.name: "green"} | dict.fromkeys(copies, "red")


def _spoilt(told: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Copies of a cassette, with one interaction taken out, or one byte changed."""
    for number, interaction in enumerate(told["interactions"]):
        fewer = copy.deepcopy(told)
        del fewer["interactions"][number]
        yield f"without-{number}", fewer
        for side, change in (("request", _another_word), ("response", _broken)):
            if "json" in interaction[side]:
                other = copy.deepcopy(told)
                part = other["interactions"][number][side]
                part["body"] = change(json.dumps(part.pop("json"), ensure_ascii=False))
                yield f"{side}-{number}", other


def _another_word(body: str) -> str:
    """One letter changed, and still JSON: the last one of a value."""
    place = max(found.start() for found in re.finditer(r"[A-Za-z0-9.](?=[^A-Za-z0-9.]*$)", body))
    return body[:place] + ("x" if body[place] != "x" else "y") + body[place + 1 :]


def _broken(body: str) -> str:
    """One byte changed, and no JSON any more. Most values in an answer of GitHub are nothing to triagebot."""
    return body[:-1] + " "


def _assert_green(*cassettes: Path) -> None:
    played = _play_apart(*cassettes)
    assert set(_verdicts(played).values()) == {"green"}, played.stderr


def _verdicts(played: subprocess.CompletedProcess[str]) -> dict[str, str]:
    lines = (line.partition(": ") for line in played.stdout.splitlines())
    return {Path(path).name: verdict for path, _, verdict in lines}


def _play_apart(*cassettes: Path) -> subprocess.CompletedProcess[str]:
    """In processes of their own: a night that goes red dies as of a bug, with its threads in full swing."""
    words = [sys.executable, "-m", "tests.cassettes.nights", *map(str, cassettes)]
    unmeasured = {name: value for name, value in os.environ.items() if not name.startswith("COV")}
    return subprocess.run(words, cwd=ROOT, env=unmeasured, capture_output=True, text=True, check=True, timeout=300)


@each_cassette
def test_a_cassette_is_not_edited_by_hand(cassette: Path) -> None:
    """Whatever byte of whatever body it is, also one that triagebot does not read."""
    text = cassette.read_text(encoding="utf-8")
    lines = text.splitlines(keepends=True)
    start = lines.index("interactions:\n")
    for number in range(start + 1, len(lines), 41):
        if found := re.search(r"[a-z](?=[^a-z]*$)", lines[number]):
            place = found.start()
            changed = lines[number][:place] + chr((ord(found[0]) - 96) % 26 + 97) + lines[number][place + 1 :]
            with pytest.raises((tape.Edited, KeyError, ValueError)):
                tape.load("".join([*lines[:number], changed, *lines[number + 1 :]]))


def test_a_write_is_not_answered_twice(tmp_path: Path) -> None:
    """A bot that posts twice what was recorded once must not find it answered."""
    told = _told(tape.FOLDER / "first-night.yaml")
    asked = next(each["request"] for each in told["interactions"] if each["request"]["uri"].endswith("/comments"))
    with tape.play(tape.FOLDER / "first-night.yaml"):
        assert requests.post(asked["uri"], json=asked["json"], timeout=5).status_code == 201
        with pytest.raises(vcr.errors.CannotOverwriteExistingCassetteException):
            requests.post(asked["uri"], json=asked["json"], timeout=5)


# --- recording


def test_recording_again_works_and_keeps_no_key(tmp_path: Path) -> None:
    token, key = "ghp_" + "a1B2" * 9, "sk-proj-" + "c3D4" * 12
    with people.sandbox(token, key) as world:
        world.prepare()
        made = record.everything(world, tmp_path)
    assert [path.name for path in made] == [path.name for path in _in_order(CASSETTES)]
    for path in made:
        text = path.read_text(encoding="utf-8")
        assert [word for word in (token, key, "127.0.0.1") if word in text] == []
    _assert_green(*made)


def _in_order(cassettes: list[Path]) -> list[Path]:
    return sorted(cassettes, key=lambda path: _told(path)["night"]["day"])


def test_the_real_thing_is_recorded_by_the_same_steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Against addresses that only the environment names; what was opened there is closed again."""
    monkeypatch.setattr(nights, "UNHURRIED", nights.AT_ONCE)
    with people.sandbox() as there:
        environ = {**there.env, "GITHUB_REPOSITORY": there.repo}
        world = record.real(environ, patience=0)
        world.prepare()
        first, second = record.everything(world, tmp_path)
        assert there.hub
        states = {issue.state for issue in there.hub.repository(there.repo).issues()}
    assert states == {"closed"}
    assert _told(second)["night"]["after"] == first.name
    _assert_green(first, second)


def test_a_repository_in_use_is_not_recorded_in() -> None:
    with people.sandbox() as world:
        world.open("Somebody's own issue", "")
        with pytest.raises(SystemExit, match="scratch repository"):
            world.prepare()


def test_a_recording_that_holds_its_key_is_not_kept(tmp_path: Path) -> None:
    """As when somebody wrote a token into an issue."""
    path = tmp_path / "leak.yaml"
    with people.sandbox() as world, pytest.raises(tape.SecretOnTape), tape.record(path, {}, [world.token]):
        requests.get(f"{world.github_url}/repos/{world.token}/none", timeout=5)
    assert not path.exists()


# --- nothing secret, nothing that GitHub would not say

SECRETS = {
    "a GitHub token": r"\b(gh[pousr]_|github_pat_)\w{16}",
    "an OpenAI key": r"\bsk-[\w-]{16}",
    "a key of a cloud": r"\b(AKIA|ASIA)[A-Z0-9]{16}\b|\bAIza[\w-]{30}",
    "a key of another service": r"\bxox[abprs]-\w{8}|\bglpat-\w{16}|\bhf_\w{16}",
    "a web token": r"\beyJ[\w-]{8,}\.[\w-]{8,}\.",
    "a private key": r"-----BEGIN [A-Z ]*PRIVATE KEY",
    "a header with a key": r"(?i)\b((proxy-)?authorization|(x-)?api-key)\b",
    "the value of one": r"(?i)\bbearer\s+\S{8}|\btoken\s+\w{20}",
    "a cookie": r"(?i)\b(set-)?cookie\b",
    "a trace of a request": r"(?i)\b(x-)?(github-)?request-id\b|\bcf-ray\b",
    "an organisation": r"(?i)\bopenai-(organization|project)\b|\borg-\w{16}",
    "a password in an address": r"://[^/\s:@]+:[^/\s:@]+@",
    "somebody's address": r"\b[\w.+-]+@[\w-]+\.[a-z]{2,}\b",
    "a long random word, no cursor": r"\b(?!Y3Vyc29y)(?=\w*[a-z])(?=\w*[A-Z])(?=\w*\d)\w{40,}\b|\b[0-9a-f]{40,}\b",
}


def _secrets_in(text: str) -> list[str]:
    return [f"{what}: {found[0][:12]}..." for what, shape in SECRETS.items() if (found := re.search(shape, text))]


@each_cassette
def test_no_cassette_holds_anything_shaped_like_a_secret(cassette: Path) -> None:
    assert _secrets_in(cassette.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    "leak",
    [
        "ghs_" + "Ab1" * 12,
        "github_pat_" + "Ab1" * 12,
        "sk-proj-" + "Ab1" * 12,
        "AKIA" + "ABCD1234" * 2,
        "AIza" + "Ab1-" * 9,
        "xoxb-" + "12345678",
        "glpat-" + "abcd1234" * 2,
        "hf_" + "abcd1234" * 3,
        "eyJhbGciOi" + "JIUzI1.eyJzdWIiOiIx.c2ln",
        "-----BEGIN RSA " + "PRIVATE KEY-----",
        "Authorization: x",
        "Bearer abcdefgh",
        "set-cookie: a=b",
        "x-request-id: 1",
        "cf-ray: 1",
        "openai-organization: acme",
        "org-" + "Ab1x" * 5,
        "https://me:word@proxy.test",
        "somebody@example.org",
        "Zz9" * 14,
        "deadbeef" * 5,
    ],
)
def test_the_search_for_secrets_finds_them(leak: str) -> None:
    assert _secrets_in(f"      x: {leak}\n")


@each_cassette
def test_only_headers_that_are_read_are_kept(cassette: Path) -> None:
    for each in _told(cassette)["interactions"]:
        assert {name.lower() for name in each["request"]["headers"]} <= tape.SENT
        assert set(each["response"]["headers"]) <= tape.ANSWERED


@pytest.mark.skipif(not FOLDER.is_dir(), reason="GitHub's published descriptions are not beside this checkout")
@each_cassette
def test_what_was_recorded_is_what_github_describes(cassette: Path) -> None:
    """Requests and answers of the cassettes are held to the published descriptions, whoever gave the answers."""
    contract = Contract(FOLDER)
    github = [each for each in _told(cassette)["interactions"] if each["request"]["uri"].startswith(tape.GITHUB)]
    assert [wrong for each in github for wrong in contract.faults_of(_exchange(**each))] == []
    assert all(contract.counts.values())


def _exchange(request: dict[str, Any], response: dict[str, Any]) -> Exchange:
    address = urlsplit(request["uri"])
    call = Call(
        method=request["method"],
        path=address.path,
        base=tape.GITHUB,
        query=dict(parse_qsl(address.query)),
        headers=request["headers"],
        body=json.dumps(request["json"]).encode() if "json" in request else b"",
    )
    status = response["status"]["code"]
    answer = Answer(status=status, body=json.dumps(response["json"]).encode() if "json" in response else b"")
    return Exchange(call=call, answer=answer, fault="recorded" if status >= 500 else None)
