"""Which issues a night takes: people first, and never an answered issue lost sight of."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from triagebot.core import selection
from triagebot.core.issue import Actor, Identity, LabelChange, LabelEvent, Snapshot
from triagebot.core.selection import Select, Skip

NOW = datetime(2026, 12, 1, 3, 0, tzinfo=UTC)
BOT = Identity(login="triagebot-app[bot]", id=7)
ISSUE = Snapshot(
    repo_id=1,
    number=5,
    node="I_5",
    title="Crash",
    body="",
    author=Actor(login="ada", id=1),
    association="NONE",
    created_at=NOW - timedelta(hours=2),
)


def put(label: str, actor: Actor | None, after: timedelta) -> LabelEvent:
    return LabelEvent(change=LabelChange.PUT_ON, label=label, actor=actor, at=ISSUE.created_at + after)


def skip(issue: Snapshot, select: Select | None = None, *, known: bool = False) -> Skip | None:
    chosen = select or Select()
    return selection.skip(issue, chosen, now=NOW, identity=BOT, allowed=["bug", "docs"], known=known)


def test_a_plain_new_issue_is_taken() -> None:
    assert skip(ISSUE) is None


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"closed": True}, Skip.CLOSED),
        ({"locked": True}, Skip.LOCKED),
        ({"author": Actor(login="renovate", id=2, bot=True)}, Skip.BOT),
        ({"created_at": NOW - timedelta(days=31)}, Skip.OLD),
    ],
)
def test_what_is_left_alone_says_why(changes: dict[str, object], reason: Skip) -> None:
    assert skip(replace(ISSUE, **changes)) is reason


def test_people_get_the_time_that_wait_gives_them() -> None:
    assert skip(ISSUE, Select(wait=timedelta(hours=3))) is Skip.YOUNG
    assert skip(ISSUE, Select(wait=timedelta(hours=2))) is None


def test_without_a_horizon_no_issue_is_too_old() -> None:
    assert skip(replace(ISSUE, created_at=NOW - timedelta(days=4000)), Select(horizon=None)) is None


def test_an_author_whose_account_is_gone_is_no_bot() -> None:
    assert skip(replace(ISSUE, author=None)) is None


MAINTAINER = Actor(login="grace", id=3)
OURSELVES = Actor(login="triagebot-app", id=7, bot=True)


@pytest.mark.parametrize(
    ("association", "events", "expected"),
    [
        ("NONE", (put("bug", MAINTAINER, timedelta(minutes=1)),), Skip.LABELLED),
        ("NONE", (put("bug", OURSELVES, timedelta(minutes=1)),), None),
        ("NONE", (put("bug", Actor(login="ada", id=1), timedelta(seconds=10)),), None),
        ("NONE", (put("bug", Actor(login="ada", id=1), timedelta(seconds=11)),), Skip.LABELLED),
        ("MEMBER", (put("bug", Actor(login="ada", id=1), timedelta(seconds=1)),), Skip.LABELLED),
        ("OWNER", (put("bug", Actor(login="ada", id=1), timedelta(seconds=1)),), Skip.LABELLED),
        ("NONE", (put("bug", None, timedelta(hours=1)),), Skip.LABELLED),
        ("NONE", (), Skip.LABELLED),
        (
            "NONE",
            (put("bug", MAINTAINER, timedelta(seconds=60)), put("Bug", OURSELVES, timedelta(minutes=9))),
            None,
        ),
    ],
)
def test_only_a_label_that_people_set_themselves_keeps_the_bot_away(
    association: str, events: tuple[LabelEvent, ...], expected: Skip | None
) -> None:
    issue = replace(ISSUE, labels=("bug",), association=association, label_events=events)
    assert skip(issue) is expected


def test_a_label_outside_the_policy_does_not_count_as_triage_by_people() -> None:
    assert skip(replace(ISSUE, labels=("needs-info",))) is None


def test_labelled_issues_are_taken_where_the_config_says_so() -> None:
    assert skip(replace(ISSUE, labels=("bug",)), Select(skip_labelled=False)) is None


def test_an_issue_with_an_answer_is_never_skipped_for_labels_or_age() -> None:
    answered = replace(ISSUE, labels=("bug",), created_at=NOW - timedelta(days=400))
    assert skip(answered, known=True) is None
    assert skip(replace(answered, locked=True), known=True) is Skip.LOCKED


def test_everything_from_a_file_is_taken() -> None:
    issue = replace(ISSUE, labels=("bug",), created_at=NOW - timedelta(days=4000), author=Actor(login="x", bot=True))
    assert skip(issue, selection.EVERYTHING) is None


# --- what a history learns from

FORM = timedelta(seconds=2)
LATER = timedelta(hours=1)
ADA = Actor(login="ada", id=1)
STALE = Actor(login="stale", id=9, bot=True)


def taken(label: str, after: timedelta) -> LabelEvent:
    return replace(put(label, MAINTAINER, after), change=LabelChange.TAKEN_OFF)


@pytest.mark.parametrize(
    ("association", "events", "expected"),
    [
        ("NONE", (put("bug", MAINTAINER, LATER),), ("bug",)),
        ("NONE", (put("bug", None, LATER),), ("bug",)),
        ("NONE", (), ("bug",)),
        ("NONE", (put("bug", OURSELVES, LATER),), None),
        ("NONE", (put("bug", STALE, LATER),), None),
        ("NONE", (put("bug", Actor(login="Old-Bot", id=12), LATER),), None),
        ("NONE", (put("bug", ADA, FORM),), None),
        ("CONTRIBUTOR", (put("bug", ADA, FORM),), None),
        ("MEMBER", (put("bug", ADA, FORM),), ("bug",)),
        ("COLLABORATOR", (put("bug", ADA, FORM),), ("bug",)),
        ("NONE", (put("bug", OURSELVES, LATER), taken("bug", 2 * LATER), put("bug", ADA, 3 * LATER)), ("bug",)),
        ("NONE", (put("bug", ADA, LATER), taken("bug", 2 * LATER), put("BUG", STALE, 3 * LATER)), None),
    ],
)
def test_a_judgement_is_a_label_that_a_person_set_and_that_still_stands(
    association: str, events: tuple[LabelEvent, ...], expected: tuple[str, ...] | None
) -> None:
    issue = replace(ISSUE, labels=("bug",), association=association, label_events=events)
    identity = replace(BOT, also=frozenset({"old-bot[bot]"}))
    assert selection.judged(issue, identity) == expected
    assert selection.judged(replace(issue, closed=True), identity) == expected
    assert selection.judged(replace(issue, labels=("docs", "bug")), identity) == ("docs", *(expected or ()))


def test_a_closed_issue_without_a_label_was_judged_too_and_an_open_one_may_not_have_been_seen() -> None:
    assert selection.judged(replace(ISSUE, closed=True), BOT) == ()
    assert selection.judged(ISSUE, BOT) is None
