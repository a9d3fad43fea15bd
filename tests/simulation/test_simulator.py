"""Thousands of histories of the shipped night and ledger: not one may end with other than what should stand."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from tests.simulation.mutants import MUTANTS, seeds
from triagebot.nightly.undo import Fate
from triagebot.simulator import history, script
from triagebot.simulator.history import Result
from triagebot.simulator.script import HOUSE, MODES, PEOPLE, STEPS, TROUBLE, UNDO_STEPS

# Coverage slows a history several times, and other tests reach the same lines.
pytestmark = pytest.mark.no_cover

HISTORIES = 1_000
PARTS = 8
ENOUGH = 600


def explained(result: Result) -> str:
    """The seed, what was violated, and the shortest script that still fails."""
    shortest = history.shrink(result.script, lambda shorter: bool(history.run(shorter).violations))
    return f"{result.violations}\nfull: seed {result.script.seed}\nshortest that fails:\n{shortest}"


@pytest.mark.parametrize("part", range(PARTS))
def test_every_history_comes_to_the_rest_that_the_promise_names(
    part: int, testrun_uid: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """And they hold every kind of trouble: whichever part ends last looks at what all of them counted."""
    counts: Counter[str] = Counter()
    for seed in range(part, HISTORIES, PARTS):
        result = history.run(script.draw(seed))
        assert not result.violations, explained(result)
        counts += result.counts
    told = tmp_path_factory.getbasetemp().parent / f"histories-{testrun_uid}"
    told.mkdir(exist_ok=True)
    (told / f"{part}.new").write_text(json.dumps(counts))
    (told / f"{part}.new").rename(told / f"{part}.json")
    parts = [*told.glob("*.json")]
    if len(parts) == PARTS:
        nothing_is_missing(sum((Counter(json.loads(file.read_text())) for file in parts), Counter()))


def test_a_seed_replays_exactly() -> None:
    one, other = (history.run(script.draw(7)) for _ in range(2))
    assert one.counts == other.counts


@pytest.mark.parametrize("name", MUTANTS)
def test_a_guard_that_is_taken_away_is_noticed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    MUTANTS[name](monkeypatch)
    caught = (seed for seed in seeds(name, ENOUGH) if history.run(script.draw(seed)).violations)
    assert next(caught, None) is not None, f"not noticed in {ENOUGH} histories"


def test_what_a_failing_history_needs_is_all_that_is_left_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """A shrunk script still fails, and is shorter."""
    MUTANTS["the digest in the look"](monkeypatch)
    failing = next(r for seed in range(ENOUGH) if (r := history.run(script.draw(seed))).violations)
    shortest = history.shrink(failing.script, lambda shorter: bool(history.run(shorter).violations))
    assert history.run(shortest).violations
    assert len(shortest.events) < len(failing.script.events)


# --- what never occurs is a hole in the proof

_WRITES = ("AddLabels", "PostComment")
_FAULTS = (
    "5xx stored",
    "5xx lost",
    "hang stored",
    "hang lost",
    "dropped stored",
    "cut JSON stored",
    "odd answer stored",
    "3xx lost",
    "refused connection",
    "refused for good",
)
OCCURS: dict[str, tuple[str, ...]] = {
    "people, owners and accidents": tuple(f"event: {what}" for what in (*PEOPLE, *TROUBLE, *HOUSE, "copy")),
    "kills": ("kill at number", "poisoned", *(f"kill on {step}" for step in (*STEPS, *UNDO_STEPS))),
    "stalls": tuple(f"stall on {step}" for step in STEPS),
    "every kind of write": tuple(
        f"send.{what}" for what in (*_WRITES, "EditComment", "DeleteComment", "MinimizeComment", "RemoveLabel")
    ),
    "every fault of the writes that matter most": (
        *(f"send.{write}: {fault}" for write in _WRITES for fault in _FAULTS),
        *(f"send.{write}: late" for write in _WRITES),
    ),
    "faults of reads": tuple(
        f"{read}: {fault}" for read in ("look", "look_again") for fault in ("unclear", "undelivered", "limit")
    ),
    "limits": tuple(f"limit {seconds}" for seconds in (None, 5.0, 90.0, 4000.0)),
    "refusals": ("closed to writing", "not permitted", "redirected"),
    "the model": tuple(
        f"model {what}" for what in ("answered", "garbage", "truncated", "unreachable", "limited", "unusable")
    ),
    "a ledger that fails": tuple(
        f"ledger failed: {verb}" for verb in ("claim", "finish", "claim_parcel", "sent", "recall", "gate", "open_night")
    ),
    "ends of a night": (
        *(f"night ended by {fault}" for fault in ("ReadOnly", "LedgerBusy", "LedgerUnusable")),
        *(f"night stopped by {fault}" for fault in ("ModelUnusable", "NotPermitted", "LedgerUnusable")),
        "night ended",
        "midnight in mid-run",
        "lease lost",
    ),
    "what a run or a row goes through": tuple(
        f"state: {what}"
        for what in (
            *("claimed", "finished", "failed", "released", "crashed", "dead", "adopted", "retried"),
            *("planned", "sending", "sent", "postponed", "unclear", "resting", "withdrawn", "reopened"),
            *("silenced", "silence lifted", "taking back", "put back"),
        )
    ),
    "ends of an undo": tuple(f"undo: {fate.value}" for fate in Fate if fate is not Fate.LEFT),
    "how the bot is set up": tuple(f"mode: {mode}" for mode in ("as it comes", *MODES)),
    "what was given up": tuple(f"buried: {why}" for why in ("422", "failed on 3 days", "3 nights without proof")),
    "claims that were not given": (
        *("unclaimed: answered already", "unclaimed: held by another worker", "unclaimed: no tries left today"),
    ),
    "windows for twins": tuple(
        f"window: {what}"
        for what in ("stall", "seen late", "two ledgers", "lose", "restore", "clock forward", "clock back")
    ),
}


def nothing_is_missing(counts: Counter[str]) -> None:
    """Every kind of trouble took place; and twins arise in the windows of the promise, and nowhere else."""
    holes = {kind: [what for what in told if not counts[what]] for kind, told in OCCURS.items()}
    assert {kind: missing for kind, missing in holes.items() if missing} == {}
    assert [what for what in counts if what.startswith("twin by ")]
    assert "twin by nothing" not in counts
