"""`doctor` on set-ups that work, and on those that work yet will not for long: what each line says."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest

from tests.keys import rsa_pair
from tests.world import CONFIG, World
from triagebot.checkup import account, finding, machine
from triagebot.cli.doctors import CHECKS
from triagebot.core import faults as core_faults
from triagebot.core.issue import Label
from triagebot.core.marker import Marker
from triagebot.core.policy import LabelPolicy
from triagebot.github import survey
from triagebot.github.wire import Answer
from triagebot.ledger import statements
from triagebot.sandbox import faults
from triagebot.sandbox.arming import On
from triagebot.sandbox.hub import BOT

Doctor = Callable[..., tuple[int, dict[str, dict[str, str]]]]
OTHER = Marker(date(2026, 10, 19), "0123456789abcdef")


def states(found: dict[str, dict[str, str]]) -> dict[str, str]:
    return {check: row["state"] for check, row in found.items() if row["state"] != "ok"}


# --- all is well


def test_after_a_good_night_all_is_well(world: World, doctor: Doctor) -> None:
    world.crash()
    world.night()
    code, found = doctor("--max-age", "26h")
    assert (code, states(found)) == (0, {})
    assert all(row["mend"] == "" for row in found.values())
    assert "octo/demo" in found["repository"]["fact"]
    assert "6 of 6 may be set" in found["labels"]["fact"]
    assert f"writes as {BOT}" in found["identity"]["fact"]
    assert f"schema {statements.version()}, writable, last night 0 min ago" in found["ledger"]["fact"]
    assert "knows each of our 1 comments" in found["nights"]["fact"]


def test_before_the_first_night_only_the_schedule_is_missing(world: World, doctor: Doctor) -> None:
    code, found = doctor()
    assert (code, states(found)) == (0, {"schedule": "warning"})
    assert "will be made" in found["ledger"]["fact"]
    assert not world.ledger.parent.exists(), "looking makes nothing"


def test_lines_for_people_stand_one_below_the_other(world: World) -> None:
    ran = world.run(command="doctor")
    assert [line.split()[1] for line in ran.out.splitlines()] == [f"{check}:" for check in CHECKS]
    assert {(line[20], line[21] == " ") for line in ran.out.splitlines()} == {(" ", False)}
    assert "\x1b" not in ran.out


def test_it_reads_a_handful_and_writes_nothing(world: World, doctor: Doctor) -> None:
    world.crash()
    before = len(world.hub.requests)
    doctor()
    asked = [f"{seen.method} {seen.path}" for seen in world.hub.requests[before:]]
    assert asked == [
        "GET /rate_limit",
        "GET /repos/octo/demo",
        "POST /graphql",
        "GET /repos/octo/demo/labels",
        "POST /graphql",
    ]
    assert world.hub.writes() == []
    assert world.stand.count == 0


def test_an_app_is_looked_at_like_a_token(world: World, doctor: Doctor) -> None:
    app = world.hub.apps.add(BOT, rsa_pair().public, "octo/demo")
    key = world.folder / "app.pem"
    key.write_text(rsa_pair().private)
    code, found = doctor(GITHUB_TOKEN="", TRIAGEBOT_APP_ID=str(app.id), TRIAGEBOT_APP_PRIVATE_KEY=str(key))
    assert (code, states(found)) == (0, {"schedule": "warning"})
    assert found["token"]["fact"] == f"GitHub App {app.id}, may write issues"
    assert "role WRITE" in found["repository"]["fact"]


# --- the model


@pytest.mark.parametrize(
    ("taken", "refused", "rung"),
    [(("json_schema",), 0, "json_schema"), (("json_object", "text"), 1, "json_object"), (("text",), 2, "none")],
)
def test_one_question_tells_the_rung(
    world: World, doctor: Doctor, taken: tuple[str, ...], refused: int, rung: str
) -> None:
    world.stand.formats = frozenset(taken)
    code, found = doctor("--ask")
    assert (code, found["endpoint"]["state"]) == (0, "ok")
    assert f"response_format {rung}" in found["endpoint"]["fact"]
    assert "tokens in" in found["endpoint"]["fact"]
    assert world.stand.count == 1 + refused


def test_an_answer_of_the_wrong_form_is_a_warning(world: World, doctor: Doctor) -> None:
    world.stand.fault("length", times=None)
    found = doctor("--ask")[1]["endpoint"]
    assert found["state"] == "warning"
    assert "(truncated)" in found["fact"]
    assert "try another model" in found["mend"]


def test_the_local_model_is_asked_nothing(world: World, doctor: Doctor) -> None:
    found = doctor("--ask", TRIAGEBOT_MODEL="local", OPENAI_BASE_URL="")[1]["endpoint"]
    assert found["state"] == "ok"
    assert world.stand.count == 0


# --- labels


def test_a_name_that_is_no_label_is_shown_with_the_nearest(world: World, doctor: Doctor) -> None:
    world.configure(CONFIG + 'labels: {allow: ["*"], deny: [docmentation, "x*"], groups: [[bug, urgent-p0]]}')
    code, found = doctor()
    assert (code, found["labels"]["state"]) == (0, "warning")
    assert "named but not there: 'docmentation', 'urgent-p0'" in found["labels"]["fact"]
    assert "write 'documentation' for 'docmentation'" in found["labels"]["mend"]


def test_the_names_that_are_denied_by_default_need_not_exist() -> None:
    found = account.labels(LabelPolicy(), [Label(name="bug")])
    assert (found.state, found.fact) == ("ok", "1 of 1 may be set: bug")


def test_a_name_is_there_under_an_emoji_too() -> None:
    policy = LabelPolicy(allow=("feature", "bug[1]"))
    assert account.labels(policy, [Label(name="✨ Feature"), Label(name="bug[1]")]).state == "ok"


# --- the token


def test_a_token_that_ends_soon(world: World, doctor: Doctor) -> None:
    soon = datetime.now(UTC) + timedelta(days=3)
    told = {"github-authentication-token-expiration": f"{soon:%Y-%m-%d %H:%M:%S} UTC", "x-oauth-scopes": "repo"}
    world.hub.add_token("ghp_soon", "ada", headers=told)
    found = doctor(GITHUB_TOKEN="ghp_soon")[1]["token"]
    assert found["state"] == "warning"
    assert f"classic personal access token, which ends on {soon:%Y-%m-%d}" in found["fact"]
    assert "make a new GITHUB_TOKEN" in found["mend"]


def test_a_token_that_lasts_says_until_when(world: World, doctor: Doctor) -> None:
    told = {"github-authentication-token-expiration": "2099-01-01 00:00:00 +0200"}
    world.hub.add_token("github_pat_x", "ada", headers=told)
    found = doctor(GITHUB_TOKEN="github_pat_x")[1]["token"]
    assert found["fact"] == (
        "fine-grained personal access token, what it may do shows at the first write, good until 2098-12-31"
    )


@pytest.mark.parametrize(
    ("token", "kind"),
    [
        ("ghp_x", "classic"),
        ("0123456789abcdef0123456789abcdef01234567", "classic"),
        ("github_pat_x", "fine-grained"),
        ("gho_x", "OAuth"),
        ("ghu_x", "person, through a GitHub App"),
        ("ghs_12_eyJ.x", "installation"),
        ("x", "unknown"),
    ],
)
def test_a_token_shows_its_kind(token: str, kind: str) -> None:
    assert kind in account.kind(token)


# --- repository, clock, limits


def test_a_renamed_repository(world: World, doctor: Doctor) -> None:
    world.repo.rename("octo/new")
    code, found = doctor()
    assert (code, found["repository"]["state"]) == (0, "warning")
    assert found["repository"]["fact"].startswith("octo/demo is called octo/new")


@pytest.mark.parametrize(
    ("ahead", "state", "words"),
    [
        (0, "ok", "as GitHub's"),
        (59, "ok", "59 s ahead of"),
        (-61, "warning", "61 s behind"),
        (3600, "warning", "NTP"),
        (86_400, "broken", "while no night runs"),
    ],
)
def test_a_clock_is_judged_by_what_it_would_do(ahead: float, state: str, words: str) -> None:
    found = machine.clock(ahead)
    assert found.state == state
    assert words in f"{found.fact} {found.mend}"


def test_the_clock_is_held_against_githubs(world: World, doctor: Doctor) -> None:
    later = world.hub.now() + timedelta(seconds=300)
    world.hub.now = lambda: later
    code, found = doctor()
    assert (code, found["clock"]["state"]) == (0, "warning")
    assert "behind GitHub's" in found["clock"]["fact"]


@pytest.mark.parametrize(
    ("core", "graphql", "state", "words"),
    [
        (5000, 5000, "ok", "core 5000 of 5000 left this hour, graphql 5000 of 5000 left this hour"),
        (1000, 1000, "ok", ""),
        (999, 5000, "warning", "full again at 00:10Z, in 10 min"),
        (5000, 0, "broken", "wait until 00:10Z, in 10 min"),
    ],
)
def test_little_left_of_the_hour(core: int, graphql: int, state: str, words: str) -> None:
    left = {"core": core, "graphql": graphql, "search": 0}
    quotas = {name: survey.Quota(limit=5000, remaining=number, reset=600.0) for name, number in left.items()}
    found = account.limits(quotas, 0.0, 0.0)
    assert found.state == state
    assert words in f"{found.fact}; {found.mend}"


def test_a_gate_that_a_limit_has_closed(world: World, doctor: Doctor) -> None:
    world.crash()
    world.hub.faults.add(faults.secondary_limit(On(path="*/labels", method="POST"), retry_after="1200"))
    world.run("--deadline", "20s")
    code, found = doctor()
    assert (code, found["limits"]["state"]) == (0, "warning")
    assert "writing rests for" in found["limits"]["fact"]


def test_a_server_without_limits_tells_so() -> None:
    told = Answer(
        request="GET /rate_limit",
        status=404,
        headers={"x-github-enterprise-version": "3.19.1"},
        text='{"message": "Rate limiting is not enabled."}',
        received=0.0,
    )
    found = survey.account(told)
    assert (dict(found.quotas), found.server) == ({}, "3.19.1")
    assert account.limits(found.quotas, 0.0, 0.0).state == "ok"
    way = machine.Route(address="https://ghe.example/api/v3")
    assert "GitHub Enterprise Server 3.19.1" in machine.server(way, found, near=False).fact


@pytest.mark.parametrize(
    "text", ['{"resources": 7}', '{"resources": {"core": {}}}', "[]", '{"resources": {"core": 1}}']
)
def test_limits_of_an_unknown_form_are_none(text: str) -> None:
    told = Answer(request="GET /rate_limit", status=200, headers={}, text=text, received=0.0)
    assert dict(survey.account(told).quotas) == {}


# --- the ledger, the schedule, other nights


def test_a_ledger_in_memory_is_gone_tomorrow(world: World, doctor: Doctor, mounted: Callable[[str], None]) -> None:
    world.crash()
    world.night()
    mounted("tmpfs")
    code, found = doctor()
    assert (code, found["ledger"]["state"]) == (0, "warning")
    assert "put it on a disk" in found["ledger"]["mend"]


def test_a_ledger_on_a_network_drive_is_broken(world: World, doctor: Doctor, mounted: Callable[[str], None]) -> None:
    mounted("nfs4")
    code, found = doctor()
    assert (code, found["ledger"]["state"]) == (2, "broken")
    assert "put it on a local disk" in found["ledger"]["mend"]


def test_a_workflow_starts_without_a_ledger(world: World, doctor: Doctor) -> None:
    found = doctor(CI="true")[1]["ledger"]
    assert found["state"] == "warning"
    assert "from run to run" in found["mend"]


def test_an_old_night_is_an_alarm_where_somebody_said_how_old(world: World, doctor: Doctor) -> None:
    world.crash()
    world.night()
    world.sql("UPDATE nights SET finished_at = ?", f"{datetime.now(UTC) - timedelta(hours=30):%Y-%m-%dT%H:%M:%SZ}")
    assert doctor()[0] == 0
    assert doctor("--max-age", "31h")[1]["schedule"]["state"] == "ok"
    code, found = doctor("--max-age", "26h")
    assert (code, found["schedule"]["state"]) == (2, "broken")
    assert found["schedule"]["fact"] == "the last good night was 30 h ago"
    status = world.run("--max-age", "26h", command="status")
    assert (status.code, "more than 26h" in status.err) == (1, True)
    assert world.run("--max-age", "31h", command="status").code == 0


def test_no_night_at_all_is_an_alarm_too(world: World, doctor: Doctor) -> None:
    code, found = doctor("--max-age", "26h")
    assert (code, found["schedule"]["state"]) == (2, "broken")


def test_comments_that_this_ledger_never_wrote_mean_two_ledgers_or_a_lost_one(world: World, doctor: Doctor) -> None:
    first, second = world.crash(), world.crash("Another", "Error: it fails")
    world.night()
    elsewhere = str(world.folder / "elsewhere.db")
    code, found = doctor(TRIAGEBOT_LEDGER=elsewhere)
    assert (code, found["nights"]["state"]) == (0, "warning")
    assert (
        f"2 of our 2 comments on the newest issues are unknown to this ledger (issue {second}, {first})"
        == (found["nights"]["fact"])
    )
    assert "let one ledger serve this repository" in found["nights"]["mend"]
    assert not Path(elsewhere).exists()
    world.night(TRIAGEBOT_LEDGER=elsewhere)
    assert doctor(TRIAGEBOT_LEDGER=elsewhere)[1]["nights"]["state"] == "ok", "a night goes on from the comments"


def test_an_edited_issue_is_known_by_the_text_that_was_answered(world: World, doctor: Doctor) -> None:
    number = world.crash()
    world.night()
    world.repo.edit_issue(number, body="Error: another text by now")
    assert doctor()[1]["nights"]["state"] == "ok"


def test_a_comment_with_a_marker_of_tomorrow_is_known_by_its_id(world: World, doctor: Doctor) -> None:
    number = world.crash()
    world.night()
    [ours] = world.own(number)
    world.repo.edit_comment(ours.id, "<!-- triagebot v2 -->\nby a later version", by=BOT)
    assert doctor()[1]["nights"]["state"] == "ok"
    world.lose_the_ledger()
    assert doctor()[1]["nights"]["state"] == "warning"


def test_another_accounts_marker_is_told_and_believed_no_further(world: World, doctor: Doctor) -> None:
    number = world.crash()
    world.repo.comment(number, f"{OTHER}\nquoted", by="old-bot[bot]")
    code, found = doctor()
    assert (code, found["nights"]["state"]) == (0, "warning")
    assert "by old-bot (1)" in found["nights"]["fact"].replace("[bot]", "")
    assert "identity.also" in found["nights"]["mend"]


@pytest.mark.parametrize("issue", [{}, {"number": None}, {"number": 1, "comments": {"nodes": [{}]}}])
def test_issues_of_an_odd_form_are_no_bug_of_ours(world: World, doctor: Doctor, issue: dict[str, object]) -> None:
    odd = {
        "data": {"repository": {"issues": {"nodes": [issue], "pageInfo": {"hasNextPage": False, "endCursor": None}}}}
    }
    world.hub.faults.add(faults.odd(On(operation="Newest"), odd, status=200), times=None)
    code, found = doctor()
    assert (code, found["nights"]["state"]) == (2, "broken")
    assert "unknown shape" in found["nights"]["fact"]


# --- ways


@pytest.mark.parametrize(
    ("address", "near", "state"), [("http://ghe.example", False, "warning"), ("http://x", True, "ok")]
)
def test_a_token_does_not_travel_in_the_clear(address: str, near: bool, state: str) -> None:
    found = machine.server(machine.Route(address=address), survey.Account(ahead=0.0), near=near)
    assert found.state == state


def test_a_key_does_not_travel_in_the_clear_either() -> None:
    way = machine.Route(address="http://models.example/v1")
    assert machine.endpoint("m", way, None, sends_key=True).mend == "write https in OPENAI_BASE_URL"
    assert machine.endpoint("m", way, None, sends_key=False).state == "ok"


def test_a_proxy_is_shown_without_its_password(monkeypatch: pytest.MonkeyPatch) -> None:
    from triagebot.cli import doctor_sites

    monkeypatch.setenv("HTTPS_PROXY", "http://me:hunter22@proxy.example:3128")
    monkeypatch.setenv("NO_PROXY", "models.example")
    way = doctor_sites.route("https://api.github.com", "/etc/ca.pem")
    assert str(way) == "https://api.github.com through http://proxy.example:3128, authorities in /etc/ca.pem"
    assert str(doctor_sites.route("https://models.example/v1", None)) == "https://models.example/v1"
    assert doctor_sites.route("http://127.0.0.1/v1", None, direct=True).proxy == ""


# --- sentences


@pytest.mark.parametrize(
    ("sentence", "fact", "mend"),
    [
        ("a: b is broken; move it aside; it goes on.", "a: b is broken", "move it aside; it goes on"),
        ("X answered 401: Bad: credentials. Check it: now.", "X answered 401: Bad: credentials", "Check it: now"),
        ("x is not a setting; the nearest one is y.", "x is not a setting", "the nearest one is y"),
        ("Nothing can be done", "Nothing can be done", ""),
    ],
)
def test_a_sentence_is_parted_where_the_mend_begins(sentence: str, fact: str, mend: str) -> None:
    assert finding.parted(sentence) == (fact, mend)


@pytest.mark.parametrize("kind", [core_faults.Unclear, core_faults.Undelivered, core_faults.ModelUnreachable])
def test_what_may_pass_and_names_no_mend_gets_one(kind: type[core_faults.Fault]) -> None:
    assert finding.failed("x", kind("GitHub answered 500; nothing in it was believed.")).mend.startswith("it may pass")


@pytest.mark.parametrize(
    ("fault", "fact", "mend"),
    [
        (
            core_faults.Misconfigured("x is 7, but must be apply or suggest."),
            "x is 7, but must be apply or suggest",
            "",
        ),
        (core_faults.Misconfigured("x is not UTF-8; save it as UTF-8."), "x is not UTF-8", "save it as UTF-8"),
        (core_faults.LedgerBusy("x is locked; end the other one."), "x is locked", "end the other one"),
        (
            core_faults.NotPermitted("It is suspended: its owner lifts that."),
            "It is suspended: its owner lifts that",
            "",
        ),
    ],
)
def test_a_sentence_that_says_what_to_do_is_given_no_second_mend(
    fault: core_faults.Fault, fact: str, mend: str
) -> None:
    found = finding.failed("x", fault)
    assert (found.fact, found.mend) == (fact, mend)


@pytest.mark.parametrize(
    "text", ["labels: {mode: loud}", "- a", "workers: !x 1", "\x00", "lease: 1s", "workers: 4\nworkers: 5"]
)
def test_no_slip_in_the_settings_is_answered_with_empty_words(world: World, doctor: Doctor, text: str) -> None:
    world.configure(text)
    code, found = doctor()
    assert (code, found["settings"]["state"]) == (2, "broken")
    assert "see what it says" not in found["settings"]["mend"]
    assert "may pass" not in found["settings"]["mend"]
