"""Between the sweep and the write anything may happen to an issue, a row or a worker: what then must hold."""

from __future__ import annotations

import signal
import threading

import pytest

from tests.world import CONFIG, World
from triagebot.core import key
from triagebot.sandbox import faults
from triagebot.sandbox.arming import On
from triagebot.sandbox.exchange import Call
from triagebot.sandbox.hub import BOT


def look(call: Call) -> bool:
    return call.operation == "Look"


def posts_comment(call: Call) -> bool:
    return faults.POST_COMMENT.fits(call)


def comment_posts(world: World) -> int:
    return sum(seen.method == "POST" and seen.path.endswith("/comments") for seen in world.hub.writes())


# --- the issue changes between the sweep and the write


@pytest.mark.parametrize("moment", [look, posts_comment], ids=["before the look", "before the post"])
def test_an_issue_locked_in_mid_night_is_answered_once_it_is_unlocked(world: World, moment: object) -> None:
    number, other = world.crash(), world.crash("Another crash")
    world.once(moment, lambda: world.repo.lock(number))
    world.night("--workers", "1")
    assert world.own(number) == []
    assert world.rows(number)["comment"] == ("withdrawn", "locked")
    assert len(world.own(other)) == 1
    world.night()
    world.repo.unlock(number)
    world.night()
    assert len(world.own(number)) == 1
    assert world.stand.count == 2


@pytest.mark.parametrize("moment", [look, posts_comment], ids=["before the look", "before the post"])
def test_an_issue_deleted_in_mid_night_is_given_up_with_a_reason_and_the_others_go_on(
    world: World, moment: object
) -> None:
    number, other = world.crash(), world.crash("Another crash")
    world.once(moment, lambda: world.repo.delete_issue(number))
    ran = world.run("--workers", "1")
    assert ran.code == 1
    assert f"comment for issue {number} given up" in ran.err
    assert world.rows(number)["comment"][0] == "dead"
    assert len(world.own(other)) == 1
    assert world.night().json["waiting"] == 0, "no later night is troubled by it"


def test_an_issue_that_moved_to_another_repository_gets_nothing_there(world: World) -> None:
    world.hub.create_repository("octo/other", labels=["bug"])
    number = world.crash()
    world.once(look, lambda: world.repo.transfer_issue(number, "octo/other"))
    assert world.run().code == 1
    assert world.hub.writes() == []
    assert world.rows(number)["comment"][0] == "dead"


@pytest.mark.parametrize(("setting", "value"), [("archived", True), ("issues_enabled", False)])
def test_a_repository_closed_to_writing_in_mid_night_ends_it_and_loses_no_answer(
    world: World, setting: str, value: bool
) -> None:
    numbers = [world.crash(f"Crash {n}") for n in range(3)]
    world.once(faults.ADD_LABELS.fits, lambda: setattr(world.repo, setting, value))
    ran = world.run("--workers", "1")
    assert ran.code == 2
    assert "takes issues" in ran.err
    calls = world.stand.count
    setattr(world.repo, setting, not value)
    world.run(command="deliver")
    assert [len(world.own(n)) for n in numbers] == [1] * calls + [0] * (3 - calls)
    assert world.stand.count == calls


def test_a_comment_that_a_person_edits_after_the_sweep_is_theirs(world: World) -> None:
    number = world.crash()
    world.night()
    [comment] = world.own(number)
    world.repo.edit_issue(number, title="How do I install it?", body="")
    world.once(look, lambda: world.repo.edit_comment(comment.id, comment.body + "\nMine now.", by="maintainer"))
    world.night()
    assert [c.body for c in world.own(number)] == [comment.body + "\nMine now."]
    assert world.rows(number)["comment"] == ("withdrawn", "edited by a person")


def test_a_comment_deleted_right_before_its_edit_is_not_posted_again(world: World) -> None:
    """An edit answered 404 says nothing for sure; the look that follows does."""
    number = world.crash()
    world.night()
    [comment] = world.own(number)
    world.repo.edit_issue(number, title="How do I install it?", body="")
    world.once(faults.PATCH_COMMENT.fits, lambda: world.repo.delete_comment(comment.id))
    world.run()
    world.night()
    assert world.own(number) == []
    assert world.rows(number)["comment"] == ("withdrawn", "deleted by a person")


def test_a_comment_stored_unseen_and_deleted_by_a_person_stays_deleted(world: World) -> None:
    number = world.crash()
    world.hub.faults.add(faults.stored_then(faults.POST_COMMENT, 502))
    world.hub.faults.add(faults.answers(faults.LOOK, 502), skip=1, times=None)
    world.run("--deadline", "20s")
    world.hub.faults.clear()
    world.repo.delete_comment(world.own(number)[0].id)
    world.lose_the_ledger()
    world.night()
    assert world.own(number) == []
    assert comment_posts(world) == 1


# --- answers that are no success


def test_a_comment_refused_for_good_is_dead_until_retry(world: World) -> None:
    number = world.crash()
    world.hub.faults.add(faults.answers(faults.POST_COMMENT, 422, "Validation Failed"))
    ran = world.run()
    assert ran.code == 1
    assert world.rows(number)["comment"][0] == "dead"
    world.night()
    assert comment_posts(world) == 1
    told = world.run("--repo", "octo/demo", "--issue", str(number), command="retry")
    assert told.out.startswith("1 given new tries")
    world.night()
    assert len(world.own(number)) == 1
    assert world.stand.count == 1


def test_labels_refused_for_good_let_the_comment_go_out_as_a_suggestion(world: World) -> None:
    number = world.crash()
    world.hub.faults.add(faults.answers(faults.ADD_LABELS, 422, "Validation Failed"))
    assert world.run().code == 1
    assert world.repo.issue(number).labels == []
    [comment] = world.own(number)
    assert "bug" in comment.body
    assert "may fit" in comment.body
    world.night()
    assert world.own(number)[0].edited_at is None


def test_labels_that_died_on_another_night_are_remembered_when_the_comment_goes_out(world: World) -> None:
    number = world.crash()
    world.hub.faults.add(faults.answers(faults.ADD_LABELS, 422, "Validation Failed"))
    world.hub.faults.add(faults.secondary_limit(faults.POST_COMMENT, retry_after="3600"))
    assert world.run("--deadline", "20s").code == 1
    world.sql("UPDATE pace SET closed_until = 0")
    world.sql("UPDATE outbox SET not_before = 0")
    world.night()
    assert "bug" in world.own(number)[0].body


def test_a_label_that_the_answer_does_not_show_is_told_and_not_claimed_in_the_comment(world: World) -> None:
    number = world.crash()
    world.hub.faults.add(faults.odd(faults.ADD_LABELS, [], stored=False))
    ran = world.run()
    assert ran.code == 1
    assert "without these labels: bug" in ran.err
    assert world.own(number) == []
    world.night()
    assert world.repo.issue(number).labels == ["bug"]
    assert len(world.own(number)) == 1


def test_five_failures_in_a_row_stop_writing_while_triage_goes_on(world: World) -> None:
    numbers = [world.crash(f"Crash {n}") for n in range(8)]
    world.hub.faults.add(faults.answers(faults.ANY_WRITE, 503), times=None)
    ran = world.run("--format", "json")
    assert ran.code == 1
    assert len(world.hub.writes()) == 5
    assert any("stopped after 5 failures in a row" in note for note in ran.json["notes"])
    assert world.stand.count == 8
    assert ran.json["waiting"] == 16
    world.hub.faults.clear()
    delivered = world.run(command="deliver")
    assert delivered.code == 0, delivered.err
    assert [len(world.own(n)) for n in numbers] == [1] * 8
    assert world.stand.count == 8


def test_a_failed_look_is_never_taken_for_nothing_there(world: World) -> None:
    number = world.crash()
    world.hub.faults.add(faults.answers(faults.LOOK, 502), times=None)
    ran = world.run()
    assert ran.code == 1
    assert world.hub.writes() == []
    assert "5 failures in a row" in ran.err
    world.hub.faults.clear()
    world.night()
    assert len(world.own(number)) == 1


def test_a_write_that_surely_never_left_is_tried_again_the_same_night(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    from triagebot.core.faults import Undelivered
    from triagebot.github.line import Line

    number, real, tried = world.crash(), Line.write, []

    def refused_once(self: Line, verb: str, url: str, body: object = None) -> object:
        tried.append(url)
        if len(tried) == 1:
            raise Undelivered("the connection was refused")
        return real(self, verb, url, body)

    monkeypatch.setattr(Line, "write", refused_once)
    assert world.run().code == 0
    assert world.repo.issue(number).labels == ["bug"]
    assert len(world.own(number)) == 1


def test_a_look_that_grew_old_while_the_ledger_was_locked_is_not_written_by(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    from triagebot.ledger.ledger import Ledger
    from triagebot.nightly.stop import SystemClock

    number, late, renew, monotonic = world.crash(), [0.0], Ledger.renew, SystemClock.monotonic

    def slowly(self: Ledger, row: object, *, lease: float) -> None:
        renew(self, row, lease=lease)
        if late[0] == 0.0:
            late[0] = 20.0
            world.repo.edit_issue(number, body="Error: another text")

    monkeypatch.setattr(SystemClock, "monotonic", lambda self: monotonic(self) + late[0])
    monkeypatch.setattr(Ledger, "renew", slowly)
    world.night()
    assert world.hub.writes() == [], "nothing is written for the text that is no more"
    world.night()
    assert len(world.own(number)) == 1


# --- whose comment it is


def test_an_issue_with_a_recorded_comment_gets_no_second_one_from_another_account(world: World) -> None:
    number = world.crash()
    world.night()
    world.repo.edit_issue(number, title="How do I install it?", body="")
    world.hub.add_token("ghs_other", "another-app[bot]")
    world.night(GITHUB_TOKEN="ghs_other")
    assert [c.author.login for c in world.repo.comments(number)] == [BOT]
    assert world.rows(number)["comment"][0] == "withdrawn"
    world.night("--again", "--issue", str(number), GITHUB_TOKEN="ghs_other")
    assert [c.author.login for c in world.repo.comments(number)] == [BOT, "another-app[bot]"], "a person asked for it"


def test_an_account_that_wrote_for_the_bot_before_answers_for_it_and_its_comments_are_left_alone(world: World) -> None:
    number = world.crash()
    world.night()
    [first] = world.own(number)
    world.hub.add_token("ghs_other", "another-app[bot]")
    world.configure(CONFIG + "identity: {also: ['" + BOT + "']}\n")
    world.lose_the_ledger()
    world.night(GITHUB_TOKEN="ghs_other")
    world.repo.edit_issue(number, title="How do I install it?", body="")
    world.night(GITHUB_TOKEN="ghs_other")
    assert [(c.id, c.edited_at) for c in world.repo.comments(number)] == [(first.id, None)]


def test_suggestions_are_not_even_asked_for_where_no_comment_may_be_written(world: World) -> None:
    world.configure(CONFIG + "labels: {mode: suggest}\n")
    number = world.crash()
    world.night()
    [comment] = world.own(number)
    assert world.repo.issue(number).labels == []
    assert "bug" in comment.body
    world.repo.delete_comment(comment.id)
    world.night()
    world.repo.edit_issue(number, body="Error: another text")
    ran = world.night()
    assert world.stand.count == 1
    assert list(ran.json["skipped"]) == ["comment deleted by a person, and only comments are asked for"]
    world.night("--again", "--issue", str(number))
    assert len(world.own(number)) == 1


def test_with_comments_off_only_labels_are_written(world: World) -> None:
    world.configure(CONFIG + "comment: off\n")
    number = world.crash()
    world.night()
    world.night()
    assert world.repo.issue(number).labels == ["bug"]
    assert world.repo.comments(number) == []
    assert world.stand.count == 1


def test_comments_that_were_switched_off_leave_no_comment_for_another_text(world: World) -> None:
    """One that stands from before is kept true; none is added, also where a person has deleted it meanwhile."""
    edited, deleted = world.crash("Crash"), world.crash("Crash two")
    world.night()
    world.configure(CONFIG + "comment: off\n")
    for number in (edited, deleted):
        world.repo.edit_issue(number, body="Error: another text")
    world.repo.delete_comment(world.own(deleted)[0].id)
    world.night()
    assert [key.digest("Crash", "Error: another text") in c.body for c in world.own(edited)] == [True]
    assert world.own(deleted) == []


def test_where_nothing_fits_nothing_is_written_and_nothing_is_asked_again(world: World) -> None:
    world.crash("zzz", "zzz")
    ran = world.night()
    assert ran.json["counts"]["nothing_fits"] == 1
    world.night("--day", "2021-05-06")
    assert world.hub.writes() == []
    assert world.stand.count == 1


def test_a_secret_in_the_models_words_stops_the_post(world: World) -> None:
    number = world.crash()
    key = "sk-a-key-that-nobody-may-see"
    world.stand.script = lambda _: '{"labels": [{"name": "bug", "confidence": 0.9, "reason": "' + key + '"}]}'
    ran = world.run(OPENAI_API_KEY=key)
    assert ran.code == 1
    assert world.repo.issue(number).labels == ["bug"]
    assert world.repo.comments(number) == []
    assert "secret" in world.rows(number)["comment"][1]
    assert key not in ran.err + ran.out


# --- twins


def twin(world: World) -> tuple[int, int, int]:
    """An issue with two own comments; returns its number and their ids."""
    number = world.crash()
    world.night()
    [kept] = world.own(number)
    return number, kept.id, world.repo.comment(number, kept.body, by=BOT).id


def test_the_one_that_stays_is_read_again_before_the_other_goes(world: World) -> None:
    number, kept, other = twin(world)
    world.once(lambda call: call.operation == "OneComment", lambda: world.repo.delete_comment(kept))
    assert world.run().code == 1
    assert [c.id for c in world.own(number)] == [other], "the last own comment is never deleted"


def test_a_twin_that_is_gone_already_is_a_success(world: World) -> None:
    number, kept, other = twin(world)
    world.once(faults.DELETE_COMMENT.fits, lambda: world.repo.delete_comment(other, by=BOT))
    world.night()
    assert [c.id for c in world.own(number)] == [kept]


def test_a_twin_that_somebody_else_removed_after_the_sweep_is_left(world: World) -> None:
    number, kept, other = twin(world)
    reads: list[Call] = []

    def hook(call: Call) -> None:
        if call.operation == "OneComment":
            reads.append(call)
            if len(reads) == 2:
                world.repo.delete_comment(other, by=BOT)

    world.hub.on_request = hook
    before = len(world.hub.writes())
    world.night()
    assert world.writes_since(before) == []
    assert [c.id for c in world.own(number)] == [kept]


@pytest.mark.parametrize(
    "fault",
    [faults.secondary_limit(faults.DELETE_COMMENT, retry_after="60"), faults.answers(faults.DELETE_COMMENT, 502)],
)
def test_a_twin_that_cannot_be_removed_tonight_goes_the_next_night(world: World, fault: faults.Fault) -> None:
    number, kept, _ = twin(world)
    world.hub.faults.add(fault)
    ran = world.run("--deadline", "10s")
    assert ran.code == 1
    assert "twins left to the next night" in ran.err
    world.sql("UPDATE pace SET closed_until = 0")
    world.night()
    assert [c.id for c in world.own(number)] == [kept]


def test_a_token_that_may_not_delete_ends_the_night(world: World) -> None:
    twin(world)
    world.hub.faults.add(faults.not_permitted(faults.DELETE_COMMENT), times=None)
    ran = world.run()
    assert ran.code == 2
    assert "Resource not accessible" in ran.err


def test_twins_go_also_where_the_text_of_today_was_given_up(world: World) -> None:
    number, kept, _ = twin(world)
    world.repo.edit_issue(number, body="Error: another text")
    world.stand.fault("garbage", times=None)
    world.repo.lock(number)  # until the text is dead, nobody heals
    world.repo.unlock(number)
    for day in range(1, 4):
        world.hub.faults.add(faults.answers(faults.DELETE_COMMENT, 502))
        assert world.run("--day", f"2021-12-0{day}").code == 1
    assert len(world.own(number)) == 2
    ran = world.night("--day", "2021-12-04")
    assert ran.json["counts"]["dead"] == 1
    assert [c.id for c in world.own(number)] == [kept]


def test_two_own_comments_seen_only_at_the_end_leave_one_for_the_text_of_today(world: World) -> None:
    """A twin for an older text that lists showed too late is the lowest id: it stays, and gets today's words."""
    number = late_twin(world)
    world.night()
    [stays] = world.own(number)
    assert "0000000000000000" not in stays.body
    assert "bug" in stays.body
    assert world.stand.count == 1


def late_twin(world: World) -> int:
    number = world.crash()
    world.hub.listing_lag = 3600
    hidden = world.repo.comment(number, "<!-- triagebot v1 triage:2026-01-01:0000000000000000 -->\nold", by=BOT)
    world.hub.listing_lag = 0

    def show() -> None:
        stored = world.repo.find_comment(hidden.id)
        stored.shown_from = stored.created_at

    world.once_stored(posts_comment, show)
    return number


def test_told_to_stop_while_it_mends_at_the_end_no_request_under_way_is_forgotten(world: World) -> None:
    number = late_twin(world)
    hang = world.hub.faults.add(faults.stored_then_hangs(faults.PATCH_COMMENT))
    process = world.start()
    assert hang.reached.wait(20)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=10)
    assert process.returncode == 143
    assert world.rows(number)["comment"][0] == "unknown"
    world.hub.faults.clear()
    world.night()
    assert len(world.own(number)) == 1


# --- workers that wake up late, and workers that die


def test_a_worker_that_lost_its_lease_changes_nothing(world: World) -> None:
    number = world.crash()
    world.stand.fault("hang")
    late = world.start()
    assert world.stand.wait_for(1)
    world.sql("UPDATE runs SET lease_until = 0")
    world.night()
    [answer] = world.own(number)
    stored, rows = world.sql("SELECT * FROM runs"), world.sql("SELECT * FROM outbox")
    world.stand.release()
    out, err = late.communicate(timeout=20)
    assert late.returncode == 0, f"{out}{err}"  # another one has answered it: nothing is left over
    assert "1 answered before" in out
    assert (world.sql("SELECT * FROM runs"), world.sql("SELECT * FROM outbox")) == (stored, rows)
    assert [c.id for c in world.own(number)] == [answer.id]


def test_the_twin_of_a_worker_that_stalled_before_its_post_is_removed_at_the_end_of_its_night(world: World) -> None:
    number = world.crash()
    hang = world.hub.faults.add(faults.hangs(faults.POST_COMMENT))
    late = world.start()
    assert hang.reached.wait(20)
    world.sql("UPDATE outbox SET lease_until = 0 WHERE status = 'sending'")
    world.night()
    [answer] = world.own(number)
    hang.release()
    late.communicate(timeout=20)
    assert [c.id for c in world.own(number)] == [answer.id]


def test_rows_in_the_hands_of_a_killed_worker_are_told_and_not_called_done(world: World) -> None:
    world.crash()
    hang = world.hub.faults.add(faults.stored_then_hangs(faults.POST_COMMENT))
    process = world.start()
    assert hang.reached.wait(20)
    process.kill()
    process.communicate()
    ran = world.run()
    assert ran.code == 1
    assert "in the hands of another worker" in ran.out


def test_a_bug_in_one_worker_gives_the_claims_of_the_others_back(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    from triagebot.core import prompt

    numbers = [world.crash(f"Crash {n}") for n in range(3)]
    compose = prompt.compose

    def broken(system: str, labels: object, title: str, body: str, **limits: int) -> object:
        if title == "Crash 2":
            assert world.stand.wait_for(2)
            raise RuntimeError("a bug")
        return compose(system, labels, title, body, **limits)

    monkeypatch.setattr(prompt, "compose", broken)
    world.stand.fault("hang", skip=1)
    ran = world.run("--workers", "2")
    world.stand.release()
    assert ran.code == 3
    [(status, tries)] = world.sql("SELECT status, tries FROM runs WHERE issue = ?", numbers[1])
    assert (status, tries) == ("failed", 0)
    [(ended,)] = world.sql("SELECT how FROM nights")
    assert ended == "crashed"
    monkeypatch.setattr(prompt, "compose", compose)
    world.sql("UPDATE runs SET lease_until = 0 WHERE status = 'running'")
    world.run()
    world.night()
    assert world.own_per_issue() == [1, 1, 1]


def test_an_endpoint_that_turns_out_dead_ends_the_night_though_another_one_took_a_claim_up(world: World) -> None:
    numbers = [world.crash(f"Crash {n}") for n in range(3)]
    world.configure(CONFIG.replace("timeout: 5s", "attempts: 1, timeout: 5s"))
    world.night("--issue", str(numbers[2]))
    world.sql(
        "CREATE TRIGGER taken AFTER UPDATE ON runs WHEN NEW.status = 'failed' AND NEW.issue = 1 AND NEW.owner <> ''"
        " BEGIN UPDATE runs SET owner = 'another' WHERE issue = 1; END"
    )
    world.stand.fault("500")
    world.stand.fault("401", times=None)
    ran = world.run("--workers", "1")
    assert ran.code == 2
    assert "OPENAI_API_KEY" in ran.err
    assert world.sql("SELECT tries FROM runs WHERE issue = 2") == [(0,)]


def test_a_locked_ledger_is_no_answer_and_no_second_comment(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    import sqlite3

    from triagebot.ledger import opening

    monkeypatch.setitem(opening.open_ledger.__kwdefaults__, "timeout", 0.2)
    number = world.crash()
    world.night("--limit", "1", "--dry-run")
    world.crash("Crash 2")
    holder: list[sqlite3.Connection] = []

    def hold() -> None:
        holder.append(sqlite3.connect(world.ledger, check_same_thread=False, isolation_level=None))
        holder[0].execute("BEGIN IMMEDIATE")

    world.once_stored(posts_comment, hold)
    ran = world.run("--workers", "1")
    holder[0].execute("ROLLBACK")
    holder[0].close()
    assert ran.code == 1
    assert "locked" in ran.err
    assert len(world.own(number)) == 1
    world.sql("UPDATE outbox SET lease_until = 0 WHERE status = 'sending'")
    world.sql("UPDATE runs SET lease_until = 0 WHERE status = 'running'")
    world.run()
    world.night()
    assert world.own_per_issue() == [1, 1]


# --- the canary


def test_a_first_comment_that_a_person_removes_at_once_does_not_stop_the_night(world: World) -> None:
    numbers = [world.crash(f"Crash {n}") for n in range(3)]
    world.once(
        lambda call: call.operation == "OneComment", lambda: world.repo.delete_comment(world.own(numbers[0])[0].id)
    )
    world.night("--workers", "1")
    assert [len(world.own(n)) for n in numbers] == [0, 1, 1]


def test_a_first_comment_whose_issue_is_gone_does_not_stop_the_night(world: World) -> None:
    numbers = [world.crash(f"Crash {n}") for n in range(3)]
    world.once(lambda call: call.operation == "OneComment", lambda: world.repo.delete_issue(numbers[0]))
    world.night("--workers", "1")
    assert [len(world.own(n)) for n in numbers[1:]] == [1, 1]


# --- the sweep and the close


def test_an_issue_that_a_list_shows_twice_is_one_issue(world: World) -> None:
    import json
    from dataclasses import replace

    from triagebot.sandbox.arming import Fault
    from triagebot.sandbox.exchange import Answer

    def twice(truth: Answer) -> Answer:
        content = truth.json
        issues = content["data"]["repository"]["issues"]
        issues["nodes"] *= 2
        return replace(truth, body=json.dumps(content).encode())

    number = world.crash()
    world.hub.faults.add(Fault(name="twice", on=faults.SWEEP, stored=True, answer=twice))
    ran = world.night("--workers", "2")
    assert ran.json["counts"]["seen"] == 1
    assert len(world.own(number)) == 1
    assert world.stand.count == 1


def test_told_to_stop_in_the_sweep_it_asks_nothing(world: World) -> None:
    world.crash()
    hang = world.hub.faults.add(faults.hangs(faults.SWEEP))
    process = world.start()
    assert hang.reached.wait(20)
    process.send_signal(signal.SIGTERM)
    threading.Timer(0.3, hang.release).start()
    _, err = process.communicate(timeout=10)
    assert process.returncode == 143, err
    assert world.stand.count == 0
    assert world.sql("SELECT how FROM nights") == [("interrupted",)]


def test_a_look_back_that_fails_is_left_to_the_next_night_and_said(world: World) -> None:
    number = late_twin(world)
    world.hub.faults.add(faults.answers(On(operation="LookAgain"), 502), times=None)
    ran = world.run()
    assert ran.code == 1
    assert "look back" in ran.err
    assert len(world.own(number)) == 2
    world.hub.faults.clear()
    world.night()
    assert len(world.own(number)) == 1


def test_a_post_that_nobody_confirmed_is_found_after_the_settle_time_of_the_same_night(world: World) -> None:
    world.configure(CONFIG.replace("settle: 0s", "settle: 1s"))
    number = world.crash()
    world.hub.faults.add(faults.stored_then(faults.POST_COMMENT, 502))
    assert world.run().code == 0
    assert world.rows(number)["comment"] == ("sent", None)
    assert comment_posts(world) == 1


def test_a_comment_waits_until_its_labels_have_ended(world: World) -> None:
    number = world.crash()
    world.hub.faults.add(faults.stored_then(faults.ADD_LABELS, 502))
    assert world.run().code == 0
    assert "was given" in world.own(number)[0].body, "the labels had been stored, and the look saw them"
    assert world.rows(number)["comment"] == ("sent", None)


def test_a_file_takes_no_writes() -> None:
    from triagebot.core.actions import AddLabels
    from triagebot.core.faults import Misconfigured
    from triagebot.nightly.rehearsal import FromFile

    file = FromFile({}, "octo/demo")
    with pytest.raises(Misconfigured, match="labels for issue 1"):
        file.send(AddLabels(issue=1, names=("bug",)))
