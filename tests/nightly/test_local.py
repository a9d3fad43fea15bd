"""Nights that the classifier on this machine answers, alone or before an endpoint."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.world import CONFIG, World

FIRST = CONFIG.replace("model: {", "model: {first: local, ")
_BROKEN = ("crashes", "fails", "hangs", "breaks", "aborts")
_WANTED = ("support for", "an option for", "a button for", "a shortcut for", "a filter for")
_PARTS = ("the parser", "the index", "the search", "the export", "the menu", "the editor")


def past() -> list[tuple[str, str, str]]:
    """Title, body and label of sixty issues as people write them: what is broken, and what is wanted."""
    broken = [
        (f"{part} {how} on start".capitalize(), f"Traceback: {part} {how}.", "bug")
        for part in _PARTS
        for how in _BROKEN
    ]
    wanted = [
        (f"Please add {what} {part}", f"It would be nice to have {what} {part}.", "enhancement")
        for part in _PARTS
        for what in _WANTED
    ]
    return broken + wanted


@pytest.fixture
def learnt(world: World) -> World:
    """A repository with a past."""
    for number, (title, body, label) in enumerate(past()):
        at = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(hours=number)
        made = world.repo.open_issue(title=title, body=body, created_at=at)
        world.repo.label(made.number, label, by="maintainer", at=at + timedelta(hours=1))
        world.repo.close(made.number)
    return world


def exported(path: Path) -> Path:
    rows = [{"title": title, "body": body, "labels": [{"name": label}]} for title, body, label in past()]
    path.write_text(json.dumps(rows))
    return path


def test_what_people_did_before_decides_and_nothing_leaves_the_machine(learnt: World) -> None:
    learnt.env["TRIAGEBOT_MODEL"] = "local"
    bug = learnt.repo.open_issue(title="The parser crashes", body="Traceback: it fails.").number
    wish = learnt.repo.open_issue(title="Please add support for tabs", body="It would be nice.").number
    ran = learnt.night()
    assert [learnt.repo.issue(n).labels for n in (bug, wish)] == [["bug"], ["enhancement"]]
    assert [len(learnt.own(n)) for n in (bug, wish)] == [1, 1]
    assert "local" in learnt.own(bug)[0].body
    assert learnt.stand.count == 0
    assert (ran.json["counts"]["model_requests"], ran.json["counts"]["calls_saved"]) == (0, 2)


def test_an_answer_of_the_classifier_is_remembered_like_any_other(learnt: World) -> None:
    learnt.env["TRIAGEBOT_MODEL"] = "local"
    learnt.repo.open_issue(title="The parser crashes", body="Traceback: it fails.")
    learnt.night()
    writes = len(learnt.hub.writes())
    again = learnt.night("--day", "2021-05-06")
    assert len(learnt.hub.writes()) == writes
    assert again.json["counts"]["answered_before"] == 1


def test_with_too_little_to_learn_from_the_night_ends_before_an_issue_is_taken(world: World) -> None:
    world.env["TRIAGEBOT_MODEL"] = "local"
    number = world.crash()
    ran = world.run()
    assert ran.code == 2
    assert "--history" in ran.err
    assert world.hub.writes() == []
    world.env["TRIAGEBOT_MODEL"] = "stand-in"
    world.night()
    assert len(world.own(number)) == 1, "no try was burnt"


def test_only_what_the_classifier_is_not_sure_of_is_paid_for(learnt: World) -> None:
    learnt.configure(FIRST)
    sure = learnt.repo.open_issue(title="The parser crashes on start", body="Traceback: the parser crashes.").number
    unsure = learnt.repo.open_issue(title="Error?", body="zzz").number
    ran = learnt.night()
    assert learnt.stand.count == 1
    assert [len(learnt.own(n)) for n in (sure, unsure)] == [1, 1]
    assert ran.json["counts"]["calls_saved"] == 1
    told = learnt.run(command="status").out
    assert "1 requests" in told
    assert "1 answers without a call" in told


def test_without_a_past_the_endpoint_gets_every_question_and_the_night_says_why(world: World) -> None:
    world.configure(FIRST)
    number = world.crash()
    ran = world.run()
    assert ran.code == 0
    assert "the endpoint is asked about every issue" in ran.err
    assert len(world.own(number)) == 1


def test_issues_from_a_file_are_answered_by_a_past_from_a_file(world: World, tmp_path: Path) -> None:
    world.env["TRIAGEBOT_MODEL"] = "local"
    issues = tmp_path / "issues.json"
    issues.write_text(
        json.dumps(
            [
                {"title": "The menu hangs", "body": "Traceback"},
                *[{"title": "x", "body": "", "labels": [{"name": name}]} for name in ("bug", "enhancement")],
            ]
        )
    )
    ran = world.run("--from", str(issues), "--history", str(exported(tmp_path / "past.json")), "--format", "json")
    assert ran.code == 0, ran.err
    assert next(p["body"] for p in ran.json["payloads"] if p["action"] == "labels") == {"labels": ["bug"]}
    assert world.stand.count == 0


def test_issues_from_a_file_without_a_past_are_refused_in_one_sentence(world: World, tmp_path: Path) -> None:
    world.env["TRIAGEBOT_MODEL"] = "local"
    ran = world.run("--from", str(exported(tmp_path / "issues.json")))
    assert (ran.code, ran.out) == (2, "")
    assert "give them with --history FILE" in ran.err


def test_of_several_repositories_each_learns_from_its_own_past(learnt: World) -> None:
    """One without a past of its own is told so, and holds up no other; no two share what was learnt."""
    learnt.env["TRIAGEBOT_MODEL"] = "local"
    turned = learnt.hub.create_repository("octo/turned", labels=["bug", "enhancement"])
    for number, (title, body, label) in enumerate(past()):
        at = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(hours=number)
        made = turned.open_issue(title=title, body=body, created_at=at).number
        turned.label(made, "bug" if label == "enhancement" else "enhancement", at=at + timedelta(hours=1))
        turned.close(made)
    learnt.hub.create_repository("octo/new", labels=["bug"]).open_issue(title="The parser crashes")
    opened = {
        repo: [repo.open_issue(title=f"The {part} crashes").number for part in _PARTS[:3]]
        for repo in (learnt.repo, turned)
    }
    names = ("octo/demo", "octo/turned", "octo/new")
    ran = learnt.run(*(word for name in names for word in ("--repo", name)), "--format", "json")
    assert ran.code == 1
    assert ran.json["failed"] == ["octo/new"]
    assert {tuple(learnt.repo.issue(n).labels) for n in opened[learnt.repo]} == {("bug",)}
    assert {tuple(turned.issue(n).labels) for n in opened[turned]} == {("enhancement",)}
    assert learnt.stand.count == 0
