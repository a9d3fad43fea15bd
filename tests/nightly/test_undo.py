"""`undo`: the repository as it was before the night, but for what people touched, and no later night writes it anew."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from tests.brutal import killing
from tests.world import CONFIG, World
from triagebot.sandbox import faults
from triagebot.sandbox.hub import BOT


def long_ago(world: World, title: str = "It crashes") -> int:
    """Open an issue that nobody can label so soon that the label counts as its form's, however fast a test runs."""
    return world.crash(title, created_at=world.hub.now() - timedelta(hours=1))


def shown(world: World) -> dict[int, tuple[list[str], list[str]]]:
    """What anybody sees of each issue: its labels, and its comments."""
    return {i.number: (sorted(i.labels), [c.body for c in world.repo.comments(i.number)]) for i in world.repo.issues()}


def last_night(world: World) -> int:
    [(number,)] = world.sql("SELECT max(id) FROM nights")
    return int(number)


def undo(world: World, *argv: str, code: int = 0) -> dict[str, Any]:
    ran = world.run(*(argv or ("--night", str(last_night(world)))), "--format", "json", command="undo")
    assert ran.code == code, f"{ran.err}\n{ran.out}"
    told: dict[str, Any] = json.loads(ran.out)
    return told


def told_of(undone: dict[str, Any], number: int) -> dict[str, Any]:
    [found] = [each for each in undone["issues"] if each["issue"] == number]
    return dict(found)


def writes_of(world: World, *argv: str) -> list[str]:
    before = len(world.hub.writes())
    world.night(*argv)
    return world.writes_since(before)


def test_after_a_night_of_fifty_the_repository_is_as_it_was_but_for_what_people_touched(world: World) -> None:
    """The next night writes none of it again, nor does one with a lost ledger: GitHub remembers what was taken off."""
    for n in range(50):
        long_ago(world, f"Crash {n}")
    world.repo.comment(7, "a person's words", by="ada")
    before = shown(world)
    world.night()
    assert all(len(labels) == 1 for labels, _ in shown(world).values())
    taken, edited, again, added = 11, 12, 13, 14
    world.repo.unlabel(taken, "bug")
    world.repo.edit_comment(world.own(edited)[0].id, world.own(edited)[0].body + "\nA person's words.")
    world.repo.unlabel(again, "bug")
    world.repo.label(again, "bug")
    world.repo.label(added, "question")
    kept = world.own(edited)[0].body

    undone = undo(world)

    after = shown(world)
    assert after.pop(edited) == ([], [kept])
    assert after.pop(again) == (["bug"], [])
    assert after.pop(added) == (["question"], [])
    assert after == {number: what for number, what in before.items() if number not in {edited, again, added}}
    assert undone["counts"] == {"issues": 50, "labels": 48, "comments": 49, "incomplete": 0}
    assert told_of(undone, edited)["stays"] == [f"comment {world.own(edited)[0].id}: a person edited it"]
    assert told_of(undone, again)["stays"] == ["label bug: maintainer set it last"]

    calls = world.stand.count
    assert writes_of(world) == []
    assert world.stand.count == calls
    world.lose_the_ledger()
    assert writes_of(world) == []
    assert world.stand.count == calls + 47, "two issues were labelled by people, and one has our comment, edited"


def test_a_lost_ledger_forgets_an_undone_comment_whose_label_stands_by_a_persons_hand(world: World) -> None:
    """As the README says: GitHub does not tell our deletion from that of another workflow with the same account.

    As it comes, the bot leaves an issue alone that people have labelled, and has nothing to forget.
    """
    number = long_ago(world)
    world.night()
    undo(world)
    world.repo.label(number, "bug")
    assert writes_of(world) == []
    world.lose_the_ledger()
    assert writes_of(world) == []
    world.lose_the_ledger()
    world.configure(CONFIG.replace("horizon: off", "horizon: off, labelled: take"))
    assert writes_of(world) == [f"POST /repos/octo/demo/issues/{number}/comments"]


def test_a_dry_run_shows_the_exact_requests_and_changes_nothing(world: World) -> None:
    number = world.crash()
    world.night()
    stands, before = shown(world), len(world.hub.writes())
    dry = undo(world, "--issue", str(number), "--dry-run")
    assert shown(world) == stands
    assert world.writes_since(before) == []
    base = world.env["GITHUB_API_URL"]
    comment = world.own(number)[0].id
    assert [(p["method"], p["url"]) for p in dry["payloads"]] == [
        ("DELETE", f"{base}/repos/octo/demo/issues/{number}/labels/bug"),
        ("DELETE", f"{base}/repos/octo/demo/issues/comments/{comment}"),
    ]
    undo(world, "--issue", str(number))
    assert [f"{base}{w.partition(' ')[2]}" for w in world.writes_since(before)] == [p["url"] for p in dry["payloads"]]


def test_a_night_takes_back_what_it_wrote_and_not_what_an_earlier_one_did(world: World) -> None:
    world.crash("Crash 1")
    world.night()
    earlier = shown(world)[1]
    world.crash("Crash 2")
    world.night()
    undone = undo(world)
    assert [each["issue"] for each in undone["issues"]] == [2]
    assert shown(world) == {1: earlier, 2: ([], [])}


def test_a_label_that_an_earlier_night_set_for_another_text_stays(world: World) -> None:
    """The comment goes: it was changed to the later night's words, and those are what is taken back."""
    number = world.crash()
    world.night()
    world.repo.edit_issue(number, body="Error: another one")
    world.night()
    undone = undo(world)
    assert shown(world)[number] == (["bug"], [])
    assert told_of(undone, number)["stays"] == ["label bug: it was there before"]


def test_an_issue_by_its_number_is_undone_whatever_nights_wrote_to_it(world: World) -> None:
    number = world.crash()
    world.night()
    world.repo.edit_issue(number, title="How do I install it?", body="What is the way?")
    world.night()
    assert shown(world)[number][0] == ["bug", "question"]
    undo(world, "--issue", str(number))
    assert shown(world)[number] == ([], [])


def test_a_text_that_is_new_after_an_undo_gets_labels_but_no_comment(world: World) -> None:
    number = world.crash()
    world.night()
    undo(world)
    world.repo.edit_issue(number, title="How do I install it?", body="What is the way?")
    world.night()
    assert shown(world)[number] == (["question"], [])


def test_again_on_that_issue_lifts_the_silence(world: World) -> None:
    number = world.crash()
    world.night()
    undo(world)
    world.repo.edit_issue(number, title="How do I install it?", body="What is the way?")
    world.night("--issue", str(number), "--again")
    assert len(world.own(number)) == 1


def test_closed_and_locked_issues_are_undone_like_others(world: World) -> None:
    closed, locked = world.crash("Crash 1"), world.crash("Crash 2")
    world.night()
    world.repo.close(closed)
    world.repo.lock(locked)
    undo(world)
    assert shown(world) == {closed: ([], []), locked: ([], [])}


def test_a_label_with_a_slash_a_space_and_an_umlaut_is_named_rightly(world: World) -> None:
    world.repo.remove_label("bug")
    world.repo.add_label("kind/böse Fehler?")
    world.stand.script = lambda _: json.dumps(
        {"labels": [{"name": "kind/böse Fehler?", "confidence": 0.9, "reason": "x"}]}
    )
    number = world.crash()
    world.night()
    assert shown(world)[number][0] == ["kind/böse Fehler?"]
    undo(world)
    assert shown(world)[number] == ([], [])


# --- in the middle of things


def test_a_write_on_its_way_is_left_to_whoever_has_it(world: World) -> None:
    """Skipped and told; once it has come to rest, the same command takes the rest."""
    first, second = world.crash("Crash 1"), world.crash("Crash 2")
    world.night()
    world.sql("UPDATE outbox SET status = 'sending', lease_until = 9e9 WHERE issue = ? AND action = 'labels'", first)
    undone = undo(world, "--issue", str(first), "--issue", str(second), code=1)
    assert told_of(undone, first)["fate"] == "held"
    assert shown(world)[second] == ([], [])
    assert len(world.own(first)) == 1
    world.sql("UPDATE outbox SET lease_until = 0 WHERE status = 'sending'")
    world.night()
    undo(world, "--issue", str(first))
    assert shown(world)[first] == ([], [])


def test_a_limit_is_waited_for_without_holding_the_rows(world: World) -> None:
    world.crash()
    world.night()
    world.hub.faults.add(faults.secondary_limit(faults.ANY_WRITE, retry_after="1"))
    undone = undo(world)
    assert undone["counts"]["incomplete"] == 0
    assert shown(world)[1] == ([], [])


def test_a_limit_past_the_deadline_leaves_the_rest_for_the_same_command(world: World) -> None:
    for n in range(3):
        world.crash(f"Crash {n}")
    world.night()
    world.configure("deadline: 1m\nselect: {horizon: off}\ndelivery: {settle: 0s, per_second: off, per_hour: off}\n")
    world.hub.faults.add(faults.secondary_limit(faults.ANY_WRITE, retry_after="3600"))
    undone = undo(world, code=1)
    assert [each["fate"] for each in undone["issues"]] == ["left"] * 3
    assert world.sql("SELECT count(*) FROM outbox WHERE status = 'sent'") == [(6,)]
    world.sql("UPDATE pace SET closed_until = 0")
    undo(world, "--night", "1")
    assert set(map(str, shown(world).values())) == {"([], [])"}


@pytest.mark.parametrize(
    "fault",
    [
        faults.stored_then,
        faults.stored_then_dropped,
        faults.dropped,
        lambda on: faults.answers(on, 502),
    ],
)
@pytest.mark.parametrize("on", [faults.DELETE_COMMENT, faults.REMOVE_LABEL])
def test_an_unclear_answer_is_told_and_the_same_command_goes_on(
    world: World, fault: Callable[[faults.On], faults.Fault], on: faults.On
) -> None:
    number = world.crash()
    world.night()
    world.hub.faults.add(fault(on))
    undone = undo(world, code=1)
    assert told_of(undone, number)["fate"] == "failed"
    undo(world, "--issue", str(number))
    assert shown(world)[number] == ([], [])
    assert writes_of(world) == []


STEPS = (
    "ledger.claim_written",
    "ledger.silence",
    "github.send.RemoveLabel",
    "github.send.DeleteComment",
    "ledger.withdraw",
)


@pytest.mark.parametrize("between", [True, False], ids=["a night in between", "at once"])
@pytest.mark.parametrize("step", [f"{when} {step}" for when in ("before", "after") for step in STEPS])
def test_killed_at_any_step_the_same_command_ends_it_and_no_night_writes_it_anew(
    world: World, step: str, between: bool
) -> None:
    """As soon as the lease is over. A night in between finds a comment whose label is off, and leaves both."""
    number = world.crash()
    world.night()
    process = killing.start(
        world.env, ["undo", "--night", "1", "--config", str(world.folder / "config.yml")], die_at=step
    )
    process.join(60)
    assert process.exitcode == -signal.SIGKILL
    world.sql("UPDATE outbox SET lease_until = 0 WHERE status = 'sending'")
    if between:
        assert writes_of(world) == []
    undo(world, "--night", "1")
    assert shown(world)[number] == ([], [])
    assert writes_of(world) == []


# --- what is asked for


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        ((), "say what to undo: either --night N"),
        (("--night", "1", "--issue", "1"), "say what to undo: either --night N"),
        (("--night", "99"), "--night 99: the ledger knows no such night"),
        (("--night", "1", "--repo", "octo/other"), "--night 1 worked on octo/demo, not on octo/other"),
    ],
)
def test_what_cannot_be_meant_is_said_in_a_sentence(world: World, argv: tuple[str, ...], says: str) -> None:
    world.crash()
    world.night()
    ran = world.run(*argv, command="undo")
    assert (ran.code, says in ran.err) == (2, True), ran.err


def test_without_a_ledger_nothing_can_be_undone(world: World) -> None:
    ran = world.run("--issue", "1", command="undo")
    assert ran.code == 2
    assert not world.ledger.exists()


def test_an_issue_that_the_bot_never_wrote_to_is_told_as_such(world: World) -> None:
    world.crash()
    world.night()
    other = world.repo.open_issue(title="x", body="").number
    assert told_of(undo(world, "--issue", str(other)), other)["fate"] == "nothing to undo"


def test_a_night_whose_journal_was_pruned_is_told_as_such_and_the_issue_can_still_be_named(world: World) -> None:
    number = world.crash()
    world.night()
    world.sql("DELETE FROM events")
    ran = world.run("--night", "1", command="undo")
    assert "`ledger prune` has dropped its journal" in ran.out
    assert shown(world)[number][0] == ["bug"]
    undo(world, "--issue", str(number))
    assert shown(world)[number] == ([], [])


def test_the_summary_for_people_says_what_stays(world: World) -> None:
    number = world.crash()
    world.night()
    world.repo.unlabel(number, "bug")
    world.repo.label(number, "bug")
    ran = world.run("--night", "1", command="undo")
    comment = "deleted comment "
    assert ran.code == 0
    assert f"issue {number}: {comment}" in ran.out
    assert "  stays: label bug: maintainer set it last" in ran.out
    assert ran.out.endswith("undone on 1 issues: 0 labels taken off, 1 comments deleted\n")
    assert BOT not in ran.out
