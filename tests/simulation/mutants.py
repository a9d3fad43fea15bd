"""One-line mutants of the shipped code: each takes one guard away, and the simulator must notice."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import chain
from typing import Any

import pytest

from triagebot.core import issue, policy, standing, undoing
from triagebot.core.rows import Memory, RowStatus
from triagebot.core.standing import Post, Withdraw
from triagebot.ledger import statements
from triagebot.ledger import undoing as undo_rows
from triagebot.ledger.ledger import Ledger
from triagebot.nightly.pacer import Pacer
from triagebot.simulator import history, script, shown
from triagebot.simulator.parts import LABELS
from triagebot.simulator.scheduler import Scheduler

Mutate = Callable[[pytest.MonkeyPatch], None]


def sql(*changes: tuple[str, str]) -> Mutate:
    """Replace words in the shipped SQL; each must be there."""

    def mutate(patch: pytest.MonkeyPatch) -> None:
        shipped = statements.queries

        def queries(macros: Mapping[str, str]) -> dict[str, str]:
            told = dict(shipped(macros))
            for old, new in changes:
                assert any(old in sql for sql in told.values()), old
                told = {name: sql.replace(old, new) for name, sql in told.items()}
            return told

        patch.setattr(statements, "queries", queries)

    return mutate


def _no_exclusive_index(patch: pytest.MonkeyPatch) -> None:
    shipped = statements.migrations

    def migrations(macros: Mapping[str, str]) -> tuple[str, ...]:
        old = "CREATE UNIQUE INDEX runs_one_running"
        assert any(old in step for step in shipped(macros))
        return tuple(step.replace(old, "CREATE INDEX runs_one_running") for step in shipped(macros))

    patch.setattr(statements, "migrations", migrations)


def _no_look(patch: pytest.MonkeyPatch) -> None:
    def post(*_: Any, has_words: bool, **__: Any) -> standing.Step:
        return Post() if has_words else Withdraw("nothing left to say")

    patch.setattr(standing, "comment_step", post)


def _no_author_check(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(shown, "authorship", lambda *_, **__: issue.Authorship.OWN)


def _finish_in_two(patch: pytest.MonkeyPatch) -> None:
    """The rows first and the verdict afterwards, with a step between the two."""
    shipped, switch = Ledger.finish, Scheduler._switch
    running: list[Scheduler] = []

    def noticed(self: Scheduler, task: Any) -> None:
        running[:] = [self]
        switch(self, task)

    def finish(self: Ledger, claim: Any, verdict: Any, planned: Any, usage: Any) -> None:
        for row in planned:
            self.mend(claim.ref, row)
        running[0].step("ledger.sent")
        shipped(self, claim, verdict, (), usage)

    patch.setattr(Scheduler, "_switch", noticed)
    patch.setattr(Ledger, "finish", finish)


def _no_tombstone(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(standing, "deleted_by_people", lambda *_: None)


def _no_digest_check(patch: pytest.MonkeyPatch) -> None:
    shipped = standing.obstacle

    def obstacle(row: Any, look: Any) -> Any:
        found = shipped(row, look)
        return None if found == Withdraw("changed") else found

    patch.setattr(standing, "obstacle", obstacle)


def _gate_not_read_again(patch: pytest.MonkeyPatch) -> None:
    shipped = Pacer.closed_for

    def closed_for(self: Pacer) -> float:
        again = sys._getframe(1).f_code.co_name == "_write"
        return 0.0 if again else shipped(self)

    patch.setattr(Pacer, "closed_for", closed_for)


def _recorded_ids_forgotten(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Memory, "recorded", ())


def _no_healing(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(standing, "twins", lambda _: ())


def _healing_takes_the_lowest(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(standing, "twins", lambda look: look.marked[:-1])


def _peoples_edits_not_seen(patch: pytest.MonkeyPatch) -> None:
    shipped = standing._step_from

    def step(comment: Any, digest: str, *, revise: bool) -> Any:
        return shipped(replace(comment, edited_by_other=False), digest, revise=revise)

    patch.setattr(standing, "_step_from", step)


def _labels_taken_off_not_seen(patch: pytest.MonkeyPatch) -> None:
    shipped = policy.addable
    patch.setattr(policy, "addable", lambda *a, **k: shipped(*a, **k | {"taken_off": frozenset()}))


def _lost_labels_not_seen(patch: pytest.MonkeyPatch) -> None:
    shipped = policy.addable
    patch.setattr(policy, "addable", lambda *a, **k: shipped(*a, **k | {"known": LABELS}))


def _undo_minds_nobody_elses_label(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(undoing, "is_self", lambda *_: True)


def _undo_minds_no_edit(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(undoing, "_untouchable", lambda *_: None)


def _undo_forgets_what_was_only_tried(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(undo_rows, "_ENDED", (RowStatus.SENT,))


MUTANTS: dict[str, Mutate] = {
    "fencing": sql(("AND owner = :owner AND attempt = :attempt", "")),
    "the look before the write": _no_look,
    "the marker's author": _no_author_check,
    "sending is on disk before the request": sql(
        ("status = 'sending',\n       owner", "status = 'pending',\n       owner")
    ),
    "finish is one transaction": _finish_in_two,
    "the try is counted at the claim": sql(
        ("1, 1, :night", "1, 0, :night"), ("tries = runs.tries + 1", "tries = runs.tries")
    ),
    "the settle time": sql(
        ("not_before = triagebot_now() + :settle", "not_before = triagebot_now()"),
        ("not_before = lease_until + :settle", "not_before = lease_until"),
    ),
    "the tombstone": _no_tombstone,
    "the digest in the look": _no_digest_check,
    "one running claim for an issue": _no_exclusive_index,
    "the gate is read again": _gate_not_read_again,
    "a comment that was sent is asked for by its id": _recorded_ids_forgotten,
    "twins are removed": _no_healing,
    "the lowest twin stays": _healing_takes_the_lowest,
    "what a person edited is theirs": _peoples_edits_not_seen,
    "a label that a person took off stays off": _labels_taken_off_not_seen,
    "a label that the repository lost is not made anew": _lost_labels_not_seen,
    "an undo leaves labels that others set last": _undo_minds_nobody_elses_label,
    "an undo leaves comments that people edited": _undo_minds_no_edit,
    "an undo takes back what may have been written": _undo_forgets_what_was_only_tried,
}

# The history that noticed each when last counted; those that any of the first few notices are left out. A number that
# the simulator has outgrown costs time and proves no less, for every other history is asked after it.
# `python -m tests.simulation.mutants` counts anew.
NOTICED_BY: dict[str, int] = {
    "fencing": 133,
    "the try is counted at the claim": 58,
    "the settle time": 12,
    "the tombstone": 11,
    "one running claim for an issue": 115,
    "the gate is read again": 21,
    "a comment that was sent is asked for by its id": 111,
    "twins are removed": 10,
    "the lowest twin stays": 10,
    "what a person edited is theirs": 28,
    "a label that the repository lost is not made anew": 39,
    "an undo leaves labels that others set last": 50,
    "an undo leaves comments that people edited": 28,
}


def seeds(name: str, enough: int) -> Iterator[int]:
    """Every seed below `enough`, and the one that is likely to notice this mutant before the others."""
    likely = NOTICED_BY.get(name, 0)
    return chain([likely] if likely < enough else [], (seed for seed in range(enough) if seed != likely))


def noticed_by(enough: int) -> Iterator[tuple[str, int | None]]:
    """The first history that notices, for each mutant."""
    for name, mutate in MUTANTS.items():
        with pytest.MonkeyPatch.context() as patch:
            mutate(patch)
            caught = (seed for seed in range(enough) if history.run(script.draw(seed)).violations)
            yield name, next(caught, None)


if __name__ == "__main__":
    for named, first in noticed_by(600):
        sys.stdout.write(f'    "{named}": {first},\n')
