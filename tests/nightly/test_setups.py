"""A set-up that cannot work is one sentence that names the setting and the mend, exit 2, at most one model call."""

from __future__ import annotations

import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.world import Ran, World
from triagebot.sandbox import faults


def refused(world: World, ran: Ran, *words: str) -> None:
    """Assert one sentence on stderr with all `words`, no traceback, exit code 2, and that next to nothing was asked."""
    assert ran.code == 2, ran.err + ran.out
    lines = [line for line in ran.err.splitlines() if line.startswith("triagebot: ")]
    assert len(lines) == 1, ran.err
    for word in words:
        assert word in lines[0], lines[0]
    assert "Traceback" not in ran.err
    assert world.stand.count <= 1


@pytest.fixture(autouse=True)
def _issues(world: World) -> None:
    for n in range(3):
        world.repo.open_issue(title=f"Crash {n}", body="Error: it fails")


def test_no_token(world: World) -> None:
    refused(world, world.run(GITHUB_TOKEN=""), "GITHUB_TOKEN is not set", "give a token")


def test_wrong_token(world: World) -> None:
    refused(world, world.run(GITHUB_TOKEN="wrong"), "GITHUB_TOKEN")
    assert world.stand.count == 0


def test_no_repository(world: World) -> None:
    refused(world, world.run(GITHUB_REPOSITORY=""), "--repo OWNER/NAME", "GITHUB_REPOSITORY")


def test_unknown_repository(world: World) -> None:
    refused(world, world.run("--repo", "octo/nowhere"), "octo/nowhere")


def test_a_token_that_says_it_may_only_read(world: World) -> None:
    world.repo.permission = "READ"
    world.hub.add_token("ghp_reader", "ada")
    refused(world, world.run(GITHUB_TOKEN="ghp_reader"), "may only read", "GITHUB_TOKEN", "write access to issues")
    assert world.stand.count == 0


def test_a_token_that_may_not_write_and_does_not_tell_costs_one_call(world: World) -> None:
    world.hub.add_token("ghs_readonly", "triagebot-app[bot]", write=False)
    refused(world, world.run(GITHUB_TOKEN="ghs_readonly"), "GITHUB_TOKEN", "issues")
    assert world.stand.count == 1
    world.night()
    assert world.own_per_issue() == [1, 1, 1]


def test_archived(world: World) -> None:
    world.repo.archived = True
    refused(world, world.run(), "octo/demo is archived", "unarchive")


def test_issues_disabled(world: World) -> None:
    world.repo.issues_enabled = False
    refused(world, world.run(), "issues disabled", "switch them on")


def test_no_label_that_the_policy_allows(world: World) -> None:
    world.configure("labels: {allow: [kind/*]}")
    refused(world, world.run(), "labels.allow", "create labels")
    assert world.stand.count == 0


def test_an_api_address_that_answers_html(world: World) -> None:
    world.hub.faults.add(faults.html(faults.ANY), times=None)
    refused(world, world.run(), "GITHUB_API_URL")


def test_a_dead_api_address(world: World) -> None:
    refused(world, world.run(GITHUB_API_URL=f"http://127.0.0.1:{_free_port()}"), "GITHUB_API_URL")


def test_a_dead_model_endpoint(world: World) -> None:
    world.configure("model: {timeout: 1s, deadline: 3s, attempts: 5}\nselect: {horizon: off}")
    refused(world, world.run(OPENAI_BASE_URL=f"http://127.0.0.1:{_free_port()}/v1"), "OPENAI_BASE_URL")


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("404", ("stand-in", "TRIAGEBOT_MODEL")),
        ("410", ("OPENAI_BASE_URL",)),
        ("401", ("OPENAI_API_KEY",)),
        ("quota", ("quota",)),
        ("html", ("OPENAI_BASE_URL",)),
    ],
)
def test_a_model_endpoint_that_cannot_answer_any_issue(world: World, fault: str, words: tuple[str, ...]) -> None:
    world.stand.fault(fault, times=None)
    refused(world, world.run(), *words)
    world.stand.clear()
    world.night()
    assert world.own_per_issue() == [1, 1, 1], "no try was burnt"


def test_no_model_is_named(world: World) -> None:
    refused(world, world.run(TRIAGEBOT_MODEL=""), "TRIAGEBOT_MODEL", "model.name")


def test_an_unknown_key_names_the_nearest_one(world: World) -> None:
    world.configure("labels: {min_confidense: 0.5}")
    refused(world, world.run(), "labels.min_confidense", "labels.min_confidence")


def test_a_config_that_is_named_and_missing(world: World) -> None:
    (world.folder / "config.yml").unlink()
    refused(world, world.run(), "config.yml", "--config")


def test_a_lease_shorter_than_the_models_patience(world: World) -> None:
    world.configure("lease: 2m\nmodel: {deadline: 3m}")
    refused(world, world.run(), "lease", "model.deadline")


def _folder(path: Path) -> None:
    path.mkdir(parents=True)


def _corrupt(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"SQLite format 3\x00" + b"\x07" * 8000)


def _no_database(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("dear diary")


@pytest.mark.parametrize("spoil", [_folder, _corrupt, _no_database], ids=lambda f: f.__name__)
def test_a_ledger_that_cannot_be_used(world: World, spoil: Callable[[Path], None]) -> None:
    spoil(world.ledger)
    refused(world, world.run(), str(world.ledger))
    assert world.stand.count == 0
    assert world.hub.writes() == []


def test_a_ledger_path_that_cannot_be_written(world: World) -> None:
    refused(world, world.run(TRIAGEBOT_LEDGER="/proc/nowhere/ledger.db"), "/proc/nowhere")


def test_a_moved_aside_corrupt_ledger_goes_on_from_the_markers(world: World) -> None:
    world.night("--limit", "1")
    _corrupt(world.ledger)
    refused(world, world.run(), str(world.ledger), "move")
    world.lose_the_ledger()
    world.night()
    assert world.own_per_issue() == [1, 1, 1]
    assert world.stand.count == 3


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("missing.json", None, ("missing.json",)),
        ("broken.json", b'[{"title": "x"', ("broken.json",)),
        ("columns.csv", b"a,b\r\n1,2\r\n", ("columns.csv", "title")),
        ("picture.csv", b"\x89PNG\r\n\x1a\n\x00\xff", ("picture.csv",)),
        ("empty.json", b"", ("empty.json",)),
        ("nolabels.json", b'[{"title": "x", "body": "y"}]', ("label",)),
    ],
)
def test_a_file_that_is_missing_or_not_what_it_says(
    world: World, name: str, content: bytes | None, words: tuple[str, ...]
) -> None:
    file = world.folder / name
    if content is not None:
        file.write_bytes(content)
    refused(world, world.run("--from", str(file), GITHUB_TOKEN=""), *words)
    assert world.stand.count == 0


@pytest.mark.parametrize(
    ("argv", "word"),
    [
        (("--repo", "nonsense"), "--repo"),
        (("--day", "yesterday"), "--day"),
        (("--deadline", "soon"), "duration"),
        (("--workers", "many"), "--workers"),
        (("--unknown",), "--unknown"),
    ],
)
def test_usage(world: World, argv: tuple[str, ...], word: str) -> None:
    ran = world.run(*argv)
    assert ran.code == 2
    assert word in ran.err
    assert "Traceback" not in ran.err


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
