"""What counts as people's verdict on a label that we set, and what does not."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

import pytest

from triagebot.core import outcomes
from triagebot.core.actions import Action
from triagebot.core.issue import Actor, Identity, LabelChange, LabelEvent, Snapshot
from triagebot.core.key import Ref
from triagebot.core.outcomes import Fate, LabelOutcome
from triagebot.core.policy import LabelPolicy
from triagebot.core.rows import OutboxRow, RowStatus
from triagebot.core.verdict import Vote

MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
SET = datetime(2026, 12, 1, 3, 0, tzinfo=UTC)
OFF = 5 * DAY
"""After `SET`: when people take the label off in these tests."""
SINCE = SET - 30 * DAY

BOT = Actor(login="triagebot-app", id=7, bot=True)
IDENTITY = Identity(login="triagebot-app[bot]", id=7, also=frozenset({"old-triage"}))
ADA, GHOST = Actor(login="ada", id=1), None
STALE, OLD = Actor(login="stale", id=3, bot=True), Actor(login="old-triage", id=4)
GROUPS = LabelPolicy(groups=(("kind/*",), ("priority/*",)))


def put(label: str, after: timedelta = timedelta(0), by: Actor | None = BOT) -> LabelEvent:
    return LabelEvent(change=LabelChange.PUT_ON, label=label, actor=by, at=SET + after)


def off(label: str, after: timedelta = OFF, by: Actor | None = ADA) -> LabelEvent:
    return LabelEvent(change=LabelChange.TAKEN_OFF, label=label, actor=by, at=SET + after)


def row(*names: str, digest: str = "d1", made: timedelta = -MINUTE, attempt: int = 1, **more: object) -> OutboxRow:
    row = OutboxRow(
        id=1,
        ref=Ref(repo_id=1, issue=5, day=date(2026, 12, 1), digest=digest),
        action=Action.LABELS,
        status=RowStatus.SENT,
        votes=tuple(Vote(name=name, confidence=0.9) for name in names),
        attempt=attempt,
        created_at=SET + made,
    )
    return replace(row, **more)  # type: ignore[arg-type]


def issue(*events: LabelEvent) -> Snapshot:
    """The issue as the events left it."""
    labels: dict[str, str] = {}
    for event in sorted(events, key=lambda event: event.at):
        labels.pop(event.label.casefold(), None)
        if event.change is LabelChange.PUT_ON:
            labels[event.label.casefold()] = event.label
    return Snapshot(
        repo_id=1,
        number=5,
        node="I_5",
        title="Crash",
        body="",
        author=Actor(login="eve", id=9),
        association="NONE",
        created_at=SET - DAY,
        labels=tuple(labels.values()),
        label_events=events,
    )


def judged(
    seen: Snapshot,
    *rows: OutboxRow,
    known: tuple[LabelOutcome, ...] = (),
    labels: LabelPolicy | None = None,
    since: datetime = SINCE,
) -> dict[str, Fate]:
    given = {"identity": IDENTITY, "labels": labels or LabelPolicy(), "since": since}
    found = outcomes.judge(seen, rows or (row("bug"),), known, **given)  # type: ignore[arg-type]
    return {outcome.label: outcome.fate for outcome in found}


# --- which labels count


def test_a_label_that_stands_is_kept_and_the_record_says_of_what() -> None:
    [found] = outcomes.judge(issue(put("bug")), [row("bug")], identity=IDENTITY, labels=LabelPolicy(), since=SINCE)
    assert found == LabelOutcome(issue=5, label="bug", digest="d1", set_at=SET, fate=Fate.KEPT)


def test_what_people_put_on_is_not_ours_though_our_verdict_named_it() -> None:
    assert judged(issue(put("bug", by=ADA))) == {}
    assert judged(issue(put("bug", by=GHOST))) == {}
    assert judged(issue(put("bug", by=OLD))) == {}


@pytest.mark.parametrize(
    "asked",
    [
        row("docs"),
        row("bug", action=Action.COMMENT),
        row("bug", attempt=0, status=RowStatus.PENDING),
        row("bug", made=3 * MINUTE),
    ],
    ids=["no verdict named it", "only a comment did", "never claimed", "before there was a verdict"],
)
def test_what_another_program_puts_on_under_our_account_is_not_ours(asked: OutboxRow) -> None:
    assert judged(issue(put("bug")), asked) == {}


def test_a_ledger_that_is_a_little_ahead_of_the_tracker_still_knows_its_labels() -> None:
    assert judged(issue(put("bug")), row("bug", made=MINUTE)) == {"bug": Fate.KEPT}


@pytest.mark.parametrize("status", [RowStatus.WITHDRAWN, RowStatus.UNKNOWN, RowStatus.DEAD, RowStatus.PENDING])
def test_the_event_proves_the_write_however_its_row_ended(status: RowStatus) -> None:
    assert judged(issue(put("bug")), row("bug", status=status)) == {"bug": Fate.KEPT}


def test_a_label_set_before_the_window_is_left_as_it_was_last_seen() -> None:
    assert judged(issue(put("bug")), since=SET + MINUTE) == {}
    assert judged(issue(put("bug")), since=SET) == {"bug": Fate.KEPT}


def test_names_are_compared_as_github_compares_them() -> None:
    seen = issue(put("Bug"), off("BUG"), put("bUG", OFF + HOUR, ADA))
    assert judged(seen, row("bug")) == {"Bug": Fate.KEPT}
    assert judged(issue(put("Bug"), off("BUG")), row("bug")) == {"Bug": Fate.REMOVED}


def test_one_name_counts_once_from_when_it_was_first_set() -> None:
    """The repository's label was deleted, made again and set again."""
    [found] = outcomes.judge(
        issue(put("Bug"), put("bug", DAY)), [row("bug")], identity=IDENTITY, labels=LabelPolicy(), since=SINCE
    )
    assert (found.label, found.set_at) == ("Bug", SET)


def test_a_label_belongs_to_the_newest_text_that_had_named_it_when_it_was_set() -> None:
    rows = [row("bug", digest="old", made=-DAY), row("bug", digest="then"), row("bug", digest="later", made=DAY)]
    [found] = outcomes.judge(issue(put("bug")), rows, identity=IDENTITY, labels=LabelPolicy(), since=SINCE)
    assert found.digest == "then"


def test_what_is_known_stays_ours_though_no_row_names_it_any_more() -> None:
    """`--again` puts the new answer's names in the place of the old ones."""
    known = LabelOutcome(issue=5, label="bug", digest="d0", set_at=SET, fate=Fate.KEPT)
    seen = issue(put("bug"), off("bug"))
    assert judged(seen, row("docs"), known=(known,)) == {"bug": Fate.REMOVED}
    [found] = outcomes.judge(
        seen, [row("bug", digest="d9")], [known], identity=IDENTITY, labels=LabelPolicy(), since=SINCE
    )
    assert found == replace(known, fate=Fate.REMOVED)


# --- kept, removed, undone


def test_a_label_that_a_person_took_off_is_removed() -> None:
    assert judged(issue(put("bug"), off("bug"))) == {"bug": Fate.REMOVED}


def test_a_person_whose_account_is_gone_was_a_person() -> None:
    assert judged(issue(put("bug"), off("bug", by=GHOST))) == {"bug": Fate.REMOVED}


def test_a_label_that_a_person_put_back_is_kept() -> None:
    assert judged(issue(put("bug"), off("bug"), put("bug", OFF + HOUR, ADA))) == {"bug": Fate.KEPT}


@pytest.mark.parametrize("program", [BOT, STALE, OLD], ids=["undo", "another bot", "an earlier account of ours"])
def test_what_a_program_took_off_is_nobodys_verdict(program: Actor) -> None:
    assert judged(issue(put("bug"), off("bug", by=program), put("docs", OFF, ADA))) == {"bug": Fate.UNDONE}


def test_our_own_account_is_a_program_though_it_be_a_persons() -> None:
    me = Actor(login="ada", id=1)
    seen = issue(put("bug", by=me), off("bug", by=me))
    [found] = outcomes.judge(
        seen, [row("bug")], identity=Identity(login="ada", id=1), labels=LabelPolicy(), since=SINCE
    )
    assert found.fate is Fate.UNDONE


def test_the_last_who_took_it_off_counts() -> None:
    back = put("bug", OFF + HOUR, ADA)
    seen = issue(put("bug"), off("bug", by=BOT), back, off("bug", OFF + DAY))
    assert judged(seen) == {"bug": Fate.REMOVED}
    seen = issue(put("bug"), off("bug", by=ADA), back, off("bug", OFF + DAY, BOT))
    assert judged(seen) == {"bug": Fate.UNDONE}


def test_events_count_in_the_order_of_their_times() -> None:
    seen = issue(off("bug"), put("bug"))
    assert judged(seen) == {"bug": Fate.REMOVED}


def test_a_label_that_went_with_its_repositorys_label_was_judged_by_nobody() -> None:
    assert judged(replace(issue(put("bug")), labels=())) == {}
    back = issue(put("bug"), off("bug"), put("bug", OFF + HOUR, ADA))
    assert judged(replace(back, labels=())) == {}


# --- replaced


@pytest.mark.parametrize(
    ("after", "fate"),
    [
        (OFF - HOUR - MINUTE, Fate.REMOVED),
        (OFF - HOUR, Fate.REPLACED),
        (OFF, Fate.REPLACED),
        (OFF + DAY, Fate.REPLACED),
        (OFF + DAY + MINUTE, Fate.REMOVED),
    ],
)
def test_another_label_around_the_removal_replaces_it(after: timedelta, fate: Fate) -> None:
    assert judged(issue(put("bug"), off("bug"), put("docs", after, ADA))) == {"bug": fate}


def test_what_was_there_before_ours_replaces_nothing() -> None:
    seen = issue(put("docs", -MINUTE, ADA), put("bug"), off("bug", MINUTE))
    assert judged(seen) == {"bug": Fate.REMOVED}


@pytest.mark.parametrize("program", [BOT, STALE, OLD])
def test_only_people_replace(program: Actor) -> None:
    assert judged(issue(put("bug"), off("bug"), put("docs", OFF, program))) == {"bug": Fate.REMOVED}


def test_a_label_that_we_may_not_set_replaces_nothing() -> None:
    assert judged(issue(put("bug"), off("bug"), put("wontfix", OFF, ADA))) == {"bug": Fate.REMOVED}
    narrow = LabelPolicy(allow=("bug",))
    assert judged(issue(put("bug"), off("bug"), put("docs", OFF, ADA)), labels=narrow) == {"bug": Fate.REMOVED}


def test_another_of_our_labels_that_is_put_back_replaces_nothing() -> None:
    seen = issue(put("bug"), put("docs"), off("bug"), off("docs"), put("docs", OFF + MINUTE, ADA))
    assert judged(seen, row("bug", "docs")) == {"bug": Fate.REMOVED, "docs": Fate.KEPT}


def test_the_same_label_back_and_off_again_replaces_nothing() -> None:
    seen = issue(put("bug"), off("bug"), put("bug", OFF + MINUTE, ADA), off("bug", OFF + HOUR))
    assert judged(seen) == {"bug": Fate.REMOVED}


@pytest.mark.parametrize(
    ("ours", "theirs", "fate"),
    [
        ("kind/bug", "kind/docs", Fate.REPLACED),
        ("kind/bug", "priority/low", Fate.REMOVED),
        ("kind/bug", "needs info", Fate.REMOVED),
        ("needs info", "question", Fate.REPLACED),
        ("needs info", "kind/docs", Fate.REMOVED),
    ],
)
def test_with_groups_a_label_is_replaced_by_one_of_its_own(ours: str, theirs: str, fate: Fate) -> None:
    seen = issue(put(ours), off(ours), put(theirs, OFF, ADA))
    assert judged(seen, row(ours), labels=GROUPS) == {ours: fate}
