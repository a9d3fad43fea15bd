"""`eval` through the command line: real files, the real classifier, a model over real HTTP."""

from __future__ import annotations

import contextlib
import csv
import gzip
import importlib.util
import io
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from triagebot.cli import eval_answers
from triagebot.cli.main import main
from triagebot.core.past import Past
from triagebot.history import opening as histories
from triagebot.ledger import opening as ledgers

WORDS = {
    "bug": ["crash", "traceback", "error", "broken", "fails", "exception"],
    "feature": ["support", "allow", "option", "add", "wish", "proposal"],
    "question": ["how", "why", "what", "explain", "understand", "documentation"],
}
START = datetime(2026, 1, 1, tzinfo=UTC)
_ENTRY = "from triagebot.cli.main import entry; entry()"

Row = dict[str, str]


def rows(number: int, *, repo: str = "o/r", odd: int = 10) -> list[Row]:
    """Issues whose words tell their label, but for every `odd`-th one, which has another label's words."""
    names = [*WORDS]
    found = []
    for n in range(number):
        label = names[n % 3]
        said = WORDS[names[(n + 1) % 3] if n % odd == odd - 1 else label]
        found.append(
            {
                "repo": repo,
                "created_at": (START + timedelta(hours=n)).isoformat(),
                "label": label,
                "title": f"{said[n % 6]} {said[(n + 1) % 6]} in part {n % 7}",
                "body": f"It is about {said[(n + 2) % 6]} and {said[(n + 3) % 6]}, number {n}.",
            }
        )
    return found


def write(path: Path, found: list[Row]) -> str:
    with path.open("w", newline="", encoding="utf-8") as file:
        table = csv.DictWriter(file, [*found[0]])
        table.writeheader()
        table.writerows(found)
    return str(path)


def evaluate(*argv: str) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(["eval", *argv])
    return code, out.getvalue(), err.getvalue()


def told(*argv: str) -> dict[str, Any]:
    code, out, err = evaluate(*argv, "--format", "json")
    assert (code, err) == (0, "")
    return dict(json.loads(out))


def refused(*argv: str) -> str:
    """The one sentence with which a user's mistake is answered."""
    code, out, err = evaluate(*argv)
    assert (code, out) == (2, ""), err
    sentence = err.splitlines()[-1]
    assert "Traceback" not in err
    assert sentence.startswith("triagebot: ")
    return sentence


# --- the classifier


def test_a_history_and_a_test_give_one_classifier_for_each_repository(tmp_path: Path) -> None:
    history = write(tmp_path / "train.csv", rows(90) + rows(90, repo="o/s"))
    held = rows(30, odd=99) + rows(12, repo="o/s", odd=99)
    shown = told("--model", "local", "--history", history, "--test", write(tmp_path / "test.csv", held))
    assert [p["row"] for p in shown["predictions"]] == list(range(42))
    assert [(p["repo"], p["truth"]) for p in shown["predictions"]] == [(r["repo"], r["label"]) for r in held]
    assert {p["predicted"] for p in shown["predictions"]} == set(WORDS)
    assert shown["repos"].keys() == {"o/r", "o/s"}
    assert shown["macro_f1"] == pytest.approx(sum(r["macro_f1"] for r in shown["repos"].values()) / 2, abs=1e-6)
    assert shown["macro_f1"] > 0.9
    assert shown["beside"]["always the commonest label"]["macro_f1"] < 0.3
    assert shown["suggested"]["sure_by_history"]["coverage"] >= 0
    assert shown["spent"]["calls"] == 0


def test_the_labels_of_the_test_file_change_no_prediction(tmp_path: Path) -> None:
    """Nothing leaks: the same issues under other labels are predicted with the same confidence."""
    history = write(tmp_path / "train.csv", rows(60))
    held = rows(9)
    turned = [row | {"label": "question" if row["label"] == "bug" else "bug"} for row in held]
    one = told("--model", "local", "--history", history, "--test", write(tmp_path / "a.csv", held))
    two = told("--model", "local", "--history", history, "--test", write(tmp_path / "b.csv", turned))
    kept = [[(p["predicted"], p["confidence"]) for p in shown["predictions"]] for shown in (one, two)]
    assert kept[0] == kept[1]
    assert one["macro_f1"] != two["macro_f1"]


def test_one_file_is_split_by_time(tmp_path: Path) -> None:
    found = rows(100)
    shown = told("--model", "local", "--from", write(tmp_path / "issues.csv", found[::-1]), "--split", "0.75")
    assert [p["row"] for p in shown["predictions"]] == list(range(25))  # the newest stand first in this file
    assert "oldest 75 issues" in shown["how"]


def test_folds_hold_every_issue_out_once(tmp_path: Path) -> None:
    shown = told("--model", "local", "--from", write(tmp_path / "issues.csv", rows(60)), "--folds", "3")
    assert [p["row"] for p in shown["predictions"]] == list(range(60))
    assert shown["suggested"]["cross_fitted"]["set"] > 0


def test_several_labels_none_and_pull_requests(tmp_path: Path) -> None:
    """Rows that are left out are counted; labels that the settings never set do not count; silence does."""
    found: list[dict[str, Any]] = [
        {
            "number": n + 1,
            "title": row["title"] if n % 4 else "Weekly meeting notes",
            "body": row["body"] if n % 4 else "Who is there, who is not, and cake.",
            "labels": [row["label"], "wontfix", *(["area: db"] if n % 2 else [])] if n % 4 else [],
            "created_at": row["created_at"],
            "is_pr": n % 10 == 9,
        }
        for n, row in enumerate(rows(160))
    ]
    path = tmp_path / "issues.jsonl.gz"
    path.write_bytes(gzip.compress("\n".join(json.dumps(row) for row in found).encode()))
    shown = told("--model", "local", "--from", str(path))
    issues = [n for n, row in enumerate(found) if not row["is_pr"]]
    held = issues[round(0.8 * len(issues)) :]
    assert [p["row"] for p in shown["predictions"]] == held
    assert [p["truth"] for p in shown["predictions"]] == [
        [name for name in found[n]["labels"] if name != "wontfix"] for n in held
    ]
    assert "wontfix (" in shown["notes"][0]
    unlabelled = shown["several_labels"]["unlabelled"]
    assert unlabelled["issues"] == sum(not found[n]["labels"] for n in held)
    assert 0 <= unlabelled["rightly_silent"] <= unlabelled["issues"]


def test_people_see_a_screenful_and_a_page(tmp_path: Path) -> None:
    path, page = write(tmp_path / "issues.csv", rows(60)), tmp_path / "out.html"
    code, out, err = evaluate("--model", "local", "--from", path, "--report", str(page))
    assert code == 0, err
    assert "macro-F1 " in out
    assert "always the commonest label" in out
    assert len(out.splitlines()) < 40
    assert "learn and predict: 12 of 12" in err
    assert page.read_text(encoding="utf-8").endswith("</html>\n")


def test_a_repository_is_replayed_from_what_nights_have_read_of_it(tmp_path: Path) -> None:
    home = Path(os.environ["XDG_STATE_HOME"]) / "triagebot"
    with ledgers.open_ledger(home / "ledger.db") as ledger:
        ledger.open_night(repo_id=17, repo="o/r", day=START.date())
    past = [
        Past(title=r["title"], body=r["body"], labels=(r["label"],), number=n + 1, created_at=_at(r), repo="o/r")
        for n, r in enumerate(rows(60))
    ]
    with histories.open_history(home / "history.db") as index:
        index.remember(17, past)
    shown = told("--model", "local", "--repo", "o/r")
    assert [p["row"] for p in shown["predictions"]] == list(range(48, 60))
    assert "o/s: the ledger knows" in refused("--model", "local", "--repo", "o/s")


def _at(row: Row) -> datetime:
    return datetime.fromisoformat(row["created_at"])


# --- the endpoint


@pytest.fixture
def endpoint(stand: Any, model_server: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    """An embedded model that goes by the words; the issue's number is in its answers' confidence."""
    monkeypatch.setenv("OPENAI_BASE_URL", model_server)
    monkeypatch.setenv("TRIAGEBOT_MODEL", "stand-in")
    stand.script = by_words
    return stand


def by_words(body: dict[str, Any]) -> str:
    issue = json.loads(body["messages"][-1]["content"])
    words = f"{issue['title']} {issue['body']}".split()
    label = max(WORDS, key=lambda name: sum(word.strip(",") in WORDS[name] for word in words))
    return json.dumps({"labels": [{"name": label, "confidence": 0.8, "reason": "its words"}]})


def users(endpoint: Any) -> list[dict[str, Any]]:
    return [json.loads(body["messages"][-1]["content"]) for body in endpoint.requests]


def test_the_endpoint_is_asked_with_and_without_examples_that_are_older(tmp_path: Path, endpoint: Any) -> None:
    found = rows(100)
    shown = told("--from", write(tmp_path / "issues.csv", found))
    assert shown["system"] == "stand-in, without examples"
    assert shown["beside"].keys() == {"stand-in, with examples", "always the commonest label"}
    assert endpoint.count == 40
    assert shown["spent"]["for_100_issues"]["calls"] == 100
    born = {row["title"] + row["body"]: row["created_at"] for row in found}
    with_examples = [user for user in users(endpoint) if user.get("examples")]
    assert len(with_examples) == 20
    for user in with_examples:
        asked = born[user["title"] + user["body"]]
        assert all(born[example["title"] + example["body"]] < asked for example in user["examples"])
        assert all(example["labels"] for example in user["examples"])
    assert shown["examples"]["gain"]["value"] == 0.0


def test_with_folds_no_example_is_newer_than_the_issue_either(tmp_path: Path, endpoint: Any) -> None:
    found = rows(60)
    told("--from", write(tmp_path / "issues.csv", found), "--folds", "3", "--examples", "on")
    born = {row["title"] + row["body"]: row["created_at"] for row in found}
    for user in users(endpoint):
        for example in user.get("examples", ()):
            assert born[example["title"] + example["body"]] < born[user["title"] + user["body"]]
    assert any(user.get("examples") for user in users(endpoint))


def test_an_answer_is_paid_for_once(tmp_path: Path, endpoint: Any) -> None:
    path = write(tmp_path / "issues.csv", rows(60))
    first = told("--from", path, "--examples", "off")
    again = told("--from", path, "--examples", "off")
    assert endpoint.count == 12
    assert "12 requests made now" in first["notes"][0]
    assert "0 requests made now" in again["notes"][0]
    assert first["predictions"] == again["predictions"]
    assert first["spent"] == again["spent"]  # what they cost, whenever that was
    told("--from", path, "--examples", "off", "--model", "another")
    assert endpoint.count == 24
    told("--from", path, "--examples", "off", "--resume", str(tmp_path / "elsewhere.jsonl"))
    assert endpoint.count == 36
    kept = eval_answers.default_file(os.environ)
    assert kept.stat().st_mode & 0o777 == 0o600


def test_a_line_that_was_cut_off_costs_one_answer_and_no_more(tmp_path: Path, endpoint: Any) -> None:
    path, kept = write(tmp_path / "issues.csv", rows(60)), tmp_path / "answers.jsonl"
    told("--from", path, "--examples", "off", "--resume", str(kept))
    kept.write_bytes(kept.read_bytes()[:-40])
    told("--from", path, "--examples", "off", "--resume", str(kept))
    assert endpoint.count == 13
    told("--from", path, "--examples", "off", "--resume", str(kept))
    assert endpoint.count == 13


def test_an_interrupted_evaluation_goes_on_where_it_was(tmp_path: Path, endpoint: Any) -> None:
    """Ctrl-C while the model is asked: what was answered is not asked again."""
    path, kept = write(tmp_path / "issues.csv", rows(100)), tmp_path / "answers.jsonl"
    under_way = threading.Event()

    def slow(body: dict[str, Any]) -> str:
        if endpoint.count >= 5:
            under_way.set()
            endpoint_may_go_on.wait(30)
        return by_words(body)

    endpoint_may_go_on = threading.Event()
    endpoint.script = slow
    argv = ["eval", "--from", path, "--examples", "off", "--resume", str(kept), "--workers", "1"]
    process = subprocess.Popen([sys.executable, "-c", _ENTRY, *argv], stderr=subprocess.PIPE, text=True)
    assert under_way.wait(60)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "the next run goes on from there" in err
    endpoint_may_go_on.set()
    endpoint.script = by_words
    answered = len(kept.read_text().splitlines())
    assert answered >= 3
    before = endpoint.count
    told(*argv[1:])
    assert endpoint.count - before == 20 - answered


def test_what_cannot_be_used_is_counted_by_its_kind(tmp_path: Path, endpoint: Any) -> None:
    endpoint.script = lambda body: "I cannot say." if "part 3" in str(body["messages"]) else by_words(body)
    shown = told("--from", write(tmp_path / "issues.csv", rows(70)), "--examples", "off")
    assert shown["spent"]["invalid"] == {"unparseable": 2}
    silent = [p for p in shown["predictions"] if p["predicted"] is None]
    assert [p["invalid"] for p in silent] == ["unparseable"] * 2
    assert shown["spent"]["calls"] == 14 + 2  # each was asked a second time


def test_a_question_that_got_no_answer_is_asked_again_the_next_time(tmp_path: Path, endpoint: Any) -> None:
    config = tmp_path / "triagebot.yml"
    config.write_text("model: {attempts: 1}\nworkers: 1\n")
    argv = ["--from", write(tmp_path / "issues.csv", rows(60)), "--examples", "off", "--config", str(config)]
    endpoint.fault("drop", skip=3)
    endpoint.fault("refusal")
    code, out, _ = evaluate(*argv, "--format", "json")
    assert (code, json.loads(out)["spent"]["invalid"]) == (1, {"refused": 1, "unreachable": 1})
    again = told(*argv)
    assert again["spent"]["invalid"] == {"refused": 1}
    assert "1 requests made now" in again["notes"][0]


def test_an_endpoint_that_is_down_ends_it_in_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    config = tmp_path / "triagebot.yml"
    config.write_text("model: {attempts: 1}\n")
    path = write(tmp_path / "issues.csv", rows(60))
    sentence = refused("--from", path, "--model", "x", "--config", str(config))
    assert "OPENAI_BASE_URL" in sentence


def test_the_classifier_first_saves_the_calls_that_it_is_sure_of(tmp_path: Path, endpoint: Any) -> None:
    path = write(tmp_path / "issues.csv", rows(200, odd=1000))
    shown = told("--from", path, "--first", "local", "--examples", "off")
    saved = int(shown["notes"][0].split()[0])
    assert saved > 0
    assert endpoint.count == 40 - saved
    assert shown["spent"]["calls"] == 40 - saved
    assert shown["system"] == "local, then stand-in"
    assert "local" in shown["beside"]


def test_what_examples_are_worth_is_noted_for_the_nights(tmp_path: Path, endpoint: Any) -> None:
    """A model that is right only where it is shown examples: from then on nights show them to it."""
    from triagebot.cli import texts
    from triagebot.core import prompt

    def needs_examples(body: dict[str, Any]) -> str:
        issue = json.loads(body["messages"][-1]["content"])
        return by_words(body) if issue.get("examples") else '{"labels": [{"name": "bug", "confidence": 0.9}]}'

    endpoint.script = needs_examples
    path = write(tmp_path / "issues.csv", rows(300))
    shown = told("--from", path, "--model", "needy")
    assert shown["system"] == "needy, with examples"
    assert shown["examples"]["gain"]["interval"][0] > 0
    home = Path(os.environ["XDG_STATE_HOME"]) / "triagebot"
    with histories.open_history(home / "history.db") as index:
        assert index.examples_pay(model="needy", prompt=prompt.version(texts.system_prompt()))
        assert not index.examples_pay(model="another")


# --- mistakes


def _without(column: str) -> list[Row]:
    return [{key: value for key, value in row.items() if key != column} for row in rows(60)]


MADE: dict[str, Callable[[], list[Row]]] = {
    "good.csv": lambda: rows(60),
    "test.csv": lambda: rows(60),
    "no-label.csv": lambda: _without("label"),
    "no-title.csv": lambda: _without("title"),
    "undated.csv": lambda: _without("created_at"),
    "one-label.csv": lambda: [row | {"label": "bug"} for row in rows(60)],
    "denied.csv": lambda: [row | {"label": "duplicate"} for row in rows(60)],
    "three.csv": lambda: rows(3),
    "stranger.csv": lambda: rows(10, repo="some/other"),
}


@pytest.fixture
def files(tmp_path: Path) -> Callable[[str], str]:
    def make(name: str) -> str:
        if name in MADE:
            write(tmp_path / name, MADE[name]())
        if name == "latin.csv":
            (tmp_path / name).write_bytes(b"repo,created_at,label,title,body\no/r,2026-01-01,bug,m\xfcde,x\n")
        return str(tmp_path / name)

    return make


@pytest.mark.parametrize(
    ("argv", "sentence"),
    [
        (["--from", "no-label.csv"], "no-label.csv holds no label that may be set"),
        (["--from", "no-title.csv"], "no-title.csv has no column named title"),
        (["--from", "one-label.csv"], "every issue of one-label.csv has the same label (bug)"),
        (["--from", "three.csv"], "too small to learn"),
        (["--from", "three.csv", "--folds", "5"], "o/r has 3 issues, too few for 5 folds"),
        (["--history", "three.csv", "--test", "test.csv"], "too small to learn"),
        (["--from", "undated.csv"], "row 0 (counted from 0) has no created_at"),
        (["--from", "denied.csv"], "denied.csv holds no label that may be set"),
        (["--from", "latin.csv"], "latin.csv is not UTF-8 (byte 53)"),
        (["--from", "missing.csv"], "missing.csv cannot be read: No such file"),
        (["--history", "good.csv", "--test", "stranger.csv"], "stranger.csv has issues of some/other, of which good"),
        (["--history", "good.csv", "--test", "no-label.csv"], "no-label.csv holds no label that may be set"),
        (["--history", "good.csv"], "give --history FILE and --test FILE"),
        ([], "nothing to replay"),
        (["--from", "good.csv", "--history", "good.csv", "--test", "good.csv"], "give one"),
        (["--history", "good.csv", "--test", "test.csv", "--folds", "5"], "--split and --folds divide one file"),
        (["--from", "good.csv", "--split", "0.5", "--folds", "5"], "--split and --folds are two ways"),
        (["--from", "good.csv", "--first", "local"], "--first local needs a second to ask"),
        (["--from", "good.csv", "--first", "gpt"], "only local can answer first"),
        (["--from", "good.csv", "--report", "nowhere/out.html"], "its folder does not exist"),
        (["--repo", "o/r"], "no ledger"),
    ],
)
def test_a_mistake_is_told_in_one_sentence(files: Callable[[str], str], argv: list[str], sentence: str) -> None:
    given = [files(word) if "." in word and word != "0.5" else word for word in argv]
    assert sentence in refused("--model", "local", *given)


def test_a_model_must_be_named(files: Callable[[str], str]) -> None:
    assert "no model is named" in refused("--from", files("good.csv"))


@pytest.mark.parametrize(
    ("module", "argv", "sentence"),
    [("sklearn", [], "pip install -e '.[local]'"), ("matplotlib", ["--report", "o.html"], "pip install -e '.[eval]'")],
)
def test_an_extra_that_is_not_installed_is_named(
    files: Callable[[str], str], monkeypatch: pytest.MonkeyPatch, module: str, argv: list[str], sentence: str
) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == module else find(name))
    assert sentence in refused("--model", "local", "--from", files("good.csv"), *argv)


def test_answers_that_cannot_be_kept_are_told_before_a_call_is_paid(
    files: Callable[[str], str], endpoint: Any, tmp_path: Path
) -> None:
    assert "name a file with --resume" in refused("--from", files("good.csv"), "--resume", str(tmp_path))
    assert endpoint.count == 0


def test_a_repository_with_too_little_history_is_left_out_and_said(tmp_path: Path) -> None:
    path = write(tmp_path / "issues.csv", rows(60) + rows(12, repo="o/small"))
    shown = told("--model", "local", "--from", path)
    assert shown["repos"].keys() == {"o/r"}
    assert any(note.startswith("o/small: ") for note in shown["notes"])


# --- real issues

_SHARED = Path(__file__).parents[2] / "../shared/data"


@pytest.fixture
def shared() -> Path:
    if not _SHARED.is_dir():
        pytest.skip("real issues are not beside this checkout")
    return _SHARED


@pytest.mark.slow
def test_real_issues_of_five_repositories_beat_the_commonest_label(shared: Path) -> None:
    shown = told("--model", "local", "--from", str(shared / "nlbse24-train.csv"))
    assert len(shown["repos"]) == 5
    assert shown["macro_f1_interval"][0] > shown["beside"]["always the commonest label"]["macro_f1_interval"][1]


@pytest.mark.slow
def test_real_issues_with_several_labels_and_none(shared: Path) -> None:
    shown = told("--model", "local", "--from", str(shared / "hf-datasets-issues.jsonl.gz"))
    assert shown["issues"] == 604
    ours, baseline = shown["several_labels"], shown["beside"]["always the commonest label"]["several_labels"]
    assert ours["micro_f1"]["interval"][0] > baseline["micro_f1"]["interval"][1]
    assert ours["unlabelled"]["rightly_silent"] > ours["unlabelled"]["issues"] / 2
