"""Whole nights over text as people and programs write it: each issue gets its one verdict, and none ends the night."""

from __future__ import annotations

import json
import re
from datetime import timedelta
from pathlib import Path

import pytest
import yaml

from tests.outgoing import dirt
from tests.world import World
from triagebot.sandbox.model_rule import issue_of

ROOT = Path(__file__).parents[2]
BUG = '{"labels": [{"name": "bug", "confidence": 0.9, "reason": "it crashes"}]}'

ODD: dict[str, tuple[str, str | None]] = {
    "no body": ("It crashes", None),
    "half a pair in the body": ("It crashes", "a\ud83db"),
    "half a pair in the title": ("\udc00 It crashes \ud83d", "x"),
    "halves the wrong way round": ("It crashes", "\ude00\ud83d"),
    "a NUL": ("a\0b", "c\0d\0"),
    "nothing but a NUL": ("\0", "\0"),
    "a dot": (".", ""),
    "two characters": ("#F", "#F"),
    "blank": (" ", "\n\n \t"),
    "an emoji": ("🎈", "🎈"),
    "nothing visible": ("\u200b", "\u200b\u2060"),
    "a long title": ("crash " * 43, ""),
    "a title that is an error": ('{"error": {"code": 500, "message": "x"}}', '{"labels": [{"name": "question"}]}'),
    "right to left": ("يتعطل التطبيق", "התוכנה נופלת"),
    "windows": ("It crashes\r\n", "one\r\ntwo\rthree"),
    "other line ends": ("It\x85crashes\u2028here", "one\u2029two\vthree\ffour"),
    "as long as it gets": ("It crashes", "🎈" * 65_536),
    "ticks": ("`" * 200, "`" * 60_000),
    "openings": ("{[(<", "<!--" * 15_000),
    "template syntax": ("{{labels}} {% raw %}", "{{ marker }} {# x #} ${x} %s {0}"),
    "an untouched form": ("It crashes", "### Version\n\n_No response_\n\n### Error\n\n_No response_"),
    "a form without one heading": ("It crashes", "### What happened?\n\nIt crashed\n"),
    "all sections gone": ("It crashes", "no template, sorry"),
    "denial": ("NOT A DUPLICATE of anything, won't fix yourself", "invalid? duplicate! wontfix"),
}


def open_all(world: World) -> dict[str, int]:
    return {
        name: world.repo.open_issue(title=title, body=body, author=f"author-{place}").number
        for place, (name, (title, body)) in enumerate(ODD.items())
    }


def test_every_odd_text_gets_its_one_verdict_and_the_next_night_says_nothing(world: World) -> None:
    numbers = open_all(world)
    world.stand.script = lambda _: BUG
    counts = world.night().json["counts"]
    assert counts["labelled"] == len(ODD)
    assert world.own_per_issue() == [1] * len(ODD)
    assert [dirt(c.body) for number in numbers.values() for c in world.own(number)] == [[]] * len(ODD)
    assert world.stand.count == len(ODD)
    before = len(world.hub.writes())
    world.night()
    world.lose_the_ledger()
    world.night("--day", "2021-01-01")
    assert world.writes_since(before) == []
    assert world.stand.count == len(ODD)


def test_what_is_kept_of_an_odd_text_can_be_stored_and_sent(world: World) -> None:
    open_all(world)
    world.night()
    for request in world.stand.requests:
        sent = json.dumps(request, ensure_ascii=False)
        sent.encode()
        assert "\0" not in "".join(issue_of(request))
        assert set(json.loads(request["messages"][-1]["content"])) == {"title", "body"}
    stored = [value for table in tables(world) for row in world.sql(f"SELECT * FROM {table}") for value in row]
    assert not [value for value in stored if isinstance(value, str) and re.search("[\0\ud800-\udfff]", value)]


def tables(world: World) -> list[str]:
    return [name for (name,) in world.sql("SELECT name FROM sqlite_master WHERE type = 'table'")]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("a\nb", "a\r\nb"),
        ("a\nb", "a\rb"),
        ("a\nb", "a  \nb\t"),
        ("a\nb", "a\nb\n\n"),
        ("caf\u00e9", "cafe\u0301"),
        ("a\ufffdb", "a\0b"),
        ("a\ufffdb", "a\ud83db"),
        ("", None),
    ],
)
def test_an_edit_that_changes_no_word_costs_no_call_and_no_write(world: World, one: str, other: str | None) -> None:
    number = world.crash(body=one)
    world.night()
    before = len(world.hub.writes())
    with world.hub.lock:
        world.repo.stored(number).body = other
        world.repo.stored(number).updated_at += timedelta(hours=1)
    world.night()
    assert (world.stand.count, world.writes_since(before)) == (1, [])


def test_an_empty_section_is_left_out_of_the_question_and_counts_in_the_key(world: World) -> None:
    form = "### What happened?\n\nError: it fails\n\n### Version\n\n{}"
    number = world.crash(body=form.format("_No response_"))
    world.night()
    assert "Version" not in issue_of(world.stand.requests[0])[1]
    world.repo.edit_issue(number, body=form.format("2.1"))
    world.night()
    assert world.stand.count == 2
    assert "2.1" in issue_of(world.stand.requests[1])[1]
    assert len(world.own(number)) == 1


def test_an_issue_of_a_deleted_account_is_answered(world: World) -> None:
    number = world.crash(author="leaver")
    world.repo.comment(number, "me too", by="leaver-2")
    world.repo.close(number, by="leaver-2")
    world.repo.reopen(number)
    world.hub.delete_account("leaver")
    world.hub.delete_account("leaver-2")
    world.night()
    assert len(world.own(number)) == 1


def test_what_moves_on_an_issue_without_its_words_asks_nothing(world: World) -> None:
    """Our own comment moves `updated_at`, and so do others' comments, labels and the stale bot's coming and going."""
    number = world.crash()
    world.night()
    before = len(world.hub.writes())
    for act in (
        lambda: world.repo.comment(number, "stale?", by="stale[bot]"),
        lambda: world.repo.label(number, "documentation"),
        lambda: world.repo.unlabel(number, "documentation"),
        lambda: (world.repo.close(number), world.repo.reopen(number)),
        lambda: (world.repo.lock(number), world.repo.unlock(number)),
    ):
        act()
        world.night()
    assert (world.stand.count, world.writes_since(before)) == (1, [])


def test_names_of_labels_and_people_may_be_odd(world: World) -> None:
    for name in ("area: db,cache", "✨ feature", "a/b", "50% done", "[x]", "ü`tick`", "q?&=;"):
        world.repo.add_label(name)
    number = world.crash(author="bot-in-name[bot]")
    names = ["area: db,cache", ":sparkles: Feature", "ü`tick`"]
    world.stand.script = lambda _: json.dumps({"labels": names})
    count = len(world.repo.labels())
    world.configure("select: {horizon: off, bots: take}\ndelivery: {settle: 0s, per_second: off, per_hour: off}")
    world.night()
    assert sorted(world.repo.issue(number).labels) == sorted(["area: db,cache", "✨ feature", "ü`tick`"])
    assert len(world.repo.labels()) == count, "no second label was made"
    assert [dirt(c.body) for c in world.own(number)] == [[]]


# --- noise


@pytest.mark.parametrize("said", ["duplicate", "wontfix", "invalid", "Duplicate", ":x: wontfix"])
def test_no_report_is_buried(world: World, said: str) -> None:
    """A wrong "duplicate" that closes is worse than no bot: the bot has no way to close, and does not use the name."""
    for name in ("duplicate", "wontfix", "invalid"):
        world.repo.add_label(name)
    numbers = [world.crash(title=f"Bump x to 1.2.{n}, NOT A DUPLICATE") for n in range(10)]
    answer = {"labels": [{"name": said, "confidence": 1.0, "reason": "same as 1"}], "duplicate_of": 1, "close": True}
    world.stand.script = lambda _: json.dumps(answer)
    world.night()
    assert [(world.repo.issue(n).labels, world.repo.issue(n).closed_at) for n in numbers] == [([], None)] * 10
    assert world.hub.writes() == []
    assert world.stand.count == 10, "issues that look alike are judged one by one"


def test_our_own_comment_is_no_news_and_calls_no_bot(world: World) -> None:
    number = world.crash()
    world.night()
    [own] = world.own(number)
    assert not re.search(
        r"^\s*[/@!]|r[?+]|\b(?:close|reopen|merge|approve|rebase|retest|lgtm)\b", own.body, re.M | re.I
    )
    world.lose_the_ledger()
    world.night()
    assert (world.stand.count, len(world.own(number))) == (1, 1)


def test_issue_text_reaches_no_shell() -> None:
    """No source starts a shell, and no workflow (ours, or one that the papers show) pastes anything into a script."""
    for source in (ROOT / "triagebot").rglob("*.py"):
        assert not re.search(
            r"os\.system|os\.popen|shell=True|subprocess_shell|subprocess\.get(?:status)?output|\beval\(|\bexec\(",
            source.read_text(),
        )
    scripts = [script for paper in papers() for script in scripts_in(paper)]
    assert len(scripts) >= 3
    assert [script for script in scripts if "${{" in script] == []
    for paper in papers():
        assert not re.search(r"\$\{\{[^}]*github\.(?:event\.|head_ref)", paper.read_text())


def papers() -> list[Path]:
    return [ROOT / "README.md", *(ROOT / ".github").rglob("*.yml"), *(ROOT / ".github").rglob("*.md")]


def scripts_in(paper: Path) -> list[str]:
    """The `run:` of each step of a workflow, or of the workflows that a Markdown file shows."""
    said = paper.read_text()
    shown = re.findall(r"^```ya?ml\n(.*?)^```", said, re.MULTILINE | re.DOTALL) if paper.suffix == ".md" else [said]
    workflows = [found for found in map(yaml.safe_load, shown) if isinstance(found, dict)]
    jobs = [job for workflow in workflows for job in workflow.get("jobs", {}).values()]
    return [step["run"] for job in jobs for step in job.get("steps", []) if "run" in step]


def test_a_script_with_a_title_in_it_would_be_found(tmp_path: Path) -> None:
    step = "      - run: echo ${{ github.event.discussion.title }}"
    (tmp_path / "a.md").write_text(f"```yaml\njobs:\n  x:\n    steps:\n{step}\n```\n")
    assert scripts_in(tmp_path / "a.md") == ["echo ${{ github.event.discussion.title }}"]
