"""Who wrote what, and what a snapshot knows of itself."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from triagebot.core import key
from triagebot.core.issue import (
    Actor,
    Authorship,
    Comment,
    Identity,
    LabelChange,
    LabelEvent,
    Snapshot,
    authorship,
    is_self,
)

NOON = datetime(2026, 10, 19, 12, tzinfo=UTC)
ME = Identity(login="night-owl[bot]", id=77, also=frozenset({"Old-Owl"}))
NAMELESS = Identity(login="night-owl[bot]", id=None)


def snapshot(**overrides: object) -> Snapshot:
    fields: dict[str, object] = {
        "repo_id": 1,
        "number": 5,
        "node": "I_5",
        "title": "Save button is grey",
        "body": "",
        "author": None,
        "association": "NONE",
        "created_at": NOON,
    }
    return Snapshot(**fields | overrides)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("identity", "actor", "mine"),
    [
        (ME, None, False),
        (ME, Actor(login="renamed", id=77), True),
        (ME, Actor(login="night-owl", id=78), False),
        (ME, Actor(login="Night-Owl"), True),
        (NAMELESS, Actor(login="night-owl", id=78), True),
        (NAMELESS, Actor(login="day-owl", id=78), False),
    ],
)
def test_we_know_ourselves_by_number_and_by_name_only_without_one(
    identity: Identity, actor: Actor | None, mine: bool
) -> None:
    assert is_self(identity, actor) is mine


@pytest.mark.parametrize(
    ("author", "viewer", "whose"),
    [
        (None, True, Authorship.OWN),
        (Actor(login="renamed", id=77), False, Authorship.OWN),
        (Actor(login="old-owl[bot]", id=12), False, Authorship.ALSO),
        (Actor(login="night-owl[bot]", id=78), False, Authorship.STRANGER),
        (Actor(login="helper[bot]", id=9, bot=True), False, Authorship.STRANGER),
        (None, False, Authorship.STRANGER),
    ],
)
def test_a_name_that_ends_in_bot_makes_nobody_us(author: Actor | None, viewer: bool, whose: Authorship) -> None:
    assert authorship(ME, author, viewer_did_author=viewer) is whose


def test_a_snapshot_is_known_by_its_words_only() -> None:
    issue = snapshot(title="T", body="B", labels=("bug",))
    assert issue.digest == key.digest("T", "B")


def test_only_marked_comments_count_as_answers() -> None:
    marked = Comment(id=2, node="c2", body="<!-- triagebot v1 triage:2026-10-19:0123456789abcdef -->\nwords")
    newer = Comment(id=3, node="c3", body="<!-- triagebot v9 from the future -->")
    chat = Comment(id=1, node="c1", body="thanks")
    assert snapshot(comments=(chat, marked, newer)).marked == (marked, newer)


def test_labels_that_anybody_took_off_are_known_casefolded() -> None:
    events = [
        LabelEvent(change=LabelChange.PUT_ON, label="docs", actor=None, at=NOON),
        LabelEvent(change=LabelChange.TAKEN_OFF, label="Needs INFO", actor=None, at=NOON),
    ]
    assert snapshot(label_events=tuple(events)).taken_off == frozenset({"needs info"})
