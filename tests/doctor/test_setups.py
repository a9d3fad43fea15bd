"""`doctor` on set-ups that cannot work: the one thing that is broken is named with its mend, and nothing is written."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Mapping
from datetime import timedelta
from pathlib import Path

import pytest

from tests.keys import rsa_pair
from tests.world import CONFIG, World
from triagebot.cli.doctors import CHECKS
from triagebot.sandbox import faults
from triagebot.sandbox.arming import On
from triagebot.sandbox.hub import BOT

Env = Mapping[str, str]
Spoil = Callable[[World], Env | None]


def no_token(world: World) -> Env:
    return {"GITHUB_TOKEN": ""}


def wrong_token(world: World) -> Env:
    return {"GITHUB_TOKEN": "ghp_of_yesterday"}


def a_token_without_the_scope(world: World) -> Env:
    world.hub.add_token("ghp_reader", "ada", headers={"x-oauth-scopes": "read:org, gist"})
    return {"GITHUB_TOKEN": "ghp_reader"}


def a_token_for_public_repositories_alone(world: World) -> Env:
    world.repo.private = True
    world.hub.add_token("ghp_public", "ada", headers={"x-oauth-scopes": "public_repo"})
    return {"GITHUB_TOKEN": "ghp_public"}


def a_role_that_may_only_read(world: World) -> Env:
    world.repo.permission = "READ"
    world.hub.add_token("ghp_reader", "ada", headers={"x-oauth-scopes": "repo"})
    return {"GITHUB_TOKEN": "ghp_reader"}


def no_repository(world: World) -> Env:
    return {"GITHUB_REPOSITORY": ""}


def unknown_repository(world: World) -> Env:
    return {"GITHUB_REPOSITORY": "octo/nowhere"}


def archived(world: World) -> None:
    world.repo.archived = True


def issues_switched_off(world: World) -> None:
    world.repo.issues_enabled = False


def no_label_left(world: World) -> None:
    world.configure(CONFIG + "labels: {allow: [kind/*]}")


def a_misspelt_setting(world: World) -> None:
    world.configure("labels: {min_confidense: 0.5}")


def a_blank_in_the_key(world: World) -> Env:
    return {"OPENAI_API_KEY": "Bearer sk-1"}


def a_web_page_for_an_api(world: World) -> None:
    world.hub.faults.add(faults.html(faults.ANY), times=None)


def nobody_at_the_address(world: World) -> Env:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return {"GITHUB_API_URL": f"http://127.0.0.1:{taken.getsockname()[1]}"}


def no_authorities(world: World) -> Env:
    return {"SSL_CERT_FILE": str(world.folder / "ca.pem")}


def authorities_that_are_none(world: World) -> Env:
    (world.folder / "ca.pem").write_text("no certificate")
    return {"SSL_CERT_FILE": str(world.folder / "ca.pem")}


def no_model(world: World) -> Env:
    return {"TRIAGEBOT_MODEL": ""}


def no_key(world: World) -> Env:
    return {"OPENAI_BASE_URL": "https://api.openai.com/v1"}


def a_ledger_of_junk(world: World) -> None:
    world.ledger.parent.mkdir()
    world.ledger.write_bytes(b"SQLite format 3\x00" + b"\x07" * 8000)


def a_ledger_of_tomorrow(world: World) -> None:
    world.night()
    world.sql("PRAGMA user_version = 99")
    world.hub.faults.clear()


def a_folder_for_a_ledger(world: World) -> None:
    world.ledger.mkdir(parents=True)


def no_room_for_a_ledger(world: World) -> Env:
    return {"TRIAGEBOT_LEDGER": "/proc/nowhere/ledger.db"}


def a_clock_of_yesterday(world: World) -> None:
    later = world.hub.now() + timedelta(days=1, minutes=1)
    world.hub.now = lambda: later


def an_hour_used_up(world: World) -> None:
    world.run("--dry-run")
    world.hub.limits.quota["graphql"] = 1


def an_app_without_its_key(world: World) -> Env:
    return {"TRIAGEBOT_APP_ID": "7"}


def _app(world: World, **given: str) -> dict[str, str]:
    app = world.hub.apps.add(BOT, rsa_pair().public, "octo/demo")
    return {
        "TRIAGEBOT_APP_ID": str(app.id),
        "TRIAGEBOT_APP_PRIVATE_KEY": rsa_pair().private,
        "GITHUB_TOKEN": "",
    } | given


def an_app_with_another_key(world: World) -> Env:
    return _app(world, TRIAGEBOT_APP_PRIVATE_KEY=rsa_pair("another").private)


def a_key_that_is_nowhere(world: World) -> Env:
    return _app(world, TRIAGEBOT_APP_PRIVATE_KEY=str(world.folder / "app.pem"))


def a_key_that_is_none(world: World) -> Env:
    (world.folder / "app.pem").write_text("dear diary")
    return _app(world, TRIAGEBOT_APP_PRIVATE_KEY=str(world.folder / "app.pem"))


def an_app_that_is_not_installed(world: World) -> Env:
    world.hub.create_repository("octo/other")
    return _app(world, GITHUB_REPOSITORY="octo/other")


def an_app_without_permission(world: World) -> Env:
    env = _app(world)
    next(iter(world.hub.apps)).issues = None
    return env


def an_app_that_may_only_read(world: World) -> Env:
    env = _app(world)
    next(iter(world.hub.apps)).issues = "read"
    return env


def no_identity(world: World) -> None:
    world.hub.faults.add(faults.odd(On(operation="Viewer"), {"data": {"viewer": None}}), times=None)


BROKEN: list[tuple[Spoil, str, str]] = [
    (no_token, "token", "give a token that may write issues"),
    (wrong_token, "token", "set a new GITHUB_TOKEN"),
    (a_token_without_the_scope, "token", "give it the scope repo"),
    (a_token_for_public_repositories_alone, "token", "give it the scope repo"),
    (a_role_that_may_only_read, "repository", "use a GITHUB_TOKEN with write access"),
    (no_repository, "repository", "give --repo OWNER/NAME"),
    (unknown_repository, "repository", "Check --repo (octo/nowhere)"),
    (archived, "repository", "unarchive it"),
    (issues_switched_off, "repository", "switch them on"),
    (no_label_left, "labels", "widen labels.allow"),
    (a_misspelt_setting, "settings", "labels.min_confidence"),
    (a_blank_in_the_key, "settings", "set it to the key alone"),
    (a_web_page_for_an_api, "github", "GITHUB_API_URL"),
    (nobody_at_the_address, "github", "check the network, the proxy and GITHUB_API_URL"),
    (no_authorities, "github", "name a PEM file"),
    (authorities_that_are_none, "github", "name a PEM file"),
    (no_model, "endpoint", "set TRIAGEBOT_MODEL"),
    (no_key, "endpoint", "give a key"),
    (a_ledger_of_junk, "ledger", "move it aside"),
    (a_ledger_of_tomorrow, "ledger", "upgrade triagebot"),
    (a_folder_for_a_ledger, "ledger", "name a file"),
    (no_room_for_a_ledger, "ledger", "TRIAGEBOT_LEDGER"),
    (a_clock_of_yesterday, "clock", "NTP"),
    (an_hour_used_up, "limits", "wait until"),
    (an_app_without_its_key, "settings", "set both or neither"),
    (an_app_with_another_key, "token", "give a key of the App"),
    (a_key_that_is_nowhere, "token", "give the path of the .pem file"),
    (a_key_that_is_none, "token", "give the text of the .pem file"),
    (an_app_that_is_not_installed, "token", "install it there"),
    (an_app_without_permission, "token", 'give the App the permission "Issues: Read and write"'),
    (an_app_that_may_only_read, "repository", 'give it the permission "Issues: Read and write"'),
    (no_identity, "identity", "Check GITHUB_TOKEN"),
]


def _lie_there(folder: Path) -> dict[str, bytes]:
    """Every file but those that SQLite keeps beside a database that is read."""
    files = [file for file in sorted(folder.rglob("*")) if file.is_file() and file.suffix not in (".db-wal", ".db-shm")]
    return {str(file): file.read_bytes() for file in files}


@pytest.mark.parametrize(("spoil", "check", "mend"), BROKEN, ids=lambda value: getattr(value, "__name__", ""))
def test_what_is_broken_is_named_with_its_mend(
    world: World, doctor: Callable[..., tuple[int, dict[str, dict[str, str]]]], spoil: Spoil, check: str, mend: str
) -> None:
    env = spoil(world) or {}
    files, writes, asked = _lie_there(world.folder), len(world.hub.writes()), world.stand.count
    code, found = doctor(**env)
    assert code == 2
    assert [name for name, finding in found.items() if finding["state"] == "broken"] == [check]
    assert mend in found[check]["mend"]
    assert found[check]["fact"]
    assert tuple(found) == CHECKS, "each check has its line, looked at or not"
    assert (len(world.hub.writes()), world.stand.count) == (writes, asked)
    assert _lie_there(world.folder) == files


@pytest.mark.parametrize(("spoil", "check", "mend"), BROKEN[::6], ids=lambda value: getattr(value, "__name__", ""))
def test_people_are_told_the_same(world: World, spoil: Spoil, check: str, mend: str) -> None:
    ran = world.run("--config", str(world.folder / "config.yml"), command="doctor", **(spoil(world) or {}))
    assert ran.code == 2
    lines = ran.out.splitlines()
    assert len(lines) == len(CHECKS)
    [line] = [line for line in lines if line.startswith("BROKEN")]
    assert line.startswith(f"BROKEN   {check + ':':<12}")
    assert mend in line
    assert {line[21] for line in lines} & {" "} == set(), "the facts stand one below the other"
    assert ran.err == ""


def test_the_set_ups_are_more_than_twelve_and_reach_every_check_but_two() -> None:
    """A schedule is only broken where an age was asked for; other nights never are."""
    assert len(BROKEN) >= 12
    assert {check for _, check, _ in BROKEN} == {*CHECKS} - {"schedule", "nights"}


@pytest.mark.parametrize(
    ("fault", "mend"),
    [
        ("404", "TRIAGEBOT_MODEL"),
        ("401", "OPENAI_API_KEY"),
        ("quota", "raise it"),
        ("html", "check OPENAI_BASE_URL"),
        ("500", "OPENAI_BASE_URL"),
    ],
)
def test_an_endpoint_that_cannot_answer_is_broken_once_it_is_asked(world: World, doctor, fault: str, mend: str) -> None:
    world.stand.fault(fault, times=None)
    assert doctor()[1]["endpoint"]["state"] == "ok"
    code, found = doctor("--ask")
    assert (code, found["endpoint"]["state"], world.stand.count) == (2, "broken", 1)
    assert mend in found["endpoint"]["mend"]


def test_no_secret_is_shown(world: World, doctor) -> None:
    """Not the key, not what GitHub gave the App, and not a line of the App's own key, though a server repeats them."""
    key, minted, line = "sk-" + "s" * 20, f"ghs_{'t' * 30}", rsa_pair().private.splitlines()[3]
    said = {"message": f"Odd: {key} {minted} {line}"}
    world.hub.faults.add(faults.answers(On(path="/repos/octo/demo"), 409, said), times=None)
    _, found = doctor(OPENAI_API_KEY=key, **_app(world))
    assert "Odd: [a key] [a key] [secret]" in found["repository"]["fact"]


def test_a_wrong_repository_flag_is_a_slip_of_usage(world: World) -> None:
    ran = world.run("--repo", "nonsense", command="doctor")
    assert (ran.code, ran.out) == (2, "")
    assert "--repo" in ran.err


def test_root_is_told_the_truth_about_a_place_that_nobody_can_write_to(world: World, doctor) -> None:
    """`os.access` tells root that it may write anywhere; only a write tells."""
    assert doctor(TRIAGEBOT_LEDGER="/proc/nowhere/ledger.db")[1]["ledger"]["state"] == "broken"
    assert not os.path.exists("/proc/nowhere")
