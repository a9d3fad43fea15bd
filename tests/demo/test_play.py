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
from triagebot.demo import play, stage, truth
from triagebot.demo.acts import ACTS
from triagebot.demo.play import Outcome, Scene
from triagebot.demo.stage import Stage
from triagebot.demo.truth import Agreement
from triagebot.nightly import writer
from triagebot.nightly.report import Nobody
from triagebot.sandbox import samples
from triagebot.sandbox.hub import Hub
from triagebot.sandbox.model import Stand


@pytest.fixture(scope="module")
def scenes(tmp_path_factory: pytest.TempPathFactory) -> list[Scene]:
    return [*play.perform(demos.ITSELF, os.environ, tmp_path_factory.mktemp("demo"), Nobody(), acts=ACTS)]


@pytest.mark.slow
def test_the_promise_holds_in_every_act(scenes: list[Scene]) -> None:
    assert [scene.broken for scene in scenes] == [()] * len(ACTS)
    assert [scene.bot.twins for scene in scenes] == [0] * len(ACTS)
    assert all(scene.bot.right == scene.bot.issues for scene in scenes)
    stored, calls = [scene.bot.stored for scene in scenes], [scene.bot.calls for scene in scenes]
    assert [act.title for act, comments in zip(ACTS, stored, strict=True) if not comments] == [
        ACTS[1].title,
        ACTS[6].title,
    ]
    assert calls[:5] == [12, 0, 4, 1, 3]
    without = [scene.bot.issues - sum(stored[: scene.number]) for scene in scenes]
    assert without[0] > 0, "the model is not to find a label for everything"
    assert calls[5:] == [without[4] + 4, without[5] + 1], "who lost the ledger asks about what carries no comment"


@pytest.mark.slow
def test_the_bot_without_a_ledger_does_well_until_something_goes_wrong(scenes: list[Scene]) -> None:
    """It is no straw man: an ordinary night and its repetition it gets right."""
    naive = [scene.naive for scene in scenes]
    assert [outcome.twins for outcome in naive] == [0, 0, scenes[2].bot.stored, 1, 2, 0, 1]
    assert [outcome.wrong for outcome in naive[:2]] == [(), ()]
    assert naive[-1].right < naive[-1].issues


@pytest.mark.slow
def test_the_issues_are_all_the_samples_and_the_model_is_wrong_about_some(scenes: list[Scene]) -> None:
    people = sum(len(issue.labels) for issue in samples.samples())
    found = scenes[-1].agreement
    assert scenes[-1].bot.issues == len(samples.samples())
    assert found.both + found.only_people == people
    assert 0 < found.both < people


def test_what_is_due_is_what_the_model_is_sure_of_by_itself() -> None:
    """No rule of words, nor what people set, stands in for it."""
    said = {"labels": [{"name": "bug", "confidence": 0.6, "reason": ""}, {"name": "doc", "confidence": 0.59}]}
    hub = Hub()
    repo = hub.create_repository("octo/demo", labels=["bug", "doc", "question"])
    on = Stage(hub, repo, Stand(answer=lambda *_: said), None, Path(), lambda: None)  # type: ignore[arg-type]
    on.open_issues(4, 5)
    assert {number: due.labels for number, due in on.due.items()} == {4: {"bug"}, 5: {"bug"}}
    assert truth.agreement(on.people, on.judged) == Agreement(both=0, only_people=1, only_model=2)


@pytest.mark.parametrize(
    ("found", "told"),
    [
        ((17, 9, 1), "it set 17 of the 26 labels that the project's people had set, and 1 that they did not."),
        ((3, 0, 0), "it set 3 of the 3 labels that the project's people had set, and no other."),
    ],
)
def test_how_good_the_labels_are_is_told_as_it_is(found: tuple[int, int, int], told: str) -> None:
    both, only_people, only_model = found
    agreement = Agreement(both=both, only_people=only_people, only_model=only_model)
    _, words = shown(80, replace(scene(), agreement=agreement))
    assert " ".join(words.split()).endswith(told)


def scene(*broken: str) -> Scene:
    good = Outcome(calls=4, stored=4, twins=0, right=16, issues=16, wrong=())
    bad = Outcome(calls=14, stored=14, twins=12, right=10, issues=16, wrong=("issue 3 carries too much",))
    found = Agreement(both=12, only_people=4, only_model=1)
    return Scene(number=3, act=ACTS[2], bot=bad if broken else good, naive=bad, agreement=found, broken=broken)


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
    assert given.labels.min_confidence == stage.SURE
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
