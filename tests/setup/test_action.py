"""The action carries its ledger from night to night; whatever becomes of the cache, an issue carries one comment."""

from __future__ import annotations

import re
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
import yaml

from tests.setup.job import ACTION, ROOT, Cache, Job, bare
from tests.world import World
from triagebot.sandbox import faults

Night = Callable[..., Job]


def _as_installed(folder: Path) -> None:
    """In place of the step that takes a minute: the program that these tests run with."""
    place = folder / "venv" / "bin" / "triagebot"
    place.parent.mkdir(parents=True)
    place.symlink_to(Path(sys.executable).with_name("triagebot"))


@pytest.fixture
def cache() -> Cache:
    return Cache()


@pytest.fixture
def night(world: World, cache: Cache, tmp_path: Path) -> Night:
    """One job of the workflow, in a fresh folder of the runner's; the next one has the next run's number."""
    numbers = iter(range(1, 100))
    env = bare({name: world.env[name] for name in ("GITHUB_API_URL", "GITHUB_REPOSITORY", "GITHUB_TOKEN")}, tmp_path)
    given = {
        "config": str(world.folder / "config.yml"),
        "openai-base-url": world.env["OPENAI_BASE_URL"],
        "model": "stand-in",
    }

    def run(
        during: Callable[[subprocess.Popen[str]], None] | None = None,
        install: Callable[[Path], None] | None = _as_installed,
        run_id: int | None = None,
        attempt: int = 1,
        **inputs: str,
    ) -> Job:
        return Job(
            cache=cache,
            temp=tmp_path / "temp",
            env=env,
            inputs=given | {name.replace("_", "-"): value for name, value in inputs.items()},
            run_id=run_id or next(numbers),
            attempt=attempt,
            install=install,
            during=during,
        ).run()

    return run


def well(job: Job) -> Job:
    assert job.outcomes[""] == "success", job.log
    return job


# --- the cache, in every state


def test_whatever_becomes_of_the_cache_an_issue_carries_one_comment(world: World, night: Night, cache: Cache) -> None:
    """Empty, kept, stale, lost, damaged. The markers on the issues restore what it loses: nothing is asked twice."""
    world.crash("One")
    first = well(night())
    assert "none in the cache" in first.summary
    assert "octo/demo" in first.summary
    world.crash("Two")
    assert "from the cache, last good night" in well(night()).summary
    assert [*cache.entries] == ["triagebot-ledger-77-1-1", "triagebot-ledger-77-2-1"]
    asked, written = world.stand.count, len(world.hub.writes())
    assert (asked, world.own_per_issue()) == (2, [1, 1])

    cache.entries.popitem()  # what comes back knows nothing of the second night
    well(night())
    cache.entries.clear()
    assert "none in the cache" in well(night()).summary
    [(key, files)] = cache.entries.items()
    cache.entries[key] = {name: b"\x07" * len(content) for name, content in files.items()}
    damaged = well(night())

    assert (world.stand.count, len(world.hub.writes()), world.own_per_issue()) == (asked, written, [1, 1])
    assert "::warning title=triagebot::The ledger from the cache cannot be used" in damaged.log
    assert [*cache.entries.values()][-1]["ledger.db"].startswith(b"SQLite format 3")


# --- what is saved


def test_the_cache_holds_the_ledger_in_one_file_and_no_text_of_an_issue(
    world: World, night: Night, cache: Cache
) -> None:
    """Whoever may open a pull request can read a cache, and the index of past issues lies beside the ledger.

    The name is new for each attempt: under one that is taken, nothing would be saved.
    """
    world.crash("A title of its own", "Error: it fails. Nobody else may read this sentence.")

    def beside(process: subprocess.Popen[str]) -> None:
        place = world.folder / "temp" / "triagebot" / "state"
        place.mkdir(parents=True, exist_ok=True)
        (place / "history.db").write_text("text of issues")

    well(night(during=beside, run_id=5, attempt=2))
    [(key, files)] = cache.entries.items()
    assert key == "triagebot-ledger-77-5-2"
    assert files.keys() == {"ledger.db"}
    for words in (b"A title of its own", b"Nobody else may read"):
        assert words not in files["ledger.db"]


@pytest.mark.parametrize("number", [signal.SIGKILL, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)])
def test_a_night_that_is_cut_short_is_saved_all_the_same(
    world: World, night: Night, cache: Cache, number: signal.Signals
) -> None:
    """The signal reaches triagebot itself; what only its log held is in the copy, and the next night knows of it."""
    world.crash("One")
    hang = world.hub.faults.add(faults.stored_then_hangs(faults.POST_COMMENT))

    def cut(process: subprocess.Popen[str]) -> None:
        assert hang.reached.wait(60)
        process.send_signal(number)
        process.wait(10)
        world.hub.faults.clear()

    job = night(during=cut)
    assert job.outcomes["Run the night"] == "failure"
    assert job.outcomes["Save the ledger"] == "success"
    assert ("interrupted by SIGTERM" in job.log) is (number == signal.SIGTERM)
    assert "octo/demo, night " not in job.log or number == signal.SIGTERM
    assert _rows(cache, world.folder) == ["labels", "comment"]
    written = len(world.hub.writes())
    night()
    assert (world.stand.count, len(world.hub.writes()), world.own_per_issue()) == (1, written, [1])


def _rows(cache: Cache, folder: Path) -> list[str]:
    """What the outbox of the newest saved ledger holds."""
    copy = folder / "copy.db"
    copy.write_bytes([*cache.entries.values()][-1]["ledger.db"])
    with closing(sqlite3.connect(copy)) as ledger:
        return [action for (action,) in ledger.execute("SELECT action FROM outbox ORDER BY id")]


# --- what is asked for


def test_a_dry_run_writes_nothing_and_saves_nothing(world: World, night: Night, cache: Cache) -> None:
    well(night())
    saved = {**cache.entries}
    world.crash("One")
    job = well(night(dry_run="true"))
    assert "POST" in job.log
    assert world.hub.writes() == []
    assert cache.entries == saved


def test_only_the_issues_that_are_named(world: World, night: Night) -> None:
    for title in ("One", "Two", "Three"):
        world.crash(title)
    well(night(issue="1 3"))
    assert world.own_per_issue() == [1, 0, 1]
    asked = world.stand.count
    well(night(issue="3", again="true"))
    assert world.stand.count == asked + 1


def test_a_night_is_taken_back_by_the_number_in_its_summary_and_stays_so(world: World, night: Night) -> None:
    world.crash("One")
    number = re.search(r"night (\d+)", well(night()).summary)
    assert number
    job = well(night(undo=number[1]))
    assert "took off bug, deleted comment" in job.summary
    assert (world.own_per_issue(), world.repo.issue(1).labels) == ([0], [])
    asked, written = world.stand.count, len(world.hub.writes())
    well(night())
    assert (world.stand.count, len(world.hub.writes())) == (asked, written)


@pytest.mark.parametrize("other", [{"again": "true"}, {"issue": "1"}])
def test_inputs_that_exclude_each_other_are_named_as_inputs(world: World, night: Night, other: dict[str, str]) -> None:
    """Who fills in the form knows of no flags."""
    world.crash("One")
    well(night())
    job = night(undo="1", **other)
    assert job.outcomes["Run the night"] == "failure"
    assert "::error title=triagebot::The input undo takes back a whole night and goes with neither again nor" in job.log
    assert "option" not in job.log
    assert world.own_per_issue() == [1]


@pytest.mark.parametrize("written", ["1; do :; done; touch spoilt; for x in 1", "$(touch spoilt)", "--again"])
def test_an_input_is_never_a_command(world: World, night: Night, written: str) -> None:
    world.crash("One")
    job = night(issue=written)
    assert job.outcomes["Run the night"] == "failure"
    assert world.stand.count == 0
    assert not [*world.folder.rglob("spoilt")]


@pytest.mark.parametrize("written", ["1; touch spoilt", "$(touch spoilt)", "--dry-run"])
def test_neither_is_the_number_of_a_night(world: World, night: Night, written: str) -> None:
    well(night())
    job = night(undo=written)
    assert job.outcomes["Run the night"] == "failure"
    assert not [*world.folder.rglob("spoilt")]


# --- the papers


PAPERS = [ACTION, *sorted((ROOT / ".github" / "workflows").glob("*.yml"))]


def _steps(paper: Path) -> list[dict[str, object]]:
    told = yaml.safe_load(paper.read_text(encoding="utf-8"))
    return told["runs"]["steps"] if "runs" in told else [s for job in told["jobs"].values() for s in job["steps"]]


@pytest.mark.parametrize("paper", PAPERS, ids=lambda path: path.name)
def test_nothing_is_put_into_a_script_by_an_expression(paper: Path) -> None:
    assert [step["run"] for step in _steps(paper) if "${{" in str(step.get("run", ""))] == []


@pytest.mark.parametrize("paper", PAPERS, ids=lambda path: path.name)
def test_every_action_is_named_by_its_commit_and_says_its_version(paper: Path) -> None:
    uses = [line.partition("uses:")[2].split() for line in paper.read_text().splitlines() if "uses:" in line]
    assert uses
    for name, *comment in uses:
        commit = name.partition("@")[2]
        assert name == "./.github/actions/triage" or (len(commit) == 40 and comment[1].startswith("v")), name


def test_the_nightly_job_may_read_the_settings_and_write_issues_and_no_more() -> None:
    told = yaml.safe_load((ROOT / ".github" / "workflows" / "triage.yml").read_text())
    assert told["permissions"] == {}
    [job] = told["jobs"].values()
    assert job["permissions"] == {"contents": "read", "issues": "write"}
    assert told["concurrency"]["cancel-in-progress"] is False
    slots = [slot["cron"].split() for slot in told[True]["schedule"]]  # YAML 1.1 reads `on` as true
    assert len(slots) == 2
    assert all(minute not in {"0", "30"} for minute, *_ in slots)


# --- the real thing


@pytest.mark.slow
def test_the_step_that_installs_installs(world: World, night: Night) -> None:
    """From the commit that the action lies in, into an environment of the job's own. Needs a package index."""
    probe = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--retries", "0", "-d", str(world.folder)]
    if subprocess.run([*probe, "hatchling"], capture_output=True, check=False).returncode:
        pytest.skip("no package index can be reached, and installing needs one")
    world.crash("One")
    job = well(night(install=None))
    assert "triagebot " in job.log
    assert world.own_per_issue() == [1]
