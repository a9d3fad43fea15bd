"""`drill --simulate`: the simulator in the hands of a user."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.simulation.mutants import MUTANTS
from triagebot.cli.main import main
from triagebot.simulator import campaign

_ENTRY = "from triagebot.cli.main import entry; entry()"


def drill(*argv: str) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(["drill", *argv])
    return code, out.getvalue(), err.getvalue()


def test_it_ends_in_how_many_histories_came_to_rest() -> None:
    code, out, err = drill("--simulate", "12", "--seed", "100", "--jobs", "1")
    assert code == 0, err
    assert out.splitlines()[-1] == "12/12 histories at rest as promised"
    assert "seeds 100 to 111" in out
    assert "simulate, from seed 100: 12 of 12" in err


def test_machines_are_told_what_occurred() -> None:
    code, out, err = drill("--simulate", "5", "--format", "json", "--jobs", "1")
    told = json.loads(out)
    assert (code, err) == (0, "")
    assert told["held"] is True
    assert (told["histories"], told["next_seed"], told["failed"]) == (5, 5, [])
    assert told["counts"]["event: night"] > 5


def test_the_shortest_history_that_fails_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    MUTANTS["the digest in the look"](monkeypatch)
    code, out, _ = drill("--simulate", "40", "--jobs", "1")
    assert code == 1
    assert "breaks the promise; the shortest history that does:" in out
    last = out.splitlines()[-1]
    assert "/40 histories at rest as promised; seeds that break the promise: " in last
    assert not last.startswith("40/")


def test_sittings_add_up_in_a_file(tmp_path: Path) -> None:
    tally = tmp_path / "tally.json"
    drill("--simulate", "4", "--seed", "50", "--jobs", "1", "--resume", str(tally))
    code, out, _ = drill("--simulate", "6", "--jobs", "1", "--resume", str(tally))
    assert code == 0
    assert "seeds 54 to 59" in out
    assert out.splitlines()[-1] == "10/10 histories at rest as promised"
    together = campaign.Tally(next_seed=50)
    campaign.run(10, together, jobs=1, told=lambda _: None, saved=lambda: None)
    assert json.loads(tally.read_text())["counts"] == together.counts


def test_a_failure_of_an_earlier_sitting_is_not_forgotten(tmp_path: Path) -> None:
    tally = tmp_path / "tally.json"
    campaign.Tally(histories=9, next_seed=9, failed=[3]).save(tally)
    code, out, _ = drill("--simulate", "1", "--jobs", "1", "--resume", str(tally))
    assert code == 1
    assert out.splitlines()[-1] == "9/10 histories at rest as promised; seeds that break the promise: 3"


def test_sittings_about_several_repositories_are_no_others(tmp_path: Path) -> None:
    tally = tmp_path / "tally.json"
    several = ("--simulate", "3", "--repos", "2", "--jobs", "1", "--resume", str(tally))
    assert drill(*several)[0] == 0
    code, out, _ = drill(*several, "--format", "json")
    told = json.loads(out)
    assert (code, told["histories"], told["repos"]) == (0, 6, 2)
    assert told["counts"]["tour ended"] > 6
    code, _, err = drill("--simulate", "3", "--resume", str(tally))
    assert code == 2
    assert "go on with --repos 2, or name another file" in err


@pytest.mark.parametrize("content", ["{", "[]", '{"histories": 1}', '{"histories": "x"}'])
def test_another_file_is_not_taken_for_a_tally(tmp_path: Path, content: str) -> None:
    tally = tmp_path / "notes.json"
    tally.write_text(content)
    code, _, err = drill("--simulate", "1", "--resume", str(tally))
    assert code == 2
    assert "is no tally of simulated histories" in err
    assert tally.read_text() == content


def test_a_file_that_cannot_be_written_is_told_before_the_sitting(tmp_path: Path) -> None:
    code, out, err = drill("--simulate", "1", "--resume", str(tmp_path / "missing" / "tally.json"))
    assert (code, out) == (2, "")
    assert "cannot be written (No such file or directory): name another file" in err


def test_without_its_extra_it_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    shipped = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *_: None if name == "greenlet" else shipped(name))
    code, _, err = drill("--simulate", "1")
    assert code == 2
    assert ".[simulate]" in err


def test_it_needs_no_other_extra() -> None:
    """The embedded GitHub's memory is used without its server."""
    code = "import sys; from triagebot.simulator import campaign; print([*sys.modules])"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert not [name for name in ("starlette", "uvicorn", "graphql") if f"'{name}'" in loaded]


@pytest.mark.parametrize("flag", [("--seed", "1"), ("--jobs", "2"), ("--resume", "x.json"), ("--repos", "2")])
def test_its_flags_mean_nothing_without_it(flag: tuple[str, str]) -> None:
    code, _, err = drill(*flag)
    assert code == 2
    assert "belong to --simulate N" in err


def test_interrupted_it_keeps_what_it_has_counted(tmp_path: Path) -> None:
    """Several processes, of which none is left behind nor a file of theirs."""
    tally = tmp_path / "tally.json"
    process = _start("--simulate", "100000", "--jobs", "2", "--resume", str(tally))
    _await_progress(process)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=20)
    assert (process.returncode, out) == (130, ""), err
    kept = json.loads(tally.read_text())
    assert kept["histories"] == kept["next_seed"] > 0
    assert kept["failed"] == []


def _start(*argv: str) -> subprocess.Popen[str]:
    words = [sys.executable, "-c", _ENTRY, "drill", *argv]
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def _await_progress(process: subprocess.Popen[str]) -> Any:
    """Until the second line of its progress, which tells of histories that were played."""
    assert process.stderr is not None
    return [process.stderr.readline() for _ in range(2)]
