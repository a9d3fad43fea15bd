"""The commands round the night: what they print, what they exit with, and what they leave alone."""

from __future__ import annotations

import csv
import io
import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.world import CONFIG, World
from triagebot.sandbox import faults
from triagebot.sandbox.hub import BOT

# --- dry run


def state(world: World) -> dict[str, bytes]:
    """What the ledger's files hold; SQLite's index of readers and an empty journal hold nothing."""
    files = {file.name: file.read_bytes() for file in world.ledger.parent.glob("*") if file.suffix != ".db-shm"}
    return {name: content for name, content in files.items() if content}


def test_a_dry_run_shows_the_exact_requests_that_a_real_run_then_sends(world: World) -> None:
    """Labels, new comments, an edit and a twin to be removed; not a byte changes, here or on GitHub."""
    edited, doubled = world.crash("Crash 1"), world.crash("Crash 2")
    world.night()
    world.repo.edit_issue(edited, title="How do I install it?", body="")
    world.repo.comment(doubled, world.own(doubled)[0].body, by=BOT)
    world.crash("Crash 3")
    before, seen, calls = state(world), len(world.hub.writes()), world.stand.count
    dry = world.night("--dry-run", "--workers", "1")
    assert state(world) == before
    assert world.hub.writes()[seen:] == []
    assert set(dry.json) == {"payloads", "counts"}
    assert world.stand.count - calls == 2
    told = [(p["method"], p["url"], p["body"]) for p in dry.json["payloads"]]
    assert {(p["issue"], p["action"]) for p in dry.json["payloads"]} == {
        (edited, "labels"),
        (edited, "comment"),
        (doubled, "comment"),
        (3, "labels"),
        (3, "comment"),
    }
    world.night("--workers", "1")
    sent = [
        (w.method, world.env["GITHUB_API_URL"] + w.path, json.loads(w.body or b"{}")) for w in world.hub.writes()[seen:]
    ]
    assert sorted(told, key=str) == sorted(sent, key=str)


def test_a_dry_run_makes_no_ledger_where_there_is_none(world: World) -> None:
    world.crash()
    ran = world.run("--dry-run")
    assert ran.code == 0
    assert not world.ledger.exists()
    assert f"POST {world.env['GITHUB_API_URL']}/repos/octo/demo/issues/1/labels" in ran.out


def test_a_dry_run_waits_for_no_gate(world: World) -> None:
    world.crash()
    world.hub.faults.add(faults.secondary_limit(faults.ANY_WRITE, retry_after="3600"))
    assert world.run("--deadline", "20s").code == 1
    world.crash("Crash 2")
    ran = world.run("--dry-run", "--deadline", "20s", "--format", "json")
    assert {p["issue"] for p in ran.json["payloads"]} >= {2}


def test_a_dry_run_of_two_own_comments_with_a_reaction_shows_that_one_is_hidden(world: World) -> None:
    number = world.crash()
    world.night()
    twin = world.repo.comment(number, world.own(number)[0].body, by=BOT)
    world.repo.react(twin.id)
    [payload] = world.night("--dry-run").json["payloads"]
    assert payload["url"].endswith("/graphql")
    assert payload["body"] == {"minimizeComment": twin.node}


# --- from a file

ISSUES = [
    {"number": 7, "title": "It crashes", "body": "Error: it fails", "labels": [{"name": "bug"}]},
    {"number": 9, "title": "How do I install it?", "body": "", "labels": [{"name": "question"}]},
]


def exported(folder: Path, kind: str) -> Path:
    file = folder / f"issues.{kind}"
    if kind == "json":
        extra = {"author": {"login": "ada", "is_bot": False}, "createdAt": "2020-01-01T00:00:00Z"}
        file.write_text(json.dumps([issue | extra for issue in ISSUES]))
    elif kind == "jsonl":
        file.write_text("\n".join(json.dumps(issue) for issue in ISSUES))
    else:
        lines = io.StringIO()
        rows = csv.writer(lines)
        rows.writerow(["number", "title", "body", "labels"])
        rows.writerows([i["number"], i["title"], i["body"], i["labels"][0]["name"]] for i in ISSUES)
        file.write_text(lines.getvalue())
    return file


@pytest.mark.parametrize("kind", ["json", "jsonl", "csv"])
def test_issues_from_a_file_need_no_token_and_only_show_what_would_be_sent(world: World, kind: str) -> None:
    world.configure()
    ran = world.run("--from", str(exported(world.folder, kind)), "--format", "json", "--workers", "1", GITHUB_TOKEN="")
    assert ran.code == 0
    assert [(p["issue"], p["action"], p["url"].rpartition("/repos/")[2]) for p in ran.json["payloads"]] == [
        (7, "labels", "octo/demo/issues/7/labels"),
        (7, "comment", "octo/demo/issues/7/comments"),
        (9, "labels", "octo/demo/issues/9/labels"),
        (9, "comment", "octo/demo/issues/9/comments"),
    ]
    assert [p["body"]["labels"] for p in ran.json["payloads"][::2]] == [["bug"], ["question"]]
    assert world.hub.requests == []
    assert not world.ledger.exists()
    for body in world.stand.requests:
        assert "labels" not in json.loads(body["messages"][-1]["content"]), "its own label is never shown to the model"


def test_rows_without_numbers_are_numbered_and_the_limit_holds(world: World) -> None:
    file = world.folder / "rows.csv"
    file.write_text("title,body,label,repo\n" + "Crash,Error: it fails,bug,ada/lovelace\n" * 5)
    ran = world.run("--from", str(file), "--limit", "3", "--format", "json", "--workers", "1")
    assert ran.code == 0
    assert ran.json["counts"]["left_over"] == 2
    assert {p["issue"] for p in ran.json["payloads"]} == {1, 2, 3}
    assert all("/repos/ada/lovelace/" in p["url"] for p in ran.json["payloads"])


def test_one_issue_of_a_file_and_one_that_is_not_in_it(world: World) -> None:
    ran = world.run("--from", str(exported(world.folder, "json")), "--issue", "9", "--issue", "8", "--format", "json")
    assert ran.code == 1
    assert {p["issue"] for p in ran.json["payloads"]} == {9}
    assert ran.json["counts"]["failed"] == 1


def test_a_number_that_stands_twice_in_a_file_is_refused(world: World) -> None:
    file = world.folder / "twice.json"
    file.write_text(json.dumps([*ISSUES, ISSUES[0]]))
    ran = world.run("--from", str(file))
    assert ran.code == 2
    assert "issue number 7 stands there twice" in ran.err


# --- one issue


def test_issues_that_cannot_be_taken_are_told_apart(world: World) -> None:
    closed, locked, gone = world.crash(), world.crash(), world.crash()
    pull = world.repo.open_pull_request(title="Fix").number
    world.repo.close(closed)
    world.repo.lock(locked)
    world.repo.delete_issue(gone)
    ran = world.run(*(f"--issue={n}" for n in (closed, locked, gone, pull, 99)), "--format", "json")
    assert ran.code == 1
    assert {e["issue"]: (e["ended"], e["reason"]) for e in ran.json["issues"] if e["ended"] == "skipped"} == {
        closed: ("skipped", "closed"),
        locked: ("skipped", "locked"),
    }
    assert [e["issue"] for e in ran.json["issues"] if e["ended"] == "failed"] == [gone, pull, 99]
    assert world.stand.count == 0
    assert world.hub.writes() == []


def test_an_issue_named_twice_is_one_issue(world: World) -> None:
    number = world.crash()
    ran = world.night("--issue", str(number), "--issue", str(number), "--again")
    assert [(e["issue"], e["ended"]) for e in ran.json["issues"]] == [(number, "labelled")]
    assert ran.json["counts"]["seen"] == 1


def test_an_issue_asked_for_by_number_may_be_of_any_age(world: World) -> None:
    world.configure(CONFIG.replace("select: {horizon: off}", "select: {horizon: 1d, wait: 1h}"))
    old = world.crash(created_at=world.hub.now() - timedelta(days=9))
    young = world.crash("Crash 2")
    ran = world.night()
    assert ran.json["skipped"] == {"older than select.horizon": 1, "younger than select.wait": 1}
    world.night("--issue", str(old))
    assert [len(world.own(n)) for n in (old, young)] == [1, 0]


# --- deliver


def test_after_an_outage_deliver_sends_what_waits_and_asks_nothing(world: World) -> None:
    numbers = [world.crash(f"Crash {n}") for n in range(3)]
    world.hub.faults.add(faults.answers(faults.ANY_WRITE, 503), times=None)
    assert world.run().code == 1
    world.hub.faults.clear()
    world.crash("Crash 3")
    before, writes = state(world), len(world.hub.writes())
    dry = world.run("--dry-run", "--format", "json", command="deliver", OPENAI_BASE_URL="", TRIAGEBOT_MODEL="")
    assert state(world) == before
    assert world.hub.writes()[writes:] == []
    assert {p["issue"] for p in dry.json["payloads"]} == set(numbers)
    ran = world.run("--format", "json", command="deliver", OPENAI_BASE_URL="", TRIAGEBOT_MODEL="")
    assert ran.code == 0, ran.err
    assert world.own_per_issue() == [1, 1, 1, 0]
    assert world.stand.count == 3
    assert ran.json["counts"]["comments_posted"] == 3
    assert len(world.hub.writes()) == writes + len(dry.json["payloads"])


def test_deliver_with_nothing_to_send_is_done(world: World) -> None:
    world.crash()
    assert world.run(command="deliver").code == 0
    assert world.stand.count == 0


# --- status, show, retry


def test_status_before_the_first_night_names_the_ledger(world: World) -> None:
    ran = world.run(command="status")
    assert ran.code == 2
    assert str(world.ledger) in ran.err


def test_status_tells_of_nights_days_and_what_waits(world: World) -> None:
    world.crash("Crash 1")
    world.night()
    world.crash("Crash 2")
    world.hub.faults.add(faults.secondary_limit(faults.POST_COMMENT, retry_after="3600"))
    world.run("--deadline", "20s")
    told = world.run(command="status")
    assert told.code == 0
    assert "writes waiting: 1" in told.out
    assert "incomplete" in told.out
    assert "2 done: 2 labelled" in told.out
    shown = world.run("--format", "json", "--repo", "octo/demo", command="status").json
    assert shown["waiting"] == 1
    assert shown["dead"] == 0
    assert [night["how"] for night in shown["nights"]] == ["incomplete", "done"]
    assert shown["usage"]["requests"] == 2
    assert 0 <= shown["age"] < 600


@pytest.mark.parametrize(("max_age", "hours", "code"), [("26h", 1, 0), ("26h", 27, 1), (None, 27, 0), ("0s", 0, 1)])
def test_the_age_of_the_last_good_night_is_an_alarm(world: World, max_age: str | None, hours: int, code: int) -> None:
    world.crash()
    world.night()
    then = datetime.now(UTC) - timedelta(hours=hours, seconds=5)
    world.sql("UPDATE nights SET finished_at = ?", then.isoformat(timespec="milliseconds").replace("+00:00", "Z"))
    ran = world.run(*(("--max-age", max_age) if max_age else ()), command="status")
    assert ran.code == code
    assert ("look at the scheduler" in ran.err) == (code == 1)


def test_where_no_night_ever_ended_well_the_alarm_says_so(world: World) -> None:
    world.hub.faults.add(faults.answers(faults.SWEEP, 502), times=None)
    world.run()
    ran = world.run("--max-age", "26h", command="status")
    assert ran.code == 1
    assert "there has been no good night yet" in ran.err
    assert "none yet" in ran.out


def test_a_night_that_was_killed_is_told_as_such(world: World) -> None:
    world.crash()
    world.night()
    world.sql("UPDATE nights SET how = NULL, finished_at = NULL")
    assert "running, or killed" in world.run(command="status").out


def test_show_tells_the_story_of_one_issue_in_order(world: World) -> None:
    number = world.crash()
    world.night()
    ran = world.run(str(number), command="show")
    assert ran.code == 0
    events = [line.split()[2] for line in ran.out.splitlines() if line.split()[1] == "event"]
    assert [e for e in events if e != "planned"] == ["claimed", "finished", "sending", "sending", "sent", "sent"]
    entries = world.run(str(number), "--repo", "octo/demo", "--format", "json", command="show").json
    assert [e["at"] for e in entries] == sorted(e["at"] for e in entries)
    [run] = [e for e in entries if e["kind"] == "run"]
    assert run["fields"]["outcome"] == "labelled"


def test_show_of_an_unknown_issue_or_repository_says_so(world: World) -> None:
    world.crash()
    world.night()
    unknown = world.run("77", command="show")
    assert unknown.code == 1
    assert "knows nothing of issue 77" in unknown.err
    elsewhere = world.run("1", "--repo", "octo/nowhere", command="show")
    assert elsewhere.code == 2
    assert "octo/demo" in elsewhere.err


def test_the_only_repository_of_a_ledger_need_not_be_named(world: World) -> None:
    number = world.crash()
    world.night()
    assert world.run(str(number), command="show", GITHUB_REPOSITORY="").code == 0
    assert world.run(command="retry", GITHUB_REPOSITORY="").out.startswith("0 given new tries")


def test_two_repositories_with_the_same_text_in_one_ledger_know_nothing_of_each_other(world: World) -> None:
    other = world.hub.create_repository("octo/other", labels=["bug"])
    world.crash()
    other.open_issue(title="It crashes", body="Error: it fails at start")
    world.night()
    world.night("--repo", "octo/other")
    assert len(world.own(1)) == 1
    assert len(other.comments(1)) == 1
    assert world.stand.count == 2
    unnamed = world.run("1", command="show", GITHUB_REPOSITORY="")
    assert unnamed.code == 2
    assert "--repo" in unnamed.err
    assert "octo/other" in unnamed.err
    assert world.run("--repo", "octo/other", "--format", "json", command="status").json["usage"]["requests"] == 1


# --- the day, the summaries


def test_the_day_does_not_change_while_the_night_lasts(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    from triagebot.nightly.stop import SystemClock

    evening = datetime(2026, 12, 31, 23, 59, 59, tzinfo=UTC)
    passed: list[bool] = []
    world.once_stored(faults.ADD_LABELS.fits, lambda: passed.append(True))
    monkeypatch.setattr(SystemClock, "now", lambda self: evening + timedelta(days=len(passed)))
    number = world.crash()
    world.crash("Crash 2")
    ran = world.night("--workers", "1")
    assert passed
    assert ran.json["day"] == "2026-12-31"
    assert "triage:2026-12-31:" in world.own(number)[0].body
    assert world.sql("SELECT DISTINCT day FROM runs") == [("2026-12-31",)]


def test_the_summary_for_people_the_one_for_machines_and_the_page_tell_the_same(world: World) -> None:
    page = world.folder / "summary.md"
    world.crash("It | crashes `here` @ada")
    world.crash("zzz", "zzz")
    world.repo.open_issue(title="Bump", body="", author="bump[bot]")
    ran = world.run(GITHUB_STEP_SUMMARY=str(page))
    assert ran.code == 0
    assert "3 seen, 1 labelled, 1 nothing fits, 1 skipped" in ran.out
    assert "skipped: opened by a bot: 1" in ran.out
    assert "1 labels written, 1 comments posted" in ran.out
    markdown = page.read_text()
    assert "### triagebot: octo/demo" in markdown
    assert "| 1 | `It ¦ crashes 'here' @ada` | `bug` 0.90 | `It says" in markdown
    assert "` | labelled |" in markdown
    assert "| `zzz` |  |  | nothing fits |" in markdown
    world.hub.faults.add(faults.answers(faults.ANY_WRITE, 503), times=None)
    world.crash("Crash 2")
    failed = world.run("--limit", "1", "--format", "json", GITHUB_STEP_SUMMARY=str(page))
    assert failed.code == 1
    assert "wait in the outbox" in page.read_text(), "why it failed stands where people look first"
    assert "wait in the outbox" in failed.out


def test_the_page_stays_readable_and_within_its_mebibyte_however_many_issues_there_are(world: World) -> None:
    """GitHub refuses a step summary of more than 1 MiB as a whole."""
    page = world.folder / "summary.md"
    for n in range(230):
        world.crash(f"Crash {n} {'x' * 300}")
    world.run(GITHUB_STEP_SUMMARY=str(page))
    assert page.read_text().count("| labelled |") == 200
    assert "And 30 more." in page.read_text()
    assert page.stat().st_size < 200_000


def test_a_quiet_night_has_a_page_without_a_table(world: World) -> None:
    page = world.folder / "summary.md"
    world.run(GITHUB_STEP_SUMMARY=str(page))
    assert "| issue |" not in page.read_text()


def test_what_is_left_over_stands_on_the_page(world: World) -> None:
    page = world.folder / "summary.md"
    for n in range(3):
        world.crash(f"Crash {n}")
    world.run("--limit", "1", GITHUB_STEP_SUMMARY=str(page))
    assert "left over: 2 issues, the oldest is issue 2" in page.read_text()


def test_a_page_that_cannot_be_written_spoils_no_night(world: World) -> None:
    world.crash()
    ran = world.run(GITHUB_STEP_SUMMARY=str(world.folder / "no" / "such" / "page.md"))
    assert ran.code == 0
    assert "GITHUB_STEP_SUMMARY" in ran.err
    assert len(world.own(1)) == 1


def test_a_label_that_the_model_made_up_is_told_and_not_set(world: World) -> None:
    world.crash()
    world.stand.script = lambda _: '{"labels": [{"name": "urgent-p0", "confidence": 0.9, "reason": "x"}]}'
    ran = world.run()
    assert ran.code == 0
    assert "not a label:" in ran.out
    assert "urgent-p0" in ran.out
    assert "urgent-p0" not in {label.name for label in world.repo.labels()}


def test_an_issue_that_cannot_be_answered_is_recorded_and_left_alone(world: World) -> None:
    world.crash()
    world.stand.fault("refusal", times=None)
    ran = world.night()
    assert ran.json["counts"]["not_answerable"] == 1
    world.night("--day", "2021-01-01")
    assert world.stand.count == 1
    assert world.hub.writes() == []


def test_the_readmes_question_to_the_ledger_is_answered(world: World) -> None:
    """ "How do I know that it ran?": the very SELECT that stands there."""
    readme = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    [query] = re.findall(r'sqlite3 \S+ "(SELECT .* FROM done_per_day .*)"', readme)
    world.crash()
    world.night()
    [(day,)] = world.sql("SELECT day FROM nights")
    assert world.sql(query) == [(day, 1, 1, 0, 0)]


def test_a_number_that_is_no_issue_is_told_and_the_others_go_on(world: World) -> None:
    number = world.crash()
    ran = world.run("--format", "json", "--issue", "9999", "--issue", str(number))
    assert (ran.code, world.own_per_issue()) == (1, [1])
    [told] = [issue for issue in ran.json["issues"] if issue["issue"] == 9999]
    assert "octo/demo has no issue 9999 that this account can see" in told["reason"]
    assert "check the number" in told["reason"]
