"""The frame says what was measured: medians, spreads, ratios, verdicts. And every benchmark runs, at its smallest."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.bench import __main__ as command
from tests.bench import frame
from tests.bench.frame import Line, Setting, Spread, at_least, at_most

ROOT = Path(__file__).parents[2]


def line(**more: Any) -> Line:
    return Line("thing", "s", **{"ours": [2.0, 3.0, 10.0], "against": {"floor": [1.0, 2.0, 4.0]}, **more})


def test_a_spread_is_the_median_and_both_ends() -> None:
    assert Spread.over([5.0, 1.0, 2.0]) == Spread(2.0, 1.0, 5.0)


def test_a_ratio_is_taken_run_by_run() -> None:
    assert line().ratio("floor") == Spread(2.0, 1.5, 2.5)


def test_one_value_stands_for_every_run() -> None:
    assert line(against={"limit": [2.0]}).ratio("limit") == Spread(1.5, 1.0, 5.0)
    with pytest.raises(ValueError, match="shorter"):
        line(against={"floor": [1.0, 2.0]}).ratio("floor")


def test_nothing_divided_by_is_told_as_infinite() -> None:
    assert line(against={"floor": [0.0]}).ratio("floor").median == math.inf
    assert "infinite" in frame.table("it", [line(against={"floor": [0.0]})])


@pytest.mark.parametrize(
    ("target", "verdict"),
    [
        (at_most(2), "target <= 2: 2 met"),
        (at_most(1.99), "target <= 1.99: 2 MISSED"),
        (at_least(2), "target >= 2: 2 met"),
        (at_least(2.5), "target >= 2.50: 2 MISSED"),
        (at_most(1, of="difference"), "target difference in s <= 1: 1 met"),
        (at_most(2.5, of="value"), "target s <= 2.50: 3 MISSED"),
        (at_most(0.5, to="peer"), "target <= 0.5: 0.3 met"),
        (None, ""),
    ],
)
def test_a_verdict_names_the_bound_the_number_and_whether_it_holds(target: frame.Target | None, verdict: str) -> None:
    measured = line(target=target, against={"floor": [1.0, 2.0, 4.0], "peer": [10.0]})
    assert measured.verdict() == verdict
    assert measured.met() is ("MISSED" not in verdict)


def test_everything_is_measured_in_each_run_and_the_first_round_does_not_count() -> None:
    calls: list[str] = []
    setting = Setting(runs=3, small=False, rows=None, folder=Path())
    measures = {name: lambda name=name: calls.append(name) or float(len(calls)) for name in ("ours", "floor")}
    taken = frame.interleaved(setting, measures)
    assert [len(values) for values in taken.values()] == [3, 3]
    assert min(value for values in taken.values() for value in values) == 3.0
    assert [set(calls[n : n + 2]) for n in range(0, 8, 2)] == [{"ours", "floor"}] * 4


# --- the command


@pytest.fixture
def two(monkeypatch: pytest.MonkeyPatch) -> None:
    """A benchmark that meets its target, one that misses it, one that fails."""

    def met(_: Setting) -> Iterator[Line]:
        yield line(target=at_most(2))

    def missed(_: Setting) -> Iterator[Line]:
        yield line(target=at_most(1), limit_by="the speed of light")

    def failed(_: Setting) -> Iterator[Line]:
        yield line()
        raise RuntimeError("no ground")

    known = {name: frame.Benchmark(name, "", work) for name, work in (("a", met), ("b", missed), ("c", failed))}
    monkeypatch.setattr(command, "load", lambda: known)


@pytest.mark.parametrize(("names", "code"), [(["a"], 0), (["b"], 1), (["c"], 1), (["a", "b"], 1), ([], 1)])
def test_the_exit_code_tells_whether_every_target_is_met(two: None, names: list[str], code: int) -> None:
    assert command.main([*names, "--small"]) == code


def test_a_name_that_is_none_is_a_usage_error(two: None, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as told:
        command.main(["nothing"])
    assert told.value.code == 2
    assert "there is no benchmark nothing; there are a, b, c" in capsys.readouterr().err


def test_people_and_machines_are_told_the_same(two: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["b", "--small", "--json", str(tmp_path / "out.json")]) == 1
    told = capsys.readouterr().out
    for words in ("b: thing", "3 (2..10) s", "floor 2 (1..4)", "ratio 2 (1.50..2.50)", "the speed of light"):
        assert words in told
    [record] = json.loads((tmp_path / "out.json").read_text())["lines"]
    assert (record["bounded"], record["met"], record["ours"]) == (2.0, False, [2.0, 3.0, 10.0])
    assert record["ratios"]["floor"] == {"median": 2.0, "low": 1.5, "high": 2.5}


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(command.load()))
def test_every_benchmark_runs(name: str, tmp_path: Path) -> None:
    """What it measures is not judged here: the machine has other work to do."""
    told = tmp_path / "told.json"
    words = [sys.executable, "-m", "tests.bench", name, "--small", "--json", str(told)]
    ran = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ", 0 failed" in ran.stdout, ran.stderr
    assert json.loads(told.read_text())["lines"]
