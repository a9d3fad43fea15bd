"""Several repositories in one night: one budget for whoever waits longest, and each repository's trouble its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from datetime import timedelta
from typing import Any

import pytest

from tests.conftest import LABELS
from tests.keys import rsa_pair
from tests.world import CONFIG, Ran, World
from triagebot.core import marker
from triagebot.nightly import choice
from triagebot.sandbox import faults
from triagebot.sandbox.arming import On
from triagebot.sandbox.hub import BOT
from triagebot.sandbox.repository import Repository

NAMES = ("octo/demo", "octo/two", "octo/three")
ALL = tuple(word for name in NAMES for word in ("--repo", name))


@pytest.fixture
def repos(world: World) -> dict[str, Repository]:
    for name in NAMES[1:]:
        world.hub.create_repository(name, labels=LABELS.items())
    return {name: world.hub.repository(name) for name in NAMES}


def crash(repo: Repository, title: str, *, days: int = 0, author: str = "someone") -> int:
    at = repo.hub.now() - timedelta(days=days)
    return repo.open_issue(title=title, body="Error: it fails at start", created_at=at, author=author).number


def own(repo: Repository) -> dict[int, int]:
    """How many comments of the bot stand on each issue."""
    return {
        issue.number: sum(
            c.author.login == BOT and marker.read(c.body) is not None for c in repo.comments(issue.number)
        )
        for issue in repo.issues()
    }


def asked(world: World) -> list[str]:
    return [json.loads(body["messages"][-1]["content"])["title"] for body in world.stand.requests]


def ended(ran: Ran) -> dict[str, Any]:
    return {night["repo"]: night["how"] for night in ran.json["repos"]}


def with_budget(world: World, budget: str) -> None:
    world.configure(CONFIG.replace("issues: off, calls: off, per_author: off", budget))


# --- fair


@pytest.mark.parametrize("budget", ["issues: 4, calls: off, per_author: off", "issues: off, calls: 4, per_author: off"])
def test_a_budget_goes_to_those_who_wait_longest_in_whichever_repository(
    world: World, repos: dict[str, Repository], budget: str
) -> None:
    with_budget(world, budget)
    ages = {"octo/demo": (9, 2, 1), "octo/two": (8, 7), "octo/three": (6, 3)}
    for name, days in ages.items():
        for day in days:
            crash(repos[name], f"{name} {day}", days=day)
    ran = world.night(*ALL, "--workers", "1")
    assert asked(world) == ["octo/demo 9", "octo/two 8", "octo/two 7", "octo/three 6"]
    assert ran.json["counts"]["left_over"] == 3
    assert {night["repo"]: night["left"] for night in ran.json["repos"]} == {
        "octo/demo": {"issues": 2, "oldest": 2},
        "octo/two": {"issues": 0, "oldest": None},
        "octo/three": {"issues": 1, "oldest": 2},
    }
    world.night(*ALL)
    assert {name: set(own(repo).values()) for name, repo in repos.items()} == {name: {1} for name in NAMES}
    assert world.stand.count == 7


def test_an_authors_share_is_one_over_all_repositories(world: World, repos: dict[str, Repository]) -> None:
    with_budget(world, "issues: off, calls: off, per_author: 2")
    for name, days in (("octo/demo", 1), ("octo/two", 3), ("octo/three", 2)):
        crash(repos[name], f"{name} of ada", days=days, author="ada")
    crash(repos["octo/demo"], "of eve", author="eve")
    world.night(*ALL, "--workers", "1")
    assert asked(world) == ["octo/two of ada", "octo/three of ada", "of eve"]


def test_a_repository_that_was_served_from_elsewhere_stands_back_for_one_night(
    world: World, repos: dict[str, Repository]
) -> None:
    """Its old issues were most likely answered, without a marker; the others surely wait."""
    with_budget(world, "issues: 2, calls: off, per_author: off")
    old = crash(repos["octo/two"], "answered long ago", days=20)
    body = "<!-- triagebot v1 triage:2026-01-01:0123456789abcdef -->\nbug"
    repos["octo/two"].comment(old, body, by=BOT)
    for days in (9, 8):
        crash(repos["octo/two"], f"doubtful {days}", days=days)
    for days in (3, 2):
        crash(repos["octo/demo"], f"waits {days}", days=days)
    world.night(*ALL, "--workers", "1")
    assert asked(world) == ["waits 3", "waits 2"]
    world.night(*ALL, "--workers", "1")
    assert asked(world)[2:] == ["answered long ago", "doubtful 9"]


def test_each_repository_has_a_night_and_labels_of_its_own(world: World, repos: dict[str, Repository]) -> None:
    world.hub.create_repository("octo/plain", labels=["question", "bug"])
    for repo in (*repos.values(), world.hub.repository("octo/plain")):
        crash(repo, repo.full_name)
    world.night(*ALL, "--repo", "octo/plain", "--repo", "OCTO/two")
    nights = world.sql("SELECT repo, how FROM nights ORDER BY repo")
    assert nights == [(name, "done") for name in sorted((*NAMES, "octo/plain"))]
    told = {
        title: body["messages"][0]["content"] for title, body in zip(asked(world), world.stand.requests, strict=True)
    }
    assert "performance" in told["octo/two"]
    assert "performance" not in told["octo/plain"]


# --- what goes wrong in one of them


def archived(repo: Repository) -> None:
    repo.archived = True


def closed(repo: Repository) -> None:
    repo.issues_enabled = False


def read_only(repo: Repository) -> None:
    repo.permissions[BOT] = "READ"


def without_labels(repo: Repository) -> None:
    repo.label_set.clear()


@pytest.mark.parametrize(
    ("harm", "sentence"),
    [
        (archived, "is archived"),
        (closed, "has its issues disabled"),
        (without_labels, "the policy allows none of them"),
    ],
)
def test_a_repository_that_cannot_be_worked_on_holds_up_no_other(
    world: World, repos: dict[str, Repository], harm: Any, sentence: str
) -> None:
    for repo in repos.values():
        crash(repo, repo.full_name)
    harm(repos["octo/two"])
    ran = world.run(*ALL, "--format", "json")
    assert ran.code == 1
    told = ran.json["repos"][1]
    assert sentence in told["fault"]
    assert told["how"].startswith("not worked on: ")
    assert ran.json["failed"] == ["octo/two"]
    assert own(repos["octo/demo"]) == own(repos["octo/three"]) == {1: 1}
    assert sentence in world.run(*ALL).out


def test_one_that_is_not_there_is_told_and_all_of_them_are_a_matter_of_the_settings(
    world: World, repos: dict[str, Repository]
) -> None:
    crash(repos["octo/demo"], "It crashes")
    some = world.run("--repo", "octo/nowhere", "--repo", "octo/demo")
    assert (some.code, own(repos["octo/demo"])) == (1, {1: 1})
    assert "octo/nowhere: not worked on: GitHub answered 404" in some.out
    none = world.run("--repo", "octo/nowhere", "--repo", "octo/neither")
    assert none.code == 2
    assert "none of the 2 repositories could be worked on" in none.err


def test_a_right_that_only_a_write_tells_of_stops_its_repository_alone(
    world: World, repos: dict[str, Repository]
) -> None:
    for repo in repos.values():
        for n in range(3):
            crash(repo, f"{repo.full_name} {n}", days=n)
    read_only(repos["octo/two"])
    ran = world.run(*ALL, "--format", "json")
    assert ran.code == 1
    assert set(own(repos["octo/demo"]).values()) == set(own(repos["octo/three"]).values()) == {1}
    assert set(own(repos["octo/two"]).values()) == {0}
    assert ran.json["failed"] == ["octo/two"]
    assert ended(ran)["octo/two"].startswith("stopped: ")
    assert sum(title.startswith("octo/two") for title in asked(world)) == 1, "it cost one call"
    assert dict(world.sql("SELECT repo, how FROM nights"))["octo/demo"] == "done"


def test_an_endpoint_that_cannot_be_used_stops_all(world: World, repos: dict[str, Repository]) -> None:
    for repo in repos.values():
        crash(repo, repo.full_name)
    world.stand.fault("401", times=None)
    ran = world.run(*ALL, "--workers", "1")
    assert ran.code == 2
    assert world.stand.count == 1
    assert world.sql("SELECT count(*) FROM runs") == [(1,)], "nothing more was claimed"
    hows = [how for (how,) in world.sql("SELECT how FROM nights")]
    assert len(hows) == 3
    assert all(how.startswith("stopped: ") for how in hows)
    world.stand.clear()
    world.night(*ALL)
    assert [own(repo) for repo in repos.values()] == [{1: 1}] * 3


def test_a_limit_is_met_once_for_all_repositories_of_an_owner(world: World, repos: dict[str, Repository]) -> None:
    """To go on asking while one is limited can get an account blocked."""
    crash(repos["octo/demo"], "It crashes")
    limit = faults.primary_limit(On(method="GET", path="/repos/octo/two"), reset=2_000_000_000)
    world.hub.faults.add(limit, times=None)
    ran = world.run(*ALL, "--format", "json")
    assert ran.code == 1
    assert own(repos["octo/demo"]) == {1: 1}
    assert ran.json["failed"] == ["octo/two", "octo/three"]
    assert [seen.path for seen in world.hub.requests if "three" in seen.path] == []


def test_those_that_a_limit_kept_from_their_turn_come_first_in_the_next_night(
    world: World, repos: dict[str, Repository]
) -> None:
    """What an hour allows may be used up at the same place every night: what comes after it must be served, too."""
    limit = faults.primary_limit(On(method="GET", path="/repos/octo/two"), reset=2_000_000_000)
    world.hub.faults.add(limit, times=None)
    world.run(*ALL)
    world.hub.faults.clear()
    before = len(world.hub.requests)
    assert list(ended(world.night(*ALL))) == [*NAMES], "they are told as they are named"
    looked_up = [seen.path for seen in world.hub.requests[before:] if seen.path in {f"/repos/{n}" for n in NAMES}]
    assert [*dict.fromkeys(looked_up)] == ["/repos/octo/two", "/repos/octo/three", "/repos/octo/demo"]


def test_a_token_that_is_refused_is_shown_once_to_each_owner(world: World, repos: dict[str, Repository]) -> None:
    ran = world.run(*ALL, GITHUB_TOKEN="wrong")
    assert ran.code == 2
    assert len(world.hub.requests) == 1


def test_a_repository_under_two_names_is_worked_on_once(world: World, repos: dict[str, Repository]) -> None:
    crash(repos["octo/two"], "It crashes")
    repos["octo/two"].rename("octo/second")
    ran = world.run("--repo", "octo/second", "--repo", "octo/two", "--format", "json")
    assert ran.code == 1
    assert "name it once" in ran.json["repos"][1]["fault"]
    assert own(repos["octo/two"]) == {1: 1}


# --- several hosts, and interruptions


def test_two_hosts_with_one_list_share_the_work_by_claims_alone(world: World, repos: dict[str, Repository]) -> None:
    for repo in repos.values():
        for n in range(6):
            crash(repo, f"{repo.full_name} {n}", days=n)
    hosts = [world.start(*ALL, "--workers", "2") for _ in range(2)]
    ends = [(host.wait(120), host.stderr.read()) for host in hosts]
    assert all(code in (0, 1) for code, _ in ends), ends
    world.night(*ALL)
    assert [set(own(repo).values()) for repo in repos.values()] == [{1}] * 3
    assert Counter(asked(world)).most_common(1)[0][1] == 1, "no issue was asked about twice"
    assert world.stand.count == 18


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_after_an_end_in_mid_air_the_next_night_answers_each_once(
    world: World, repos: dict[str, Repository], number: signal.Signals
) -> None:
    for repo in repos.values():
        for n in range(3):
            crash(repo, f"{repo.full_name} {n}", days=n)
    host = world.start(*ALL, "--workers", "2")
    world.once_stored(faults.POST_COMMENT.fits, lambda: host.send_signal(number))
    assert host.wait(60) == (143 if number is signal.SIGTERM else -9)
    world.sql("UPDATE runs SET lease_until = 0 WHERE lease_until IS NOT NULL")
    world.sql("UPDATE outbox SET lease_until = 0, not_before = 0")
    world.run(*ALL)
    world.run(*ALL)
    assert [set(own(repo).values()) for repo in repos.values()] == [{1}] * 3


def test_killed_in_its_sweep_it_leaves_no_night_open_where_nothing_is_to_do(
    world: World, repos: dict[str, Repository]
) -> None:
    crash(repos["octo/two"], "It crashes")
    host = world.start(*ALL)
    world.once(On(method="GET", path="/repos/octo/three").fits, lambda: host.send_signal(signal.SIGKILL))
    assert host.wait(60) == -9
    assert world.sql("SELECT repo, how FROM nights ORDER BY id") == [("octo/demo", "done"), ("octo/two", None)]
    world.night(*ALL)
    assert own(repos["octo/two"]) == {1: 1}


# --- which ones


def test_the_files_list_counts_although_actions_always_names_a_repository(
    world: World, repos: dict[str, Repository]
) -> None:
    world.configure(f"{CONFIG}repos: [octo/two, octo/three]\n")
    for repo in repos.values():
        crash(repo, repo.full_name)
    assert set(ended(world.night())) == {"octo/two", "octo/three"}
    assert world.night("--repo", "octo/demo").json["repo"] == "octo/demo", "a flag beats the file"
    world.configure(f"{CONFIG}repos: [octo/two]\n")
    assert world.night().json["repo"] == "octo/two"


@pytest.mark.parametrize(
    ("argv", "sentence"),
    [
        ((*ALL, "--issue", "1"), "--issue N belongs to one repository"),
        ((*ALL, "--from", "issues.json"), "--from FILE stands for one repository"),
        (("--org", "octo", "--issue", "1"), "--issue N belongs to one repository"),
        (("--org", "no/owner"), "--org is 'no/owner'"),
        (("--org", "nobody"), "--org nobody: GitHub knows no organisation of that name"),
    ],
)
def test_what_does_not_fit_together_is_said_before_anything_is_done(
    world: World, argv: tuple[str, ...], sentence: str
) -> None:
    ran = world.run(*argv)
    assert ran.code == 2
    assert sentence in ran.err
    assert world.stand.count == 0


def test_the_files_list_is_checked(world: World) -> None:
    world.configure("repos: [octo/demo, https://github.com/octo/demo]\n")
    ran = world.run()
    assert ran.code == 2
    assert "repos must be a list of repositories, each as OWNER/NAME" in ran.err


def test_all_of_an_organisation_means_all_that_it_may_write_to(world: World, repos: dict[str, Repository]) -> None:
    """Over several pages; not what is archived, has no issues, may only be read, or is somebody else's."""
    for n in range(104):
        world.hub.create_repository(f"octo/r{n}", labels=["bug"])
    world.hub.create_repository("octo/old", archived=True)
    world.hub.create_repository("octo/code", issues_enabled=False)
    world.hub.create_repository("octo/theirs", permission="READ")
    world.hub.create_repository("other/one", labels=["bug"])
    crash(world.hub.repository("octo/r103"), "It crashes")
    ran = world.night("--org", "OCTO")
    assert set(ended(ran)) == {*NAMES, *(f"octo/r{n}" for n in range(104))}
    assert own(world.hub.repository("octo/r103")) == {1: 1}


def test_an_app_asks_for_the_repositories_that_it_is_installed_on(world: World, repos: dict[str, Repository]) -> None:
    """And works on each with a token that is good for it alone."""
    app = world.hub.apps.add(BOT, rsa_pair().public, "octo/two", "octo/three")
    for repo in repos.values():
        crash(repo, repo.full_name)
    key = {"TRIAGEBOT_APP_ID": str(app.id), "TRIAGEBOT_APP_PRIVATE_KEY": rsa_pair().private, "GITHUB_TOKEN": ""}
    assert set(ended(world.night("--org", "octo", **key))) == {"octo/two", "octo/three"}
    bodies = [json.loads(seen.body) for seen in world.hub.requests if "access_tokens" in seen.path]
    assert [body.get("repositories") for body in bodies] == [None, ["three"], ["two"]]
    gone = world.run("--org", "nobody", **key)
    assert gone.code == 2
    assert "is not installed on nobody" in gone.err


def test_repositories_of_several_owners_each_have_their_own_installation(world: World) -> None:
    world.hub.create_repository("other/one", labels=LABELS.items())
    app = world.hub.apps.add(BOT, rsa_pair().public, "octo/demo", "other/one")
    for name in ("octo/demo", "other/one"):
        crash(world.hub.repository(name), name)
    key = {"TRIAGEBOT_APP_ID": str(app.id), "TRIAGEBOT_APP_PRIVATE_KEY": rsa_pair().private, "GITHUB_TOKEN": ""}
    world.night("--repo", "octo/demo", "--repo", "other/one", **key)
    found = [seen.path for seen in world.hub.requests if seen.path.endswith("/installation")]
    assert found == ["/repos/octo/demo/installation", "/repos/other/one/installation"]
    assert own(world.hub.repository("other/one")) == {1: 1}


def test_an_installations_token_of_actions_is_told_its_own_repositories(world: World) -> None:
    world.hub.add_token("ghs_given", BOT)
    crash(world.repo, "It crashes")
    assert set(ended(world.night("--org", "octo", GITHUB_TOKEN="ghs_given"))) == {"octo/demo"}


# --- what is told


def test_a_dry_run_shows_the_requests_of_each_and_writes_nothing(world: World, repos: dict[str, Repository]) -> None:
    for name in ("octo/demo", "octo/two"):
        crash(repos[name], name)
    ran = world.night(*ALL, "--dry-run")
    told = {each["repo"]: [(p["issue"], p["action"]) for p in each["payloads"]] for each in ran.json["repos"]}
    assert told == {
        "octo/demo": [(1, "labels"), (1, "comment")],
        "octo/two": [(1, "labels"), (1, "comment")],
        "octo/three": [],
    }
    assert ran.json["counts"]["labelled"] == 2
    assert world.hub.writes() == []
    assert not world.ledger.exists()


def test_the_page_has_a_section_for_each_that_did_something_and_one_line_for_the_others(
    world: World, repos: dict[str, Repository]
) -> None:
    page = world.folder / "summary.md"
    crash(repos["octo/two"], "It crashes")
    archived(repos["octo/three"])
    world.run(*ALL, GITHUB_STEP_SUMMARY=str(page))
    markdown = page.read_text()
    assert "### triagebot: 3 repositories\n\n**1 of them not worked on**" in markdown
    assert "- `octo/three`: `not worked on: octo/three is archived" in markdown
    assert "#### triagebot: octo/two" in markdown
    assert "#### triagebot: octo/demo" not in markdown
    assert "Repositories with nothing to do: 1" in markdown


def test_deliver_sends_what_the_outbox_of_each_holds(world: World, repos: dict[str, Repository]) -> None:
    for repo in repos.values():
        crash(repo, repo.full_name)
    world.hub.faults.add(faults.answers(faults.ANY_WRITE, 503), times=None)
    assert world.run(*ALL).code == 1
    world.hub.faults.clear()
    world.sql("UPDATE outbox SET not_before = 0, rested_night = 0")
    calls = world.stand.count
    ran = world.run(*ALL, "--format", "json", command="deliver")
    assert ran.code == 0, ran.err
    assert world.stand.count == calls
    assert [own(repo) for repo in repos.values()] == [{1: 1}] * 3


def test_the_doctor_looks_at_every_repository_of_the_file(world: World, repos: dict[str, Repository]) -> None:
    config = world.folder / "config.yml"
    world.configure(f"{CONFIG}repos: [octo/demo, octo/two, octo/three]\n")
    archived(repos["octo/three"])
    ran = world.run("--config", str(config), command="doctor")
    assert ran.code == 2
    assert "octo/three" in ran.out
    assert "ok       repository: octo/two" in ran.out


# --- memory and open files


def test_hundreds_of_repositories_need_few_open_files(world: World) -> None:
    for n in range(120):
        repo = world.hub.create_repository(f"octo/r{n}", labels=["bug"])
        if n % 20 == 0:
            crash(repo, repo.full_name)
    argv = [sys.executable, "-m", "triagebot", "run", "--org", "octo", "--config", str(world.folder / "config.yml")]
    ran = subprocess.run(
        ["/bin/sh", "-c", 'ulimit -n 64; exec "$@"', "sh", *argv],
        env={**os.environ, **world.env},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert "in all, 121 of 121 repositories: 6 seen, 6 labelled" in ran.stdout


def test_a_text_that_was_not_kept_is_read_again_before_it_is_asked_about(
    world: World, repos: dict[str, Repository], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What changed meanwhile counts as it is: an edit is asked about, a closed issue is left alone."""
    monkeypatch.setattr(choice, "TEXTS", 2)
    numbers = [crash(repos["octo/two"], f"Crash {n}", days=9 - n) for n in range(6)]

    def meanwhile() -> None:
        repos["octo/two"].edit_issue(numbers[3], title="Crash, edited")
        repos["octo/two"].close(numbers[4])

    world.once_stored(faults.ADD_LABELS.fits, meanwhile)
    ran = world.night(*ALL, "--workers", "1")
    assert asked(world) == ["Crash 0", "Crash 1", "Crash 2", "Crash, edited", "Crash 5"]
    told = next(night for night in ran.json["repos"] if night["repo"] == "octo/two")
    assert told["skipped"] == {"closed": 1}
    assert own(repos["octo/two"]) == dict.fromkeys(numbers, 1) | {numbers[4]: 0}
    bodies = [json.loads(body["messages"][-1]["content"])["body"] for body in world.stand.requests]
    assert bodies == ["Error: it fails at start"] * 5
