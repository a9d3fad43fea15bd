"""A report from predictions: what is in it, and that people and machines are told the same."""

from __future__ import annotations

import json
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from sklearn.metrics import f1_score

from tests.evaluation.pieces import case, prediction, random_predictions
from triagebot.core.verdict import Usage
from triagebot.evaluation import page, scoring, told
from triagebot.evaluation.cases import Prediction, Said
from triagebot.evaluation.scoring import Price, Report
from triagebot.evaluation.splits import Trial

FOUND = random_predictions(100, seed=3)
MANY = [
    prediction(0, ("bug", "area: db"), "bug", 0.9),
    prediction(1, (), None),
    prediction(2, (), "bug", 0.7),
    prediction(3, "question", None),
    prediction(4, "question", "bug", 0.8),
]


@pytest.fixture(scope="module")
def report() -> Report:
    """Counted once for all tests that only look at it."""
    return _report(FOUND)


def _report(found: list[Prediction], **more: object) -> Report:
    constant = [Prediction(p.case, Said(votes=(("bug", 0.4),), chosen=("bug",)), p.fold) for p in found]
    one = all(len(p.case.truth) == 1 for p in found)
    report = Report(
        system=scoring.score("a model", found),
        beside=[scoring.score(scoring.COMMONEST, constant)],
        predictions=found,
        one_label=one,
        issues=len(found),
        min_confidence=0.6,
        how="learnt from here, judged on there",
    )
    return replace(report, **more)


def test_macro_f1_is_the_mean_over_repositories_and_can_be_computed_again_from_the_predictions(report: Report) -> None:
    shown = json.loads(json.dumps(told.as_json(report)))
    assert shown.keys() >= {"macro_f1", "repos", "labels", "thresholds", "predictions"}
    each = []
    for repo, score in shown["repos"].items():
        rows = [p for p in shown["predictions"] if p["repo"] == repo]
        each.append(f1_score([p["truth"] for p in rows], [p["predicted"] for p in rows], average="macro"))
        assert score["macro_f1"] == pytest.approx(each[-1], abs=1e-6)
        assert score["macro_f1_interval"][0] <= score["macro_f1"] <= score["macro_f1_interval"][1]
    assert shown["macro_f1"] == pytest.approx(sum(each) / len(each), abs=1e-6)
    low, high = shown["macro_f1_interval"]
    assert low < shown["macro_f1"] < high


def test_thresholds_can_be_computed_again_from_the_predictions(report: Report) -> None:
    shown = told.as_json(report)
    for point in shown["thresholds"][::7]:
        held = [p for p in shown["predictions"] if p["confidence"] >= point["min_confidence"]]
        assert point["coverage"] == pytest.approx(len(held) / 100, abs=1e-6)
        right = sum(p["truth"] == p["predicted"] for p in held)
        assert point["precision"] == (pytest.approx(right / len(held), abs=1e-6) if held else None)
    assert shown["suggested"]["min_confidence"] in [point["min_confidence"] for point in shown["thresholds"]]
    assert shown["suggested"]["cross_fitted"]["coverage"] > 0


def test_rows_keep_their_numbers_and_their_order() -> None:
    found = scoring.by_row([prediction(7, "bug", "bug"), prediction(2, "bug", None)])
    shown = told.as_json(_report(found))["predictions"]
    assert [(p["row"], p["predicted"], p["confidence"]) for p in shown] == [(2, None, 0.0), (7, "bug", 0.9)]


def test_where_issues_have_several_labels_or_none_the_truth_is_a_list_and_silence_is_counted(report: Report) -> None:
    shown = told.as_json(_report(MANY))
    assert [p["truth"] for p in shown["predictions"]] == [["bug", "area: db"], [], [], ["question"], ["question"]]
    sets = shown["several_labels"]
    assert sets["unlabelled"] == {"issues": 2, "rightly_silent": 1}
    assert sets["labelled"] == {"issues": 3, "something_wrong": 1, "silent": 1}
    assert sets["micro_f1"]["value"] == pytest.approx(2 * 1 / (2 * 1 + 2 + 3), abs=1e-6)
    assert shown["beside"][scoring.COMMONEST]["several_labels"]["unlabelled"]["rightly_silent"] == 0
    assert told.as_json(report)["several_labels"] is None


def test_the_commonest_label_is_that_of_the_history_and_not_of_the_test() -> None:
    history = tuple(case(row, "bug" if row < 6 else "question") for row in range(10))
    test = tuple(case(row, "question") for row in range(10, 14))
    [first, *_] = scoring.always_commonest([Trial(history, test)])
    assert (first.said.top, first.said.confidence, first.said.chosen) == ("bug", 0.6, ("bug",))
    unknown = scoring.always_commonest([Trial((), test)])
    assert unknown[0].said.top is None


def test_what_100_issues_take_comes_from_what_these_took() -> None:
    said = Said(votes=(("bug", 0.9),), usage=Usage(requests=2, tokens_in=1000, tokens_out=50))
    found = [Prediction(case(row, "bug"), said) for row in range(50)]
    found[0] = replace(found[0], said=Said(invalid="unparseable", usage=said.usage))
    spent = told._spent(scoring.score("m", found, price=Price(input=2.0, output=10.0)).spent)
    assert spent["invalid"] == {"unparseable": 1}
    assert spent["for_100_issues"] == {"calls": 200, "tokens_in": 100_000, "tokens_out": 5000, "usd": 0.25}


def test_tokens_that_nobody_tells_cost_an_unknown_amount() -> None:
    found = [Prediction(case(0, "bug"), Said(usage=Usage(requests=1)))]
    spent = told._spent(scoring.score("m", found, price=Price(input=2.0)).spent)
    assert spent["for_100_issues"] == {"calls": 100, "tokens_in": None, "tokens_out": None, "usd": None}


def test_a_gain_is_measured_issue_by_issue() -> None:
    """The same answers gain nothing, with an interval of no width; better ones gain."""
    same = scoring.gain(FOUND, FOUND)
    assert (same.gain.value, same.gain.interval, same.issues) == (0.0, (0.0, 0.0), 100)
    better = [prediction(p.case.row, p.case.truth, p.case.truth[0], repo=p.case.repo, fold=p.fold) for p in FOUND]
    gain = scoring.gain(FOUND, better)
    assert gain.with_examples == 1.0
    assert 0 < gain.gain.interval[0] < gain.gain.value < gain.gain.interval[1]


def test_people_are_told_the_same_numbers(report: Report) -> None:
    report = replace(report, gain=scoring.gain(FOUND, FOUND), notes=["something was left out"])
    text = "\n".join(told.lines(report))
    for number in (report.system.macro_f1.value, report.beside[0].macro_f1.value):
        assert f"{number:.3f} (95 %" in text
    assert "suggested min_confidence" in text
    assert "note: something was left out" in text
    assert "+0.000" in text
    assert "nobody labelled" in "\n".join(told.lines(_report(MANY)))


# --- the page


class _Page(HTMLParser):
    """Collects what a page loads from elsewhere, and its open elements."""

    def __init__(self) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.tags: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        given = dict(attrs)
        self.loads += [str(given[name]) for name in ("src", "href", "data", "xlink:href") if name in given]


def _parsed(text: str) -> _Page:
    found = _Page()
    found.feed(text)
    return found


def test_the_page_needs_nothing_but_itself(report: Report) -> None:
    html = page.html(report)
    parsed = _parsed(html)
    assert [target for target in parsed.loads if not target.startswith("#")] == []
    assert {"script", "link", "img", "iframe"}.isdisjoint(parsed.tags)
    assert parsed.tags.count("svg") == 3
    assert '<meta name="viewport" content="width=device-width' in html
    assert "prefers-color-scheme: dark" in html
    assert "@import" not in html
    assert "url(http" not in html


def test_the_page_is_the_same_for_the_same_report(report: Report) -> None:
    assert page.html(report) == page.html(report)


def test_a_plot_has_no_size_and_no_colour_of_its_own(report: Report) -> None:
    html = page.html(report)
    svg = html[html.index("<svg") : html.index("</svg>")]
    head = svg[: svg.index(">")]
    assert " width=" not in head
    assert " height=" not in head
    assert "var(--main)" in svg
    assert not any(f"#0{digit}0{digit}0{digit}" in svg for digit in range(1, 6))


def test_names_that_strangers_chose_cannot_act_on_the_page() -> None:
    evil = "<script>alert(1)</script>"
    html = page.html(_report([prediction(0, evil, "bug", repo=evil), prediction(1, "bug", "bug", repo="o/r")]))
    assert evil not in html
    assert "&lt;script&gt;" in html


@pytest.mark.parametrize("found", [MANY, [prediction(0, "bug", None)], [prediction(0, "bug", "bug")]])
def test_a_page_of_few_issues_is_a_page(found: list[Prediction]) -> None:
    assert page.html(_report(found, gain=scoring.gain(found, found))).endswith("</html>\n")
