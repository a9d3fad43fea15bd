"""The nights note what people do with the labels that they set, and `status` tells it."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from tests.world import CONFIG, World
from triagebot.core.faults import LedgerBusy
from triagebot.ledger.ledger import Ledger
from triagebot.sandbox.hub import BOT

LONG_AGO = "2020-01-01T00:00:00.000Z"


def noted(world: World) -> dict[int, str]:
    return dict(world.sql("SELECT issue, outcome FROM outcomes"))


def labelled(world: World, number: int = 1) -> list[int]:
    """So many issues that one night has labelled `bug`."""
    made = [world.crash(title=f"It crashes, case {n}") for n in range(number)]
    world.night()
    assert [world.repo.issue(each).labels for each in made] == [["bug"]] * number
    return made


def age(world: World, number: int, days: int) -> None:
    """Let everything about an issue have happened earlier, on GitHub and in the ledger."""
    events = world.repo.stored(number).events
    events[:] = [replace(event, at=event.at - timedelta(days=days)) for event in events]
    world.sql("UPDATE outbox SET created_at = ? WHERE issue = ?", LONG_AGO, number)
    world.sql("UPDATE outcomes SET set_at = ? WHERE issue = ?", LONG_AGO, number)


def status(world: World) -> dict[str, list[dict[str, Any]]]:
    ran = world.run("--format", "json", command="status")
    assert ran.code == 0, ran.err
    told: dict[str, list[dict[str, Any]]] = ran.json["outcomes"]
    return told


# --- what is noted, and when


def test_the_next_night_notes_what_people_did(world: World) -> None:
    kept, removed, replaced, back = labelled(world, 4)
    assert noted(world) == {}
    world.repo.unlabel(removed, "bug")
    world.repo.unlabel(replaced, "bug")
    world.repo.label(replaced, "question")
    world.repo.unlabel(back, "bug")
    world.repo.label(back, "bug")
    world.night()
    assert noted(world) == {kept: "kept", removed: "removed", replaced: "replaced", back: "kept"}
    assert world.stand.count == 4, "looking back asks no model"


def test_people_may_change_their_minds(world: World) -> None:
    [number] = labelled(world)
    world.repo.unlabel(number, "bug")
    world.night()
    assert noted(world) == {number: "removed"}
    world.repo.label(number, "bug")
    world.night()
    assert noted(world) == {number: "kept"}
    world.repo.unlabel(number, "bug")
    world.repo.label(number, "question")
    world.night()
    assert noted(world) == {number: "replaced"}


def test_a_night_in_which_people_did_nothing_writes_nothing_about_it(world: World) -> None:
    [number] = labelled(world)
    world.night()
    for write in ("UPDATE", "INSERT"):
        abort = "BEGIN SELECT raise(ABORT, 'written again'); END"
        world.sql(f"CREATE TRIGGER no_{write.lower()} BEFORE {write} ON outcomes {abort}")
    world.night()
    world.repo.unlabel(number, "bug")
    assert world.run().code != 0, "the triggers guard nothing"


def test_many_issues_are_one_query_and_one_transaction(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def count(name: str) -> None:
        shipped = getattr(Ledger, name)

        def counted(*args: Any, **more: Any) -> Any:
            asked.append(name)
            return shipped(*args, **more)

        monkeypatch.setattr(Ledger, name, counted)

    count("outcomes")
    count("note_outcomes")
    labelled(world, 5)
    assert asked == ["outcomes"]
    world.night()
    assert asked == ["outcomes"] * 2 + ["note_outcomes"]
    assert len(noted(world)) == 5


def test_a_locked_ledger_leaves_it_to_the_next_night(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    [number] = labelled(world)

    def locked(*_: object) -> None:
        raise LedgerBusy("ledger: locked")

    with monkeypatch.context() as patch:
        patch.setattr(Ledger, "note_outcomes", locked)
        other = world.crash(title="It crashes otherwise")
        ran = world.night()
    assert any("left to the next night: ledger: locked" in note for note in ran.json["notes"])
    assert world.repo.issue(other).labels == ["bug"], "the night goes on"
    world.night()
    assert noted(world) == {number: "kept", other: "kept"}


# --- what is not


def test_a_label_set_longer_ago_than_thirty_days_keeps_what_was_seen_of_it(world: World) -> None:
    seen, never_seen = labelled(world, 2)
    age(world, never_seen, 31)
    world.night()
    assert noted(world) == {seen: "kept"}
    age(world, seen, 31)
    world.repo.unlabel(seen, "bug")
    world.night()
    assert noted(world) == {seen: "kept"}


def test_a_closed_issue_keeps_what_was_seen_of_it_until_it_is_asked_for(world: World) -> None:
    seen, never_seen = labelled(world, 2)
    world.repo.close(never_seen)
    world.night()
    world.repo.unlabel(seen, "bug")
    world.repo.close(seen)
    world.night()
    assert noted(world) == {seen: "kept"}
    world.night("--issue", str(seen), "--issue", str(never_seen))
    assert noted(world) == {seen: "removed", never_seen: "kept"}


def test_what_is_only_suggested_is_nobodys_to_take_off(world: World) -> None:
    world.configure(CONFIG + "labels: {mode: suggest}\n")
    number = world.crash()
    world.night()
    world.repo.label(number, "bug")
    world.night()
    world.repo.unlabel(number, "bug")
    world.night()
    assert noted(world) == {}


def test_with_comments_off_labels_are_followed_all_the_same(world: World) -> None:
    world.configure(CONFIG + "comment: off\n")
    [number] = labelled(world)
    world.night()
    assert noted(world) == {number: "kept"}


def test_a_dry_run_notes_nothing(world: World) -> None:
    labelled(world)
    assert world.run("--dry-run").code == 0
    assert noted(world) == {}


def test_a_lost_ledger_forgets_which_labels_were_its_own(world: World) -> None:
    labelled(world)
    world.lose_the_ledger()
    world.night()
    world.night()
    assert noted(world) == {}


# --- what people are told


def test_nothing_is_told_before_anything_is_noted(world: World) -> None:
    labelled(world)
    assert "what people did" not in world.run(command="status").out
    assert status(world) == {"labels": [], "prompts": [], "models": []}


def test_status_tells_the_shares_by_label_by_prompt_and_by_model(world: World) -> None:
    removed, *_ = labelled(world, 4)
    world.repo.unlabel(removed, "bug")
    world.night()
    told = status(world)
    assert [(way, score["counted"]) for way in told for score in told[way]] == [
        *(("labels", 4), ("prompts", 4), ("models", 4)),
    ]
    [bug] = told["labels"]
    assert (bug["name"], bug["kept"], bug["removed"], bug["replaced"], bug["undone"]) == ("bug", 3, 1, 0, 0)
    assert bug["shares"] == {"kept": 0.75, "removed": 0.25, "replaced": 0.0}
    lines = world.run(command="status").out.split("what people did with the labels that were set:\n")[1].splitlines()
    assert lines[0].split() == ["label", "set", "kept", "removed", "replaced", "since"]
    assert lines[1].split()[:5] == ["bug", "4", "75%", "25%", "0%"]
    assert lines[5].split()[:5] == ["stand-in", "4", "75%", "25%", "0%"]
    assert len(lines) == 6


def test_a_repository_with_many_labels_is_shown_the_commonest(world: World) -> None:
    labelled(world)
    values = "7, ?, ?, 'd', NULL, NULL, '2026-12-01T03:00:00.000Z', 'kept', '2026-12-02T03:00:00.000Z'"
    for label in range(25):
        for issue in range(label + 1):
            world.sql(f"INSERT INTO outcomes VALUES ({values})", issue, f"label {label}")
    lines = world.run(command="status").out.splitlines()
    shown = [line.split()[1] for line in lines if line.startswith("  label ")][1:]
    assert shown == [str(label) for label in range(24, 4, -1)]
    assert "  and 5 more: --format json shows them all" in lines
    assert sum(line.startswith("  not known") for line in lines) == 2, "nobody knows any more who answered"
    assert len(status(world)["labels"]) == 25


def test_what_the_bots_own_account_took_off_is_left_out_of_the_shares(world: World) -> None:
    kept, undone = labelled(world, 2)
    world.repo.unlabel(undone, "bug", by=BOT)
    world.night()
    assert noted(world) == {kept: "kept", undone: "undone"}
    [bug] = status(world)["labels"]
    assert (bug["counted"], bug["undone"], bug["shares"]) == (1, 1, {"kept": 1.0, "removed": 0.0, "replaced": 0.0})
    told = world.run(command="status").out
    assert "not counted: 1 that `triagebot undo` or another program took off" in told


def test_what_a_person_had_undone_is_no_verdict_on_the_label(world: World) -> None:
    [number] = labelled(world)
    assert world.run("--issue", str(number), command="undo").code == 0
    assert world.repo.issue(number).labels == []
    world.night()
    assert noted(world) == {number: "undone"}
    world.repo.label(number, "bug")
    world.night()
    assert noted(world) == {number: "kept"}


def test_where_programs_took_all_of_it_off_there_is_no_share(world: World) -> None:
    [undone] = labelled(world)
    world.repo.unlabel(undone, "bug", by=BOT)
    world.night()
    [bug] = status(world)["labels"]
    assert (bug["counted"], bug["shares"]) == (0, {})
    assert any(line.split()[:5] == ["bug", "0", "-", "-", "-"] for line in world.run(command="status").out.splitlines())


def test_a_later_answer_does_not_take_over_the_labels_of_the_first(world: World) -> None:
    [number] = labelled(world)
    [(prompt,)] = world.sql("SELECT prompt FROM runs")
    world.night()
    world.night("--again", TRIAGEBOT_MODEL="another")
    world.repo.unlabel(number, "bug")
    world.night()
    told = status(world)
    assert [(score["name"], score["removed"]) for score in told["models"]] == [("stand-in", 1)]
    assert [(score["name"], score["removed"]) for score in told["prompts"]] == [(prompt, 1)]


def test_show_tells_what_became_of_an_issues_labels(world: World) -> None:
    [number] = labelled(world)
    world.repo.unlabel(number, "bug")
    world.night()
    lines = world.run(str(number), command="show").out.splitlines()
    assert any("  label      removed  " in line and "label=bug" in line for line in lines)
