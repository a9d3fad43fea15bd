"""A ledger where this user may not look, write or add to: `doctor` says which it is, and leaves nothing behind."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tests.disks import ordinary, tiny_disk
from tests.world import World

__all__ = ["ordinary", "tiny_disk"]


def run(world: World, words: list[str], *argv: str, **env: str) -> subprocess.CompletedProcess[str]:
    """The program as a process of an ordinary user, in the world's folder."""
    env = {**os.environ, **world.env, **env}
    command = [*words, sys.executable, "-m", "triagebot", *argv]
    return subprocess.run(command, env=env, cwd=world.folder, check=False, capture_output=True, text=True)


def line(told: str, check: str) -> str:
    [found] = [line for line in told.splitlines() if f" {check}:" in line]
    return found


def hour_old(file: Path) -> None:
    """Nobody has written to it for a while: SQLite's own look makes a log and an index beside it nevertheless."""
    long_ago = file.stat().st_mtime - 3600
    os.utime(file, (long_ago, long_ago))


def test_another_users_folder_is_a_sentence_with_its_mend(world: World, ordinary: list[str]) -> None:
    world.night()
    folder = world.ledger.parent
    folder.chmod(0)
    try:
        seen = run(world, ordinary, "doctor")
        saved = run(world, ordinary, "ledger", "backup", "copy.db")
    finally:
        folder.chmod(0o700)
    assert (seen.returncode, seen.stderr) == (2, "")
    told = f"ledger {world.ledger}: cannot be looked at (Permission denied); let this user into its folder"
    assert told in line(seen.stdout, "ledger")
    assert (saved.returncode, saved.stderr.startswith(f"triagebot: {told}")) == (2, True)


def test_a_look_leaves_nothing_that_keeps_the_next_night_from_writing(world: World, ordinary: list[str]) -> None:
    """SQLite gives what it makes beside a file that file's mode, and who may only read it cannot take it away."""
    world.night()
    world.ledger.chmod(0o400)
    hour_old(world.ledger)
    seen = run(world, ordinary, "doctor")
    run(world, ordinary, "run", "--dry-run", "--config", "config.yml")
    assert f"make {world.ledger} writable for this user, or name another" in line(seen.stdout, "ledger")
    assert [file.name for file in world.ledger.parent.iterdir() if file.suffix != ".db"] == []
    world.ledger.chmod(0o600)
    assert run(world, ordinary, "run", "--config", "config.yml").returncode == 0


@pytest.mark.parametrize("side", ["-wal", "-shm"])
def test_a_log_that_may_not_be_written_is_named_by_doctor_and_night(
    world: World, ordinary: list[str], side: str
) -> None:
    world.night()
    beside = world.ledger.with_name(world.ledger.name + side)
    beside.write_bytes(bytes(32768))  # SQLite itself mends the mode of an empty one
    beside.chmod(0o400)
    seen, ran = run(world, ordinary, "doctor"), run(world, ordinary, "run", "--config", "config.yml")
    assert (seen.returncode, ran.returncode) == (2, 2)
    assert f"make {beside} writable for this user" in line(seen.stdout, "ledger")
    assert f"its {side} file is read-only; make it, its -wal and -shm files and its folder writable" in ran.stderr
    assert stat.S_IMODE(beside.stat().st_mode) == 0o400


@pytest.mark.parametrize("there", [True, False])
def test_a_full_disk_is_not_a_matter_of_permission(world: World, doctor, tiny_disk: Path, there: bool) -> None:
    """Nor of damage: without room for its index SQLite cannot even read what is there."""
    if there:
        world.night(TRIAGEBOT_LEDGER=str(tiny_disk / "ledger.db"))
    with (tiny_disk / "filler").open("wb", buffering=0) as filler:
        while True:
            try:
                filler.write(bytes(4096))
            except OSError:
                break
    code, found = doctor(TRIAGEBOT_LEDGER=str(tiny_disk / "ledger.db"))
    assert (code, found["ledger"]["state"]) == (2, "broken")
    assert "cannot be written (No space left on device)" in found["ledger"]["fact"]
    assert found["ledger"]["mend"] == "free some space there, or name another in TRIAGEBOT_LEDGER"


def test_a_folder_that_may_not_be_added_to_is_named(world: World, ordinary: list[str]) -> None:
    closed = world.ledger.parent
    closed.mkdir(mode=0o500)
    told = line(run(world, ordinary, "doctor").stdout, "ledger")
    assert f"make {closed} writable for this user, so that it can be made, or name another" in told


def test_a_file_that_holds_nothing_yet_is_a_ledger_to_be(world: World, doctor) -> None:
    world.ledger.parent.mkdir()
    world.ledger.touch()
    code, found = doctor()
    assert (code, found["ledger"]["state"]) == (0, "ok")
    assert "empty, to be given schema" in found["ledger"]["fact"]
    assert world.ledger.stat().st_size == 0


def test_a_path_is_whole_where_the_locale_knows_no_such_letters(world: World) -> None:
    """Python hands them on as lone surrogates, and those are not printable."""
    bare = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": "utf-8"}
    told = run(world, [], "doctor", **bare, TRIAGEBOT_LEDGER=str(world.folder / "bücher" / "ledger.db"))
    assert f"{world.folder}/bücher/ledger.db" in line(told.stdout, "ledger")
