"""One-line mutants of what only several repositories in one night need: the simulator must notice each."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.simulation.mutants import Mutate, sql
from triagebot.nightly import tour
from triagebot.nightly.courier import Courier
from triagebot.nightly.night import Shared, Shift
from triagebot.nightly.pacer import LastWrite
from triagebot.nightly.purse import Purse
from triagebot.nightly.stop import Branch
from triagebot.nightly.tour import Tour
from triagebot.nightly.triage import Triage


def _own_part(**fresh: Any) -> Mutate:
    """Each repository's night gets its own `fresh` in place of what the tour shares."""

    def mutate(patch: pytest.MonkeyPatch) -> None:
        shipped = tour.night.begin

        def begin(*args: Any) -> Shift:
            *first, last = args
            if not isinstance(last, Shared):
                return shipped(*args)
            return shipped(*first, replace(last, **{name: make(last) for name, make in fresh.items()}))

        patch.setattr(tour.night, "begin", begin)

    return mutate


def _own_purse(shared: Shared) -> Purse:
    return Purse(shared.purse.budget)


def _own_distance(_: Shared) -> LastWrite:
    return LastWrite()


def _a_fault_stops_all(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Branch, "by_fault", lambda self, fault: self.trunk.by_fault(fault))


def _a_fault_ends_the_tour(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(tour.stop, "concerns_all", lambda _: True)


def _a_signal_reaches_the_trunk_alone(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Branch, "follow", lambda _: None)


def _claims_are_kept(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Triage, "abandon", lambda _: None)


def _rows_are_kept(patch: pytest.MonkeyPatch) -> None:
    """Neither the courier's own end nor the tour's puts back what is in hand."""
    patch.setattr(Courier, "abandon", lambda _: None)


def _the_last_alone_is_closed(patch: pytest.MonkeyPatch) -> None:
    shipped = Tour._close

    def close(self: Tour, desk: Any, how: str) -> None:
        if self.stop.asked and len(self._desks) > 1:
            del self._desks[desk.shift.place.repository.id]
        else:
            shipped(self, desk, how)

    patch.setattr(Tour, "_close", close)


def _named_twice_is_opened_twice(patch: pytest.MonkeyPatch) -> None:
    shipped = Tour._open

    def opened(self: Tour, site: Any) -> Any:
        self._desks.clear()
        return shipped(self, site)

    patch.setattr(Tour, "_open", opened)


def _only_the_first_is_written_to(patch: pytest.MonkeyPatch) -> None:
    shipped = Tour._write
    patch.setattr(Tour, "_write", lambda self, desks: shipped(self, desks[:1]))


def _only_the_first_is_healed(patch: pytest.MonkeyPatch) -> None:
    shipped = Shift.heal

    def heal(self: Shift) -> None:
        if self.place.repository.name.startswith("octo/sim"):
            shipped(self)

    patch.setattr(Shift, "heal", heal)


def _only_the_first_hears_that_no_more_comes(patch: pytest.MonkeyPatch) -> None:
    shipped = Tour._no_more
    patch.setattr(Tour, "_no_more", lambda self, desks: shipped(self, desks[:1]))


def _a_long_wait_is_told_to_its_own_alone(patch: pytest.MonkeyPatch) -> None:
    shipped = Tour._open

    def opened(self: Tour, site: Any) -> Any:
        desk = shipped(self, site)
        desk.shift.pacer.rests = desk.shift.probe.writing_rests
        return desk

    patch.setattr(Tour, "_open", opened)


def _what_has_writes_is_not_seen(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Shift, "has_writes", property(lambda _: False))


TOUR_MUTANTS: dict[str, Mutate] = {
    "an outbox row is its repository's": sql(
        ("WHERE r.repo_id = :repo_id\n       AND (:issue = 0", "WHERE TRUE\n       AND (:issue = 0")
    ),
    "a verdict is its repository's": sql(
        (
            "WHERE repo_id = :repo_id AND issue = :issue AND digest = :digest AND status = 'done'",
            "WHERE :repo_id > 0 AND issue = :issue AND digest = :digest AND status = 'done'",
        )
    ),
    "a tombstone is its repository's": sql(
        ("FROM tombstones WHERE repo_id = :repo_id AND issue", "FROM tombstones WHERE :repo_id > 0 AND issue")
    ),
    "one purse": _own_part(purse=_own_purse),
    "one distance between writes": _own_part(last_write=_own_distance),
    "a repository's fault is its own": _a_fault_stops_all,
    "a repository that cannot be opened holds up no other": _a_fault_ends_the_tour,
    "a signal reaches every repository": _a_signal_reaches_the_trunk_alone,
    "claims are given back": _claims_are_kept,
    "rows in hand are put back": _rows_are_kept,
    "every night is closed": _the_last_alone_is_closed,
    "a repository named twice is worked on once": _named_twice_is_opened_twice,
    "the writer serves all": _only_the_first_is_written_to,
    "twins of all are removed": _only_the_first_is_healed,
    "all hear that no more comes": _only_the_first_hears_that_no_more_comes,
    "all hear of a long wait": _a_long_wait_is_told_to_its_own_alone,
    "one with nothing but writes is served": _what_has_writes_is_not_seen,
}
