"""The demo as it is shipped: the promise holds in every act, and the comparison is played, not claimed."""

from __future__ import annotations

import html
import io
import os
import re
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from rich.console import Console

from triagebot.cli import config, demos
from triagebot.demo import play, stage
from triagebot.demo.acts import ACTS
from triagebot.demo.play import Outcome, Scene
from triagebot.nightly import writer
from triagebot.nightly.report import Nobody


@pytest.fixture(scope="module")
def scenes(tmp_path_factory: pytest.TempPathFactory) -> list[Scene]:
    return [*play.perform(demos.ITSELF, os.environ, tmp_path_factory.mktemp("demo"), Nobody(), acts=ACTS)]


@pytest.mark.slow
def test_the_promise_holds_in_every_act(scenes: list[Scene]) -> None:
    assert [scene.broken for scene in scenes] == [()] * len(ACTS)
    assert [scene.bot.twins for scene in scenes] == [0] * len(ACTS)
    assert [scene.bot.stored for scene in scenes] == [5, 0, 4, 1, 3, 2, 0]
    assert [scene.bot.calls for scene in scenes] == [6, 0, 4, 1, 3, 3, 2]
    assert all(scene.bot.right == scene.bot.issues for scene in scenes)


@pytest.mark.slow
def test_the_bot_without_a_ledger_does_well_until_something_goes_wrong(scenes: list[Scene]) -> None:
    """It is no straw man: an ordinary night and its repetition it gets right."""
    naive = [scene.naive for scene in scenes]
    assert [outcome.twins for outcome in naive] == [0, 0, 4, 1, 2, 0, 1]
    assert [outcome.wrong for outcome in naive[:2]] == [(), ()]
    assert naive[-1].right < naive[-1].issues


def scene(*broken: str) -> Scene:
    good = Outcome(calls=4, stored=4, twins=0, right=16, issues=16, wrong=())
    bad = Outcome(calls=14, stored=14, twins=12, right=10, issues=16, wrong=("issue 3 carries too much",))
    return Scene(number=3, act=ACTS[2], bot=bad if broken else good, naive=bad, broken=broken)


def shown(width: int, *scenes: Scene) -> tuple[int, str]:
    console = Console(file=io.StringIO(), width=width)
    board = demos.Board(console)
    board.open()
    for each in scenes:
        board.show(each)
    code = board.close(scenes)
    return code, console.file.getvalue()  # type: ignore[attr-defined]


@pytest.mark.parametrize("width", [80, 120])
def test_every_line_fits_the_terminal(width: int) -> None:
    _, told = shown(width, *(replace(scene(), number=number, act=act) for number, act in enumerate(ACTS, 1)))
    assert max(map(len, told.splitlines())) <= width
    assert not any(line.endswith(" ") for line in told.splitlines())


def test_the_counts_stand_under_their_headings() -> None:
    _, told = shown(80, scene())
    heads, row = (next(line for line in told.splitlines() if word in line) for word in ("runs", "Two nights"))
    ends = [n for n, pair in enumerate(zip(heads, heads[1:] + " ", strict=True), 1) if pair[0] != " " == pair[1]]
    assert [row[:end].split()[-1] for end in ends] == ["2", "4", "4", "0", "16/16", "14", "12", "10/16"]


def test_a_broken_promise_is_told_and_means_exit_code_1() -> None:
    code, told = shown(80, scene("issue 3 should carry 1 comment and bug; it carries 2 comments and bug"))
    assert code == 1
    assert "broken: issue 3 should carry 1 comment and bug; it carries 2 comments and bug" in " ".join(told.split())
    assert "All 16" not in told


def test_what_it_says_was_shortened_is_what_the_defaults_are() -> None:
    _, told = shown(120, scene())
    given, usual = config.parse(yaml.safe_load(stage.CONFIG), Path("demo")), config.Config()
    assert (given.delivery.settle, usual.delivery.settle) == (0.5, 60.0)
    assert (given.delivery.per_second, usual.delivery.per_second) == (None, 1.0)
    assert writer.LEASE == 120.0
    assert "the settle time is 0.5 s, not 60 s" in told
    same = given.model_copy(update={"delivery": usual.delivery})
    assert same == usual, "nothing else is changed"


def test_the_picture_in_the_readme_is_of_these_acts() -> None:
    picture = (Path(__file__).parents[2] / ".github" / "demo.svg").read_text(encoding="utf-8")
    drawn = " ".join(re.findall(r"<text[^>]*>([^<]*)</text>", picture))
    words = " ".join(html.unescape(drawn).split())
    assert [act.title for act in ACTS if act.title not in words or act.told not in words] == []
    assert not re.search(r"@font-face|@import|<image|url\(.?http", picture), "it must show without loading anything"


def test_told_to_stop_it_is_gone_and_so_are_its_nights(tmp_path: Path) -> None:
    demo = subprocess.Popen(
        [sys.executable, "-m", "triagebot", "demo"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )
    assert demo.stdout is not None
    for line in demo.stdout:
        if line.startswith("1 A night"):
            break
    demo.send_signal(signal.SIGTERM)
    _, err = demo.communicate(timeout=10)
    assert demo.returncode == 128 + signal.SIGTERM, err
    assert "Traceback" not in err
    assert list(tmp_path.iterdir()) == []
    assert nights_in(tmp_path) == []


def nights_in(folder: Path) -> list[str]:
    """The command lines of all processes that name the folder."""
    found = []
    for process in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = process.read_bytes().decode(errors="replace")
        except OSError:
            continue
        found += [words] if str(folder) in words else []
    return found
