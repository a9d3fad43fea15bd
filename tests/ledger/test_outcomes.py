"""What became of the labels that were set, as the ledger keeps, counts, copies and drops it, on both databases."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.ledger.conftest import OpenAgain
from tests.ledger.pieces import (
    LABELLED,
    LABELS,
    REPO,
    SPENT,
    Clock,
    answer,
    claim,
    night,
    parse_server,
    text,
)
from triagebot.core.outcomes import Fate, LabelOutcome
from triagebot.core.verdict import Verdict
from triagebot.ledger import opening, outcomes, sqlite, statements
from triagebot.ledger.ledger import Ledger
from triagebot.ledger.opening import open_ledger, throwaway_copy
from triagebot.ledger.outcomes import Score
from triagebot.ledger.statements import Transaction

DAY = 86400.0
EVER = datetime(1970, 1, 1, tzinfo=UTC)


def outcome(clock: Clock, label: str = "bug", fate: Fate = Fate.KEPT, *, issue: int = 1, **more: Any) -> LabelOutcome:
    """A label that was set just now, by the tracker's clock of full seconds."""
    now = datetime.fromtimestamp(int(clock()), UTC)
    given = {"issue": issue, "label": label, "digest": text(issue=issue).digest, "set_at": now, "fate": fate}
    return LabelOutcome(**given | more)


def known(ledger: Ledger, repo: int = REPO) -> dict[str, Fate]:
    return {found.label: found.fate for found in ledger.outcomes(repo, since=EVER)}


def told(ledger: Ledger, issue: int = 1) -> list[dict[str, Any]]:
    return [dict(entry.fields) for entry in ledger.history(REPO, issue) if entry.kind == "label"]


# --- noting


def test_what_is_noted_is_known_as_it_was(ledger: Ledger, other: Ledger, clock: Clock) -> None:
    noted = [outcome(clock), outcome(clock, "a % :ü", Fate.REPLACED), outcome(clock, issue=2, fate=Fate.UNDONE)]
    ledger.note_outcomes(REPO, noted)
    assert set(other.outcomes(REPO, since=EVER)) == set(noted)


def test_repositories_are_kept_apart(ledger: Ledger, clock: Clock) -> None:
    ledger.note_outcomes(REPO, [outcome(clock)])
    ledger.note_outcomes(8, [outcome(clock, fate=Fate.REMOVED)])
    assert (known(ledger), known(ledger, 8)) == ({"bug": Fate.KEPT}, {"bug": Fate.REMOVED})


def test_only_labels_set_since_then_are_asked_for(ledger: Ledger, clock: Clock) -> None:
    old = outcome(clock)
    clock.pass_(60)
    new = outcome(clock, "docs")
    ledger.note_outcomes(REPO, [old, new])
    assert ledger.outcomes(REPO, since=new.set_at) == (new,)
    assert ledger.outcomes(REPO, since=old.set_at) == (old, new)
    assert ledger.outcomes(REPO, since=new.set_at + timedelta(seconds=1)) == ()


def test_noted_again_a_label_changes_its_outcome_and_nothing_else(ledger: Ledger, clock: Clock) -> None:
    answer(ledger, text(), LABELS)
    first = outcome(clock)
    ledger.note_outcomes(REPO, [first])
    [before] = told(ledger)
    clock.pass_(DAY)
    answer(ledger, text(day=1), LABELS, again=True, verdict=replace(LABELLED, model="other"))
    clock.pass_(DAY)
    ledger.note_outcomes(REPO, [replace(first, fate=Fate.REMOVED)])
    [after] = told(ledger)
    assert after["noted_at"] > before["noted_at"]
    assert after == before | {"outcome": "removed", "noted_at": after["noted_at"]}


def test_show_tells_it_with_the_rest_of_the_issue(ledger: Ledger, clock: Clock) -> None:
    answer(ledger, text(), LABELS)
    clock.pass_(60)
    ledger.note_outcomes(REPO, [outcome(clock), outcome(clock, issue=2)])
    last = ledger.history(REPO, 1)[-1]
    assert (last.kind, last.what, last.fields["label"], last.fields["model"]) == ("label", "kept", "bug", "m")


def test_rows_are_written_in_one_order_so_that_two_nights_never_wait_in_a_circle(clock: Clock) -> None:
    noted = [outcome(clock, label, issue=issue) for issue in (1, 2, 10) for label in ("bug", "docs")]
    written: list[Any] = []
    for seen in (noted, noted[::-1], noted[3:] + noted[:3]):
        tx = Transaction(lambda *_: [], {"note_outcome": ""}, lambda _, rows: written.append(rows))
        outcomes.note(tx, REPO, seen)
    assert written[0] == written[1] == written[2]
    assert [(row["issue"], row["label"]) for row in written[0]] == [(seen.issue, seen.label) for seen in noted]


# --- whose label it is


def answers(ledger: Ledger, clock: Clock, *models: str) -> list[float]:
    """The same text answered by several models, a day after each other; when each had answered."""
    ended = []
    for day, model in enumerate(models):
        held = claim(ledger, text(day=day), again=True)
        clock.pass_(60)
        ledger.finish(held, replace(LABELLED, model=model, prompt=f"p {model}"), [LABELS], SPENT)
        ended.append(clock())
        clock.pass_(DAY)
    return ended


@pytest.mark.parametrize(
    ("after", "model"),
    [(0, "second"), (-1, "second"), (-600, "first"), (-2 * DAY, "first"), (DAY - 600, "second"), (2 * DAY, "third")],
)
def test_the_newest_answer_that_was_there_led_to_the_label(
    ledger: Ledger, clock: Clock, after: float, model: str
) -> None:
    """`after` the second of three answers, in seconds; where the clocks tell that there was none, the first."""
    _, second, _ = answers(ledger, clock, "first", "second", "third")
    moment = datetime.fromtimestamp(int(second + after), UTC)
    ledger.note_outcomes(REPO, [outcome(clock, set_at=moment)])
    assert [(row["model"], row["prompt"]) for row in told(ledger)] == [(model, f"p {model}")]


def test_another_text_or_issue_or_an_unfinished_answer_led_to_nothing(ledger: Ledger, clock: Clock) -> None:
    answer(ledger, text("other words"), LABELS)
    answer(ledger, text(issue=2), LABELS)
    claim(ledger, text())
    ledger.note_outcomes(REPO, [outcome(clock)])
    assert [(row["model"], row["prompt"]) for row in told(ledger)] == [(None, None)]


# --- counting


def scored(scores: Sequence[Score]) -> list[tuple[str, int, int, int, int, int]]:
    return [(s.name, s.counted, s.kept, s.removed, s.replaced, s.undone) for s in scores]


def test_nothing_noted_nothing_scored(ledger: Ledger) -> None:
    scores = ledger.status().outcomes
    assert (scores.labels, scores.prompts, scores.models) == ((), (), ())


def test_labels_are_scored_by_name_by_prompt_and_by_model(ledger: Ledger, clock: Clock) -> None:
    def noted(issue: int, fate: Fate, label: str = "bug", **by: str) -> LabelOutcome:
        verdict: Verdict = replace(LABELLED, **{"model": "m", "prompt": "p", **by})  # type: ignore[arg-type]
        answer(ledger, text(issue=issue), LABELS, verdict=verdict)
        return outcome(clock, label, fate, issue=issue)

    night(ledger)
    first = outcome(clock).set_at
    early = [noted(1, Fate.KEPT), noted(2, Fate.REMOVED), noted(5, Fate.REPLACED)]
    clock.pass_(DAY)
    renamed = noted(3, Fate.UNDONE, "Bug", model="n")
    late = [renamed, noted(4, Fate.KEPT, "docs", prompt="q"), outcome(clock, "lost", issue=6)]
    ledger.note_outcomes(REPO, early + late)
    ledger.note_outcomes(8, [outcome(clock, "elsewhere")])
    scores = ledger.status("octo/demo").outcomes
    assert scored(scores.labels) == [("Bug", 3, 1, 1, 1, 1), ("docs", 1, 1, 0, 0, 0), ("lost", 1, 1, 0, 0, 0)]
    assert scored(scores.prompts) == [("p", 3, 1, 1, 1, 1), ("", 1, 1, 0, 0, 0), ("q", 1, 1, 0, 0, 0)]
    assert scored(scores.models) == [("m", 4, 2, 1, 1, 0), ("", 1, 1, 0, 0, 0), ("n", 0, 0, 0, 0, 1)]
    assert [score.shares for score in scores.models] == [
        {"kept": 0.5, "removed": 0.25, "replaced": 0.25},
        {"kept": 1.0, "removed": 0.0, "replaced": 0.0},
        {},
    ]
    assert [score.since for score in scores.models] == [first, renamed.set_at, renamed.set_at]
    assert "elsewhere" in [score.name for score in ledger.status().outcomes.labels]


# --- keeping and dropping


def test_what_was_last_seen_long_ago_is_pruned(ledger: Ledger, clock: Clock) -> None:
    old = outcome(clock)
    ledger.note_outcomes(REPO, [old, outcome(clock, "docs")])
    clock.pass_(10 * DAY)
    ledger.note_outcomes(REPO, [replace(old, fate=Fate.REMOVED)])
    clock.pass_(DAY)
    assert ledger.prune(older_than=7 * DAY)["outcomes"] == 1
    assert known(ledger) == {"bug": Fate.REMOVED}
    assert ledger.prune(older_than=7 * DAY)["outcomes"] == 0


def test_a_drill_takes_its_own_out_again_and_nobody_elses(ledger: Ledger, clock: Clock) -> None:
    for repo in (REPO, 8):
        ledger.note_outcomes(repo, [outcome(clock)])
    ledger.forget(8, ("host", "account"))
    assert (known(ledger), known(ledger, 8)) == ({"bug": Fate.KEPT}, {})


def test_a_dry_runs_copy_knows_it_and_keeps_its_own_notes_to_itself(address: str, ledger: Ledger, clock: Clock) -> None:
    ledger.note_outcomes(REPO, [outcome(clock)])
    with throwaway_copy(address) as copy:
        assert known(copy) == {"bug": Fate.KEPT}
        copy.note_outcomes(REPO, [outcome(clock, fate=Fate.REMOVED)])
    assert known(ledger) == {"bug": Fate.KEPT}


def test_it_moves_to_another_database(address: str, ledger: Ledger, clock: Clock, tmp_path: Path) -> None:
    ledger.note_outcomes(REPO, [outcome(clock, label) for label in ("bug", "Zebra", "ähnlich", "docs")])
    assert opening.copy(address, tmp_path / "to.db").rows["outcomes"] == 4
    with open_ledger(tmp_path / "to.db") as moved:
        assert known(moved) == known(ledger)


# --- a ledger from before


@pytest.fixture
def first_version(address: str) -> str:
    """A ledger as the first version of the program left it, which knows an answered issue."""
    if address.startswith("sqlite"):
        steps = statements.migrations(sqlite._MACROS)[:1]
        database: Any = sqlite.open_file(Path(address.removeprefix("sqlite:///")), migrations=steps)
    else:
        postgres = opening.dialect(parse_server(address))
        steps = statements.migrations(postgres._MACROS)[:1]
        database = postgres.open_schema(parse_server(address), migrations=steps)
    with closing(database):
        answer(Ledger(database), text(), LABELS)
    return address


def test_a_ledger_from_before_learns_to_note_and_forgets_nothing(
    first_version: str, open_again: OpenAgain, clock: Clock
) -> None:
    ledger = open_again(now=None)
    assert ledger.recall(REPO, 1, text().digest).verdict
    assert known(ledger) == {}
    ledger.note_outcomes(REPO, [outcome(clock)])
    assert [row["model"] for row in told(ledger)] == ["m"]
