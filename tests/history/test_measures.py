"""What examples are worth: shown by themselves only where the last measure of this model says so."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.history.pieces import past
from triagebot.history.index import HistoryIndex
from triagebot.history.opening import from_export, open_history, throwaway

BETTER: dict[str, Any] = {"model": "small", "prompt": "1", "n": 120, "without": 0.50, "with_examples": 0.55}


def test_without_a_measure_examples_do_not_pay(index: HistoryIndex, path: Path) -> None:
    assert not index.examples_pay(model="small")
    assert not path.exists()


@pytest.mark.parametrize(
    ("change", "pay"),
    [
        ({}, True),
        ({"with_examples": 0.36}, False),
        ({"with_examples": 0.51}, False),
        ({"n": 49}, False),
        ({"gain_low": 0.001}, True),
        ({"gain_low": -0.01}, False),
        ({"model": "other"}, False),
        ({"prompt": "2"}, False),
    ],
)
def test_they_pay_where_the_measure_says_so(index: HistoryIndex, change: dict[str, Any], pay: bool) -> None:
    index.record_measure(**BETTER | change)
    assert index.examples_pay(model="small", prompt="1") is pay


def test_the_last_measure_counts_and_another_prompt_is_another_matter(index: HistoryIndex) -> None:
    index.record_measure(**BETTER)
    index.record_measure(**BETTER | {"prompt": "2", "with_examples": 0.3}, at=datetime(2026, 1, 1, tzinfo=UTC))
    assert index.examples_pay(model="small", prompt="1")
    assert not index.examples_pay(model="small", prompt="2")
    assert not index.examples_pay(model="small")


def test_measures_outlast_the_issues_of_a_repository_and_the_process(index: HistoryIndex, path: Path) -> None:
    index.record_measure(**BETTER)
    index.forget(7)
    with open_history(path) as again:
        assert again.examples_pay(model="small", prompt="1")


def test_an_export_goes_by_the_measures_of_the_file(index: HistoryIndex, path: Path) -> None:
    with from_export([past(1)], measured_in=path) as export:
        assert not export.examples_pay(model="small")
        export.record_measure(**BETTER)
        assert export.examples_pay(model="small")
    assert index.examples_pay(model="small")
    assert index.past(0) == []


def test_a_copy_knows_the_measures_and_keeps_its_own_to_itself(index: HistoryIndex, path: Path) -> None:
    index.record_measure(**BETTER)
    index.close()
    before = path.read_bytes()
    with throwaway(copy_of=path) as copy:
        assert copy.examples_pay(model="small")
        copy.record_measure(**BETTER | {"with_examples": 0.1})
        copy.remember(7, [past(1)])
        assert not copy.examples_pay(model="small")
    assert path.read_bytes() == before
