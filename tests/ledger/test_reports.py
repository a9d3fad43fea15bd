"""What people ask of a ledger: where the work stands, what happened to one issue, and a second chance."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from tests.ledger.pieces import (
    BOTH,
    COMMENT,
    DAY,
    LABELS,
    NOTHING,
    POSTED,
    REPO,
    SEND,
    SETTLE,
    Clock,
    answer,
    claim,
    events,
    fail,
    night,
    refused,
    run_of,
    stored,
    take,
    take_row,
    text,
)
from triagebot.core.actions import Action
from triagebot.core.rows import RowStatus, Unclaimed
from triagebot.core.verdict import Usage
from triagebot.ledger.ledger import Ledger


def test_a_new_ledger_has_an_empty_status(ledger: Ledger) -> None:
    for known in (ledger.status(), ledger.status("octo/demo")):
        assert (known.nights, known.days, known.usage, known.last_good) == ((), (), Usage(), None)
        assert (known.waiting, known.unknown, known.failed, known.dead) == (0, 0, 0, 0)
    assert ledger.repositories() == ()


def test_status_tells_where_the_work_stands(ledger: Ledger, clock: Clock) -> None:
    answer(ledger, text(), *BOTH)
    ledger.unclear(take(ledger, night(ledger)).rows[0], settle=SETTLE, reason="502")
    answer(ledger, text(issue=2), verdict=NOTHING)
    fail(ledger, text(issue=3))
    fail(ledger, text(issue=4))
    clock.pass_(60)
    answer(ledger, text(issue=4, day=1), LABELS)
    for day in range(3):
        fail(ledger, text(issue=5, day=day))
    known = ledger.status("octo/demo")
    assert (known.waiting, known.unknown, known.failed, known.dead) == (2, 1, 1, 1)
    first = known.days[-1]
    assert (first.day, first.done, first.labelled, first.nothing_fits, first.failed) == (DAY, 2, 1, 1, 3)
    assert first.usage == Usage(requests=5, tokens_in=500, tokens_out=50)
    assert [day.dead for day in known.days] == [1, 0, 0]
    assert known.usage.requests == 8


def test_status_tells_of_each_night(ledger: Ledger, clock: Clock) -> None:
    killed = night(ledger)
    good = night(ledger)
    clock.pass_(60)
    ledger.close_night(good, how="done", counts={"labelled": 2})
    bad = night(ledger)
    ledger.close_night(bad, how="stopped: limit", counts={})
    known = ledger.status()
    assert [n.id for n in known.nights] == [bad.id, good.id, killed.id]
    assert [n.how for n in known.nights] == ["stopped: limit", "done", None]
    assert known.nights[1].counts == {"labelled": 2}
    assert (known.nights[1].repo, known.nights[1].day, known.nights[1].owner) == ("octo/demo", DAY, ledger.owner)
    assert known.nights[2].finished_at is None
    assert known.last_good == known.nights[1].finished_at
    assert known.last_good == known.nights[1].started_at + timedelta(seconds=60)
    assert known.last_good == datetime.fromtimestamp(round(clock(), 3), tz=UTC)
    assert [n.id for n in ledger.status(limit=1).nights] == [bad.id]


def test_status_keeps_repositories_apart(ledger: Ledger) -> None:
    ledger.close_night(ledger.open_night(repo_id=8, repo="octo/old", day=DAY), how="done", counts={})
    ledger.open_night(repo_id=8, repo="octo/renamed", day=DAY)
    answer(ledger, text(), COMMENT)
    answer(ledger, text(repo=8), COMMENT)
    assert ledger.status("OCTO/Old").waiting == 1
    assert ledger.status("octo/demo").last_good is None
    assert ledger.status().waiting == 2
    assert ledger.status("octo/nobody").nights == ()
    assert dict(ledger.repositories())[REPO] == "octo/demo"
    assert [repo_id for repo_id, _ in ledger.repositories()] == [REPO, 8]


def test_history_tells_everything_of_one_issue_in_order(ledger: Ledger, clock: Clock) -> None:
    fail(ledger, text())
    clock.pass_(1)
    answer(ledger, text(), COMMENT)
    clock.pass_(1)
    ledger.sent(take_row(ledger, night(ledger)), POSTED)
    clock.pass_(1)
    ledger.silence(REPO, 1, reason="deleted by a person")
    ledger.adopt(text(day=1), night(ledger), POSTED)
    ledger.adopt(text("older"), night(ledger), POSTED)
    answer(ledger, text(issue=2), COMMENT)
    told = ledger.history(REPO, 1)
    assert [entry.at for entry in told] == sorted(entry.at for entry in told)
    assert [entry.kind for entry in told if entry.kind != "event"] == ["run", "write", "run", "write", "tombstone"]
    assert [entry.what for entry in told if entry.kind == "event"] == [
        *("claimed", "failed", "claimed", "planned", "finished", "sending", "sent", "silenced", "adopted", "sent"),
    ]
    assert {entry.fields["issue"] for entry in told if "issue" in entry.fields} == {1}
    assert ledger.history(REPO, 3) == ()


def test_status_counts_each_issue_and_write_once(ledger: Ledger, clock: Clock) -> None:
    answer(ledger, text(), *BOTH)
    answer(ledger, text("edited", day=1), verdict=NOTHING)
    fail(ledger, text(issue=2))
    clock.pass_(60)
    answer(ledger, text(issue=2, day=1), LABELS)
    fail(ledger, text(issue=3))
    claim(ledger, text(issue=4))
    known = ledger.status()
    assert known.issues == {"done": 2, "failed": 1, "running": 1}
    assert known.writes == {"withdrawn": 2, "pending": 1}


def test_status_need_not_count_what_is_settled(ledger: Ledger) -> None:
    answer(ledger, text(), COMMENT)
    fail(ledger, text(issue=2))
    answer(ledger, text(issue=3), LABELS)
    ledger.sent(take_row(ledger, night(ledger)), POSTED)
    assert ledger.status(whole=False) == replace(ledger.status(), issues={"failed": 1}, writes={"pending": 1})


def test_status_shows_the_newest_days_alone(ledger: Ledger) -> None:
    for day in (0, 1, 5, 9):
        answer(ledger, text(issue=day + 1, day=day))
    fail(ledger, text(issue=20, day=9))
    assert [(day.day, day.done) for day in ledger.status(limit=2).days] == [
        (DAY + timedelta(9), 1),
        (DAY + timedelta(5), 1),
    ]
    assert len(ledger.status(limit=20).days) == 4


# --- retry


def test_retry_gives_failed_and_dead_texts_new_tries(ledger: Ledger) -> None:
    for _ in range(3):
        fail(ledger, text())
    for day in range(3):
        fail(ledger, text(issue=2, day=day))
    answer(ledger, text(issue=3))
    assert ledger.retry(REPO, 1) == 1
    assert refused(ledger, text(issue=2, day=3)) is Unclaimed.DEAD
    assert ledger.retry() == 3
    assert claim(ledger, text()).attempt == 4
    assert claim(ledger, text(issue=2, day=3)).attempt == 1
    assert run_of(ledger, text(issue=3))["status"] == "done"
    assert "retried" in events(ledger)
    assert ledger.retry() == 0


def test_after_a_retry_a_text_has_three_days_again(ledger: Ledger) -> None:
    for day in range(3):
        fail(ledger, text(day=day))
    ledger.retry()
    for day in (3, 4):
        fail(ledger, text(day=day))
        assert ledger.recall(REPO, 1, text().digest).dead is None
    fail(ledger, text(day=5))
    assert ledger.recall(REPO, 1, text().digest).dead is not None


def test_retry_leaves_another_repository_alone(ledger: Ledger) -> None:
    for day in range(3):
        fail(ledger, text(day=day))
    assert ledger.retry(8) == 0
    assert ledger.retry(REPO) == 3


def test_a_given_up_write_gets_a_new_look_first(ledger: Ledger) -> None:
    answer(ledger, text(), COMMENT)
    ledger.bury(take_row(ledger, night(ledger)), reason="422")
    assert ledger.retry() == 1
    row = take_row(ledger, night(ledger))
    assert (row.status, row.unproven) == (RowStatus.UNKNOWN, 0)


def test_retry_puts_no_second_text_in_flight(ledger: Ledger, clock: Clock) -> None:
    for words in ("one", "two", "three"):
        answer(ledger, text(words), COMMENT)
        row = take_row(ledger, night(ledger))
        if words != "three":
            ledger.bury(row, reason="422")
    assert ledger.retry() == 0
    ledger.bury(row, reason="422")
    assert ledger.retry() == 1
    assert stored(ledger, text("three"), Action.COMMENT).status is RowStatus.UNKNOWN
    assert [r.status for r in ledger.recall(REPO, 1, "").rows].count(RowStatus.DEAD) == 2
    clock.pass_(SEND)
