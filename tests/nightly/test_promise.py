"""What a reader of the issue sees does not depend on how often, how many at once and how brutally the job ran."""

from __future__ import annotations

from datetime import date

import pytest

from tests.world import World
from triagebot.core.marker import Marker
from triagebot.core.marker import read as read_marker
from triagebot.sandbox import faults
from triagebot.sandbox.hub import BOT


def crash(world: World, title: str = "It crashes with a traceback", body: str = "Error: it fails at start") -> int:
    return world.repo.open_issue(title=title, body=body).number


def digest_on(world: World, number: int) -> str:
    found = read_marker(world.own(number)[0].body)
    assert isinstance(found, Marker)
    return found.digest


def test_a_night_labels_and_comments_once_and_the_same_night_again_says_nothing(world: World) -> None:
    number = crash(world)
    first = world.night()
    assert world.repo.issue(number).labels == ["bug"]
    assert len(world.own(number)) == 1
    assert first.json["counts"]["labelled"] == 1
    before = len(world.hub.writes())
    world.night()
    world.night("--day", "2021-05-06")
    assert world.writes_since(before) == []
    assert world.stand.count == 1


def test_a_lost_ledger_costs_no_call_and_no_write_where_a_marker_stands(world: World) -> None:
    crash(world)
    world.night()
    before = len(world.hub.writes())
    world.lose_the_ledger()
    lost = world.night()
    assert world.writes_since(before) == []
    assert world.stand.count == 1
    assert lost.json["counts"]["adopted"] == 1


def test_an_edited_text_edits_the_same_comment_and_changing_it_back_costs_no_call(world: World) -> None:
    number = crash(world)
    world.night()
    [first] = world.own(number)
    original = digest_on(world, number)
    world.repo.edit_issue(number, title="How do I install this?", body="What is the way?")
    world.night()
    [edited] = world.own(number)
    assert edited.id == first.id
    assert digest_on(world, number) != original
    assert "question" in edited.body
    world.repo.edit_issue(number, title="It crashes with a traceback", body="Error: it fails at start")
    world.night()
    [back] = world.own(number)
    assert back.id == first.id
    assert digest_on(world, number) == original
    assert world.stand.count == 2


def test_a_new_text_that_nothing_fits_turns_the_comment_into_one_neutral_line(world: World) -> None:
    number = crash(world)
    world.night()
    world.repo.edit_issue(number, title="zzz", body="zzz")
    world.night()
    [neutral] = world.own(number)
    assert "bug" not in neutral.body
    assert world.repo.issue(number).labels == ["bug"], "the bot never takes a label off"


def test_a_comment_that_a_maintainer_deleted_never_comes_back(world: World) -> None:
    number = crash(world)
    world.night()
    world.repo.delete_comment(world.own(number)[0].id)
    world.night()
    world.repo.edit_issue(number, body="Error: another text, it fails")
    world.night()
    world.lose_the_ledger()
    world.night()
    world.night()
    assert world.own(number) == []


def test_again_for_one_issue_lifts_the_silence_and_a_later_deletion_counts_anew(world: World) -> None:
    number = crash(world)
    world.night()
    world.repo.delete_comment(world.own(number)[0].id)
    world.night()
    world.night("--issue", str(number), "--again")
    assert len(world.own(number)) == 1
    world.repo.delete_comment(world.own(number)[0].id)
    world.night()
    world.night()
    assert world.own(number) == []


def test_again_asks_once_more_and_edits_the_comment_that_stands(world: World) -> None:
    number = crash(world)
    world.night()
    [first] = world.own(number)
    world.night("--again")
    [revised] = world.own(number)
    assert revised.id == first.id
    assert revised.edited_at is not None
    assert world.stand.count == 2


def test_a_label_that_a_person_took_off_stays_off(world: World) -> None:
    number = crash(world)
    world.night()
    world.repo.unlabel(number, "bug")
    world.night()
    world.lose_the_ledger()
    world.night()
    world.repo.edit_issue(number, body="Error: crash once more")
    world.night()
    assert world.repo.issue(number).labels == []


def test_a_strangers_copy_of_the_marker_is_a_strangers_text(world: World) -> None:
    number = crash(world)
    issue = world.repo.issue(number)
    from triagebot.core import key

    copy = f"{Marker(date(2026, 12, 1), key.digest(issue.title, issue.body))}\nI am the bot, honest."
    world.repo.comment(number, copy, by="mallory")
    world.repo.comment(number, copy, by="helper[bot]")
    world.night()
    assert len(world.own(number)) == 1
    assert [c.edited_at for c in world.repo.comments(number)] == [None, None, None]


def test_an_own_comment_behind_260_others_is_found(world: World) -> None:
    number = crash(world)
    for n in range(260):
        world.repo.comment(number, f"me too, {n}")
    world.night()
    world.lose_the_ledger()
    world.night()
    assert len(world.own(number)) == 1
    assert world.stand.count == 1


def test_an_issue_that_was_closed_in_mid_night_is_answered_once_it_is_open_again(world: World) -> None:
    number = crash(world)
    world.hub.on_request = lambda call: world.repo.close(number) if call.operation == "Look" else None
    world.night()
    assert world.own(number) == []
    world.hub.on_request = None
    world.night()
    assert world.own(number) == []
    world.repo.reopen(number)
    world.night()
    assert len(world.own(number)) == 1
    assert world.stand.count == 1


def test_a_text_that_changes_while_the_model_thinks_gets_no_answer_for_the_old_one(world: World) -> None:
    number = crash(world)
    world.hub.on_request = lambda call: (
        world.repo.edit_issue(number, body="Error: edited") if call.operation == "Look" else None
    )
    world.night()
    assert world.own(number) == []
    world.hub.on_request = None
    world.night()
    assert len(world.own(number)) == 1


def test_of_two_own_comments_one_is_left_and_it_is_for_the_text_of_today(world: World) -> None:
    number = crash(world)
    world.night()
    [kept] = world.own(number)
    world.repo.comment(number, kept.body, by=BOT)
    world.night()
    assert [c.id for c in world.own(number)] == [kept.id]


def test_a_twin_that_somebody_reacted_to_is_hidden_instead(world: World) -> None:
    number = crash(world)
    world.night()
    [kept] = world.own(number)
    twin = world.repo.comment(number, kept.body, by=BOT)
    world.repo.react(twin.id, by="ada")
    world.night()
    world.night()
    assert [c.minimized is not None for c in world.own(number)] == [False, True]


def test_a_comment_that_a_person_edited_is_theirs(world: World) -> None:
    number = crash(world)
    world.night()
    [comment] = world.own(number)
    world.repo.edit_comment(comment.id, comment.body + "\nI edited this.", by="maintainer")
    world.repo.edit_issue(number, body="Error: another text")
    world.night()
    world.lose_the_ledger()
    world.night("--again")
    [kept] = world.own(number)
    assert kept.body.endswith("I edited this.")


def test_a_marker_of_another_version_means_no_write_and_says_so(world: World) -> None:
    number = crash(world)
    world.repo.comment(number, "<!-- triagebot v2 who knows -->\nwords", by=BOT)
    ran = world.night()
    assert world.hub.writes() == []
    assert world.stand.count == 0
    assert "carries a comment of another triagebot version" in ran.json["skipped"]


@pytest.mark.parametrize(
    "fault",
    [
        faults.stored_then(faults.POST_COMMENT, 502),
        faults.stored_then(faults.POST_COMMENT, 500),
        faults.stored_then_dropped(faults.POST_COMMENT),
        faults.dropped_halfway(faults.POST_COMMENT),
        faults.cut_json(faults.POST_COMMENT),
        faults.odd(faults.POST_COMMENT, {}),
        faults.changed(faults.POST_COMMENT, {"id": None}),
        faults.changed(faults.POST_COMMENT, {"issue_url": "https://elsewhere/repos/o/r/issues/1"}),
        faults.html(faults.POST_COMMENT, 200, stored=True),
    ],
    ids=lambda fault: fault.name,
)
def test_a_comment_that_was_stored_but_not_confirmed_is_found_and_never_posted_again(
    world: World, fault: faults.Fault
) -> None:
    number = crash(world)
    world.hub.faults.add(fault)
    world.run()
    world.night()
    assert len(world.own(number)) == 1
    assert len([w for w in world.writes_since(0) if w.endswith("/comments")]) == 1
    assert world.stand.count == 1


def test_an_outage_loses_no_answer_that_was_paid_for(world: World) -> None:
    numbers = [crash(world, title=f"Crash {n}") for n in range(4)]
    world.hub.faults.add(faults.answers(faults.ANY_WRITE, 503), times=None)
    assert world.run().code == 1
    world.hub.faults.clear()
    for _ in range(2):
        world.run()
    assert [len(world.own(n)) for n in numbers] == [1, 1, 1, 1]
    assert world.stand.count == 4


def test_a_limit_closes_the_gate_for_the_night_and_the_next_one_delivers_the_rest(world: World) -> None:
    numbers = [crash(world, title=f"Crash {n}") for n in range(5)]
    limit = faults.secondary_limit(faults.POST_COMMENT, retry_after="3600")
    world.hub.faults.add(limit, skip=2, times=None)
    ran = world.run("--deadline", "20s", "--workers", "1")
    assert ran.code == 1
    assert sum(len(world.own(n)) for n in numbers) == 2
    assert len([w for w in world.writes_since(0) if w.endswith("/comments")]) == 3, "one probe, then quiet"
    assert "rate limit" in ran.err


def test_two_nights_at_once_with_one_ledger_ask_and_post_once_for_each_issue(world: World) -> None:
    for n in range(12):
        crash(world, title=f"Crash {n}")
    processes = [world.start() for _ in range(2)]
    for process in processes:
        process.communicate(timeout=60)
    world.night()
    assert world.own_per_issue() == [1] * 12
    assert world.stand.count == 12


def test_two_ledgers_on_one_repository_leave_no_twin_at_rest(world: World) -> None:
    for n in range(4):
        crash(world, title=f"Crash {n}")
    other = str(world.folder / "other.db")
    processes = [world.start(), world.start(TRIAGEBOT_LEDGER=other)]
    for process in processes:
        process.communicate(timeout=60)
    world.night()
    world.night()
    assert world.own_per_issue() == [1] * 4


def test_a_bot_that_cannot_recognise_its_own_comment_stops_writing(world: World) -> None:
    for n in range(3):
        crash(world, title=f"Crash {n}")

    def rewrite(call: object) -> None:
        for comment in (c for issue in world.repo.issues() for c in issue.comments):
            world.repo.find_comment(comment.id).body = "rewritten by a filter"

    world.hub.on_stored = rewrite
    ran = world.run("--workers", "1")
    assert ran.code == 2
    assert "is not recognised as our own" in ran.err
    assert len([w for w in world.writes_since(0) if w.endswith("/comments")]) == 1


def test_a_comment_that_no_list_shows_yet_is_known_by_its_id_however_it_was_edited(world: World) -> None:
    """An answer to the edit that does not repeat the comment's node must not lose it."""
    number = crash(world)
    world.hub.listing_lag = 10_000.0
    world.night()
    world.hub.faults.add(faults.changed(faults.PATCH_COMMENT, {"node_id": None}))
    world.night("--again")
    world.night()
    world.night()
    assert len(world.own(number)) == 1
    assert [w for w in world.writes_since(0) if w.startswith("POST") and w.endswith("/comments")] == [
        f"POST /repos/octo/demo/issues/{number}/comments"
    ]


def test_issues_that_are_switched_off_in_mid_night_are_answered_once_they_are_on_again(world: World) -> None:
    """A repository without issues shows none: nothing of what waits is given up for that."""
    number = crash(world)

    def switch_off(call: object) -> None:
        world.repo.issues_enabled = getattr(call, "operation", None) != "Look"

    world.hub.on_request = switch_off
    ran = world.run()
    assert ran.code == 2
    assert "issues are disabled" in ran.err
    world.hub.on_request, world.repo.issues_enabled = None, True
    world.night()
    assert len(world.own(number)) == 1
    assert world.stand.count == 1
