"""The settings file: every key has a default, and what is wrong is said in one sentence that names it."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path

import pytest

from triagebot.cli import config
from triagebot.cli.config import Config
from triagebot.core.faults import Misconfigured
from triagebot.core.policy import LabelPolicy, Mode

Refusal = Callable[[str], str]


@pytest.fixture
def load(tmp_path: Path) -> Callable[[str], Config]:
    """Load settings written as text."""

    def loaded(text: str) -> Config:
        file = tmp_path / "triagebot.yml"
        file.write_bytes(text.encode())
        return config.load(file, required=True)

    return loaded


@pytest.fixture
def refusal(load: Callable[[str], Config], tmp_path: Path) -> Refusal:
    """The sentence with which settings are refused, without the folder."""

    def refused(text: str) -> str:
        with pytest.raises(Misconfigured) as told:
            load(text)
        sentence = str(told.value)
        assert "\n" not in sentence
        assert sentence.endswith(".")
        return sentence.replace(f"{tmp_path}/", "")

    return refused


# --- what the file may say


@pytest.mark.parametrize(
    "text", ["", "# nothing\n", "---\n", "labels:\nselect:\nmodel:\n", "labels: {}", "\ufeffworkers: 4"]
)
def test_what_is_left_out_has_its_default(load: Callable[[str], Config], text: str) -> None:
    assert load(text) == Config()


def test_durations_are_seconds(load: Callable[[str], Config]) -> None:
    got = load(
        "select: {wait: 15m, horizon: 2d}\nlease: 1h\ndeadline: 26h\ndelivery: {settle: 90s}\nmodel: {timeout: 0.5s}"
    )
    assert (got.select.wait, got.select.horizon, got.lease, got.deadline) == (900, 172_800, 3600, 93_600)
    assert (got.delivery.settle, got.model.timeout) == (90, 0.5)


@pytest.mark.parametrize(("written", "meant"), [("on", True), ("off", False), ('"on"', True), ('"off"', False)])
def test_on_and_off_mean_what_they_say(load: Callable[[str], Config], written: str, meant: bool) -> None:
    assert load(f"comment: {written}").comment is meant


def test_off_is_no_limit(load: Callable[[str], Config]) -> None:
    got = load("select: {horizon: off}\nbudget: {issues: off, tokens: off, usd: 'off', per_author: off}")
    assert got.select.horizon is None
    assert (got.budget.issues, got.budget.tokens, got.budget.usd, got.budget.per_author) == (None, None, None, None)


@pytest.mark.parametrize("written", ["delivery: off", "delivery: {per_second: off, per_hour: off}"])
def test_delivery_off_takes_the_limits_away_and_keeps_the_settle_time(
    load: Callable[[str], Config], written: str
) -> None:
    got = load(written).delivery
    assert (got.per_second, got.per_hour, got.settle) == (None, None, 60)


@pytest.mark.parametrize("written", ["auto", "on", "off"])
def test_history_can_be_switched(load: Callable[[str], Config], written: str) -> None:
    assert load(f"history: {{use: {written}}}").history.use == written


def test_the_defaults_are_those_of_the_label_policy() -> None:
    """One default in two places would drift."""
    assert Config().label_policy() == LabelPolicy()


def test_the_label_policy_is_what_the_file_says(load: Callable[[str], Config]) -> None:
    text = (
        'labels: {mode: suggest, allow: ["a*"], deny: [], groups: [["k/*"], ["p1", "p2"]], max: 1, min_confidence: 1}'
    )
    assert load(text).label_policy() == LabelPolicy(
        mode=Mode.SUGGEST, allow=("a*",), deny=(), groups=(("k/*",), ("p1", "p2")), max=1, min_confidence=1.0
    )


def test_a_price_makes_a_money_budget_possible(load: Callable[[str], Config]) -> None:
    assert load("budget: {usd: 1.5}\nmodel: {price: {input: 2}}").budget.usd == 1.5


def test_a_setting_cannot_be_changed_after_it_was_checked() -> None:
    with pytest.raises(ValueError, match="frozen"):
        Config().workers = 9  # type: ignore[misc]


# --- what it may not say


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("labels: {alow: [a]}", "labels.alow is not a setting; the nearest one is labels.allow."),
        ("max: 3", "max is not a setting; the nearest one is labels.max."),
        ("model: {prize: {input: 1}}", "model.prize is not a setting; the nearest one is model.price."),
        ("comment: maybe\nworker: 3", "worker is not a setting; the nearest one is workers."),
        ("workers: 0", "workers is 0, but must be a whole number from 1 to 64."),
        ("workers: 65", "workers is 65, but must be a whole number from 1 to 64."),
        ("workers: 4.0", "workers is 4.0, but must be a whole number from 1 to 64."),
        ("workers: '4'", "workers is '4', but must be a whole number from 1 to 64."),
        ("workers: on", "workers is on, but must be a whole number from 1 to 64."),
        ("workers:", "workers is empty, but must be a whole number from 1 to 64."),
        ("labels: {max: 21}", "labels.max is 21, but must be a whole number from 1 to 20."),
        ("labels: {min_confidence: 1.1}", "labels.min_confidence is 1.1, but must be a number from 0 to 1."),
        ("labels: {min_confidence: .nan}", "labels.min_confidence is nan, but must be a number from 0 to 1."),
        ("labels: {mode: Apply}", "labels.mode is 'Apply', but must be apply or suggest."),
        ("comment: maybe", "comment is 'maybe', but must be on or off."),
        ("select: {bots: off}", "select.bots is off, but must be skip or take."),
        ("select: {horizon: }", "select.horizon is empty, but must be a duration above zero, such as 30d, or off."),
        ("select: {wait: 15}", "select.wait is 15, but must be a duration such as 20s, 15m, 26h or 30d."),
        ("budget: {calls: on}", "budget.calls is on, but must be a whole number above zero, or off."),
        ("budget: {usd: 0}", "budget.usd is 0, but must be an amount above zero, or off."),
        ("delivery: {per_second: 2}", "delivery.per_second is 2, but must be a number above 0, at most 1, or off."),
        ("model: {first: gpt}", "model.first is 'gpt', but must be local, or null."),
        ("model: {sure: 1.5}", "model.sure is 1.5, but must be auto, or a number above 0, at most 1."),
        ("model: {sure: }", "model.sure is empty, but must be auto, or a number above 0, at most 1."),
        ("delivery: {per_hour: 500}", "delivery.per_hour is 500, but must be a whole number from 1 to 499, or off."),
        ("delivery: on", "delivery is on, but must be off, or a section with settle, per_second, per_hour."),
        ("model: {price: 3}", "model.price is 3, but must be a section with keys among input, output."),
        ("model: {name: 4}", "model.name is 4, but must be the model's name in quotes, or null."),
        ("history: {use: never}", "history.use is 'never', but must be auto, on or off."),
        ("lease: 5m", "lease is 5m, but must be at least twice model.deadline: 6m."),
        ("budget: {usd: 1}", "budget.usd needs model.price, since a price of zero never spends anything."),
    ],
)
def test_a_wrong_setting_is_named_with_what_is_allowed(refusal: Refusal, text: str, sentence: str) -> None:
    assert refusal(text) == f"triagebot.yml: {sentence}"


@pytest.mark.parametrize(
    ("text", "start"),
    [
        ("labels: {deny: bug}", "labels.deny is 'bug', but must be a list"),
        (
            "labels: {deny: [on]}",
            "labels.deny[0] is on, but labels.deny must be a list of names or globs, each in quotes",
        ),
        ("labels: {allow: ['']}", "labels.allow[0] is '', but labels.allow must be"),
        ("labels: {groups: ['a']}", "labels.groups[0] is 'a', but labels.groups must be a list of lists"),
        ("labels: 3", "labels is 3, but must be a section with keys among mode, allow"),
        ("identity: {also: [{}]}", "identity.also[0] is a section, but identity.also must be"),
    ],
)
def test_a_wrong_list_is_named_by_its_place(refusal: Refusal, text: str, start: str) -> None:
    assert refusal(text).startswith(f"triagebot.yml: {start}")


@pytest.mark.parametrize(
    ("text", "line", "why"),
    [
        ("workers: 4\nlabels: [", 2, "stream end"),
        ("workers: 4\n\tx: 3", 2, "cannot start any token"),
        ("workers: 4\ncomment: on\nworkers: 5", 3, "the key workers is there twice"),
        ("labels:\n  max: 1\n  max: 2", 3, "the key max is there twice"),
        ("a: &a {workers: 1}\nb: {<<: *a}", 2, "merge keys"),
        ("workers: 4\non: push", 2, "the key on is not text"),
        ("? [a]\n: 1", 1, "the key is not text"),
        ("x: !!python/object/apply:os.system [id]", 1, "could not determine a constructor"),
        ("workers: 1\ncomment: 2026-02-31", 2, "cannot be read"),
        (f"workers: {'9' * 5000}", 1, "cannot be read"),
        ("workers: 1\n---\nworkers: 2", 2, "another document"),
        ("workers: *nowhere", 1, "undefined alias"),
    ],
)
def test_broken_yaml_is_told_with_file_and_line(refusal: Refusal, text: str, line: int, why: str) -> None:
    sentence = refusal(text)
    assert sentence.startswith(f"triagebot.yml, line {line} is not YAML that triagebot reads: ")
    assert why in sentence


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("- a", "triagebot.yml must hold keys and values, as in `workers: 4`, not a list."),
        ("just words", "triagebot.yml must hold keys and values, as in `workers: 4`, not a single value."),
        ("[" * 100_000, "triagebot.yml is nested too deeply; triagebot's settings go three levels deep."),
        ("# " + "x" * 1024 * 1024, "triagebot.yml is larger than 1 MiB; it cannot be triagebot's settings."),
        ("a: \x00", "triagebot.yml is not YAML that triagebot reads: special characters are not allowed."),
    ],
)
def test_what_is_no_settings_file_is_refused(refusal: Refusal, text: str, sentence: str) -> None:
    assert refusal(text) == sentence


@pytest.mark.parametrize(
    "key", ["labels: {allow: *j}", "labels: {groups: *j}", "select: {wait: *j}", "workers: *j", "x: *j"]
)
def test_an_alias_bomb_is_refused_before_it_swells(refusal: Refusal, key: str) -> None:
    """Ten levels of nine references each are 3 billion values when somebody writes them out."""
    levels = "abcdefghij"
    bomb = ["a: &a [x, x, x, x, x, x, x, x, x]"]
    bomb += [f"{here}: &{here} [{', '.join(['*' + below] * 9)}]" for below, here in itertools.pairwise(levels)]
    assert len(refusal("\n".join([*bomb, key]))) < 300


def test_a_list_that_holds_itself_is_refused(refusal: Refusal) -> None:
    assert "labels.groups[0][0] is a list" in refusal("labels: {groups: &a [*a]}")


def test_a_file_that_is_not_utf8_is_told_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "c.yml"
    file.write_bytes(b"workers: 4\nlabels: {allow: [b\xfcg]}\n")
    with pytest.raises(Misconfigured, match="line 2 is not UTF-8"):
        config.load(file)


# --- where it is looked for


def test_a_file_that_was_asked_for_must_exist(tmp_path: Path) -> None:
    with pytest.raises(Misconfigured, match=r"nowhere\.yml does not exist; --config must name a file\."):
        config.load(tmp_path / "nowhere.yml", required=True)


def test_a_folder_in_its_place_is_told(tmp_path: Path) -> None:
    with pytest.raises(Misconfigured, match=r"cannot be read: Is a directory\."):
        config.load(tmp_path)


def test_the_usual_place_is_read_and_may_be_empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert config.load() == Config()
    place = tmp_path / ".github" / "triagebot.yml"
    place.parent.mkdir()
    place.write_text("workers: 7")
    assert config.load().workers == 7


def test_a_file_under_the_other_ending_is_not_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody wrote settings there, and a night with the defaults would do what they forbid."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".github").mkdir()
    (tmp_path / ".github" / "triagebot.yaml").write_text("workers: 7")
    with pytest.raises(Misconfigured, match=r"rename it to triagebot\.yml"):
        config.load()
