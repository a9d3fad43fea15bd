"""What is told of a night: everything, the same in each form, within what GitHub takes, and nobody's text acts."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import UTC, date, datetime
from typing import Any

import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

from tests.injection.attacks import ATTACKS
from triagebot.cli import durations, pages, summary
from triagebot.core.faults import Misconfigured
from triagebot.core.issue import Identity, Repository
from triagebot.core.rows import Night
from triagebot.core.verdict import Usage, Vote
from triagebot.nightly.place import Place
from triagebot.nightly.purse import Purse
from triagebot.nightly.report import Ended, Entry, Summary, Tally
from triagebot.nightly.settings import Budget
from triagebot.nightly.tour import Told

SITE = "https://github.com"
MEBIBYTE = 1024 * 1024
PRICED = Budget(price_in=1.0, price_out=2.0)
PAID = Usage(requests=2, tokens_in=1000, tokens_out=100)


def night(*entries: Entry, name: str = "octo/demo", how: str = "done", **more: Any) -> Summary:
    tally = Tally()
    tally.count("seen", len(entries))
    for entry in entries:
        tally.enter(entry)
        tally.spend(entry.usage)
    for note in more.get("notes", ()):
        tally.note(note)
    return Summary(
        place=Place(repository=Repository(id=1, name=name), identity=Identity(login="bot", id=1), known=(), usable=()),
        night=Night(id=1, repo_id=1, day=date(2026, 12, 1), last_good=more.get("last_good")),
        tally=tally,
        purse=Purse(more.get("budget", PRICED)),
        how=how,
        waiting=0,
        seconds=192.4,
    )


def labelled(number: int, title: str = "It crashes", reason: str = "it says so") -> Entry:
    votes = (Vote(name="bug", confidence=0.9, reason=reason),)
    return Entry(issue=number, ended=Ended.LABELLED, title=title, labels=votes, usage=PAID)


EVERYTHING = (
    labelled(1),
    Entry(issue=2, ended=Ended.NOTHING_FITS, title="A greeting", usage=PAID),
    Entry(issue=3, ended=Ended.FAILED, title="Too odd", reason="no whole JSON object", usage=PAID),
    Entry(issue=4, ended=Ended.DEAD, title="Given up", reason="dead until `triagebot retry`"),
    Entry(issue=5, ended=Ended.WAITING, title="Later", reason="tried already tonight"),
    Entry(issue=6, ended=Ended.LEFT, title="No room", reason="budget.issues"),
    Entry(issue=7, ended=Ended.LEFT, title="No room either", reason="budget.issues"),
    Entry(issue=8, ended=Ended.SKIPPED, title="Bump", reason="opened by a bot"),
)
GOOD = datetime(2026, 11, 30, 2, 31, tzinfo=UTC)


@pytest.fixture
def everything() -> Summary:
    return night(*EVERYTHING, how="incomplete", last_good=GOOD, notes=["2 writes wait in the outbox"])


@pytest.mark.parametrize(
    "fact",
    [
        "8 seen",
        "1 labelled",
        "1 nothing fits",
        "1 failed",
        "1 dead",
        "1 waiting",
        "opened by a bot",
        "bug",
        "0.90",
        "it says so",
        "no whole JSON object",
        "left over: 2 issues, the oldest is issue 6",
        "6 requests, 3000 tokens in, 300 out, 0.0036 USD",
        "0.0012",
        "2026-11-30 02:31Z",
        "3m 12s",
        "2 writes wait in the outbox",
    ],
)
def test_people_are_told_it_on_the_terminal_and_on_the_page(everything: Summary, fact: str) -> None:
    assert fact in pages.of_one(everything, SITE)
    if fact != "it says so":  # a line is short; the page and the comment tell the reason
        assert fact in "\n".join(summary.lines(everything))


def test_machines_are_told_it_under_stable_names(everything: Summary) -> None:
    told = summary.as_json(everything, SITE)
    assert told["last_good"] == "2026-11-30T02:31:00+00:00"
    assert told["skipped"] == {"opened by a bot": 1}
    assert told["left"] == {"issues": 2, "oldest": 6}
    assert told["usd"] == 0.0036
    assert told["issues"][0] == {
        "issue": 1,
        "ended": "labelled",
        "title": "It crashes",
        "link": "https://github.com/octo/demo/issues/1",
        "labels": [{"name": "bug", "confidence": 0.9, "reason": "it says so"}],
        "reason": "",
        "requests": 2,
        "tokens_in": 1000,
        "tokens_out": 100,
        "usd": 0.0012,
    }
    assert summary.as_json(everything, None)["issues"][0]["link"] is None


def test_what_needs_somebody_stands_before_what_is_fine(everything: Summary) -> None:
    page = pages.of_one(everything, SITE)
    at = [
        page.index(words)
        for words in ("**1 waiting, 1 failed", "1 labelled", "To look at", "`Too odd`", "`It crashes`")
    ]
    assert at == sorted(at)
    lines = "\n".join(summary.lines(everything))
    assert lines.index("It crashes") < lines.index("Too odd"), "a terminal shows its end"


def test_a_night_without_a_price_has_no_column_for_it_and_one_without_a_good_one_before_says_so() -> None:
    page = pages.of_one(night(labelled(1), budget=Budget()), None)
    assert "USD" not in page
    assert "| 1 | `It crashes` |" in page, "where nobody knows the address of an issue, its number has to do"
    assert "last good night before: none" in page


# --- how much


def wide(number: int) -> Entry:
    """As long as GitHub lets it be, in letters of four bytes."""
    votes = tuple(Vote(name="\U0001f41e" * 50, confidence=0.9, reason="\U0001f41e" * 500) for _ in range(20))
    ended = (Ended.LABELLED, Ended.FAILED, Ended.LEFT)[number % 3]
    return Entry(
        issue=number, ended=ended, title="\U0001f41e" * 256, labels=votes, reason="\U0001f41e" * 500, usage=PAID
    )


def test_five_thousand_talkative_issues_fit_into_a_step_summary() -> None:
    """GitHub refuses one of more than 1 MiB as a whole."""
    full = night(*(wide(n) for n in range(1, 5001)), notes=["\U0001f41e" * 2000 + str(n) for n in range(500)])
    page = pages.of_one(full, SITE)
    assert 200_000 < len(page.encode()) < MEBIBYTE
    assert page.count("<details>") == page.count("</details>")
    assert "1667 failed, 1667 left over" in page
    assert re.search(r"\nAnd \d+ more\.\n", page)


def test_three_hundred_repositories_fit_into_a_step_summary_and_the_totals_are_whole() -> None:
    told = [
        Told(name=f"octo/r{n}", summary=night(*(wide(i) for i in range(1, 40)), name=f"octo/r{n}", how="incomplete"))
        for n in range(300)
    ]
    page = pages.of_many(told, SITE)
    assert len(page.encode()) < MEBIBYTE
    assert "11700 seen" in page
    assert page.count("<details>") == page.count("</details>")


# --- several repositories


def several() -> list[Told]:
    return [
        Told(name="octo/fine", summary=night(labelled(1), name="octo/fine")),
        Told(name="octo/bad", summary=night(*EVERYTHING, name="octo/bad", how="incomplete")),
        Told(name="octo/gone", fault=Misconfigured("octo/gone is archived")),
        Told(name="octo/late"),
        Told(name="octo/quiet", summary=night(EVERYTHING[-1], name="octo/quiet")),
    ]


def test_several_repositories_are_told_one_by_one_and_in_all() -> None:
    told = summary.all_as_json(several(), SITE)
    assert [each["repo"] for each in told["repos"]] == [f"octo/{n}" for n in ("fine", "bad", "gone", "late", "quiet")]
    assert told["repos"][2] == {
        "repo": "octo/gone",
        "how": "not worked on: octo/gone is archived",
        "fault": "octo/gone is archived",
    }
    assert told["repos"][3] == {"repo": "octo/late", "how": "not reached before the end"}
    assert (told["counts"]["labelled"], told["counts"]["seen"], told["usd"]) == (2, 10, 0.0048)
    lines = "\n".join(summary.all_lines(several()))
    assert "octo/gone: not worked on: octo/gone is archived" in lines
    assert "in all, 3 of 5 repositories: 10 seen, 2 labelled" in lines


def test_on_the_page_those_that_need_somebody_come_first() -> None:
    page = pages.of_many(several(), SITE)
    words = (
        "**2 of them not worked on, 1 not finished**",
        "`octo/gone`",
        "octo/bad, night ",
        "octo/fine, night ",
        "octo/quiet",
    )
    assert [page.index(each) for each in words] == sorted(page.index(each) for each in words)


def test_where_all_went_well_the_page_says_just_that() -> None:
    assert "**All done**" in pages.of_many([Told(name="octo/fine", summary=night(labelled(1)))], SITE)


# --- strangers' text


def tokens(page: str) -> Iterator[Token]:
    for token in MarkdownIt("commonmark", {"html": True}).enable("table").parse(page):
        yield token
        yield from token.children or ()


@pytest.mark.parametrize("several_repositories", [False, True])
def test_strangers_text_stands_in_code_spans_alone(several_repositories: bool) -> None:
    """Titles, a model's reasons, and what a server said: no link, image, HTML, mention or further row comes of it."""
    bad = [attack.title + " " + attack.body for attack in ATTACKS] + [
        "</summary></details><script>x</script> @ada #1 ![x](http://x.test) | a | b |\n\n# Title\n",
        "`` ` ``| `code` <img src=x>",
        "\\",
        "\\` @ada",
    ]
    entries = [labelled(n, text, text) for n, text in enumerate(bad, start=1)]
    entries += [Entry(issue=n, ended=Ended.FAILED, title=text, reason=text) for n, text in enumerate(bad, start=1001)]
    entries += [Entry(issue=n, ended=Ended.LEFT, title=text, reason=text) for n, text in enumerate(bad, start=2001)]
    told = night(*entries, notes=bad, how=f"stopped: {bad[-4]}")
    told.tally.drop(tuple(bad))
    page = (
        pages.of_many([Told(name="octo/demo", summary=told)], SITE)
        if several_repositories
        else pages.of_one(told, SITE)
    )
    seen = list(tokens(page))
    assert {t.content.strip() for t in seen if t.type in {"html_block", "html_inline"}} <= {
        "</details>",
        *re.findall(r"<details><summary>[\w :]+</summary>", page),
    }
    links = [str(t.attrs["href"]) for t in seen if t.type == "link_open"]
    assert links
    assert all(re.fullmatch(rf"{SITE}/octo/demo/issues/\d+", link) for link in links)
    assert not [t for t in seen if t.type == "image"]
    plain = " ".join(t.content for t in seen if t.type == "text")
    assert "@" not in plain
    assert "<" not in plain
    rows = [t for t in seen if t.type == "tr_open"]
    cells = [t for t in seen if t.type in {"td_open", "th_open"}]
    assert len(rows) > 3 * len(bad)
    lines = [line for line in page.splitlines() if line.startswith("| ") and not line.startswith("| ---")]
    assert len(cells) == sum(line.count("|") - 1 for line in lines)


UNSEEN = "\x1b[31mred\x1b]0;t\x07 \x9b31m \u202eevil\u2066 tag\U000e0041 \u200bzero \x00nul \ud800 \u2028line"


@pytest.mark.parametrize("several_repositories", [False, True])
def test_what_nobody_sees_is_not_on_the_page(several_repositories: bool) -> None:
    """As in the comment: who copies a line from the page into a terminal gets what was seen, and nothing acts."""
    entries = [labelled(1, UNSEEN, UNSEEN), Entry(issue=2, ended=Ended.FAILED, title=UNSEEN, reason=UNSEEN)]
    entries += [Entry(issue=3, ended=Ended.SKIPPED, title=UNSEEN, reason=UNSEEN)]
    told = night(*entries, notes=[UNSEEN], how=f"stopped: {UNSEEN}")
    told.tally.drop((UNSEEN,))
    repositories = [Told(name="octo/demo", summary=told), Told(name="octo/gone", fault=Misconfigured(UNSEEN))]
    page = pages.of_many(repositories, SITE) if several_repositories else pages.of_one(told, SITE)
    assert [c for c in page if not c.isprintable() and c != "\n"] == []
    assert "red" in page
    assert "evil" in page
    page.encode()


def test_a_family_and_a_joined_letter_stay_whole_on_the_page() -> None:
    title = "\U0001f468\u200d\U0001f469\u200d\U0001f467 \u0645\u06cc\u200c\u062e"
    assert f"`{title}`" in pages.of_one(night(labelled(1, title)), SITE)


# --- secrets


@pytest.mark.parametrize("form", ["terminal", "page", "json"])
def test_no_form_tells_what_nobody_may_see_whoever_said_it(form: str) -> None:
    """A server's words, a stranger's title, a label that does not exist: each may hold it."""
    bad = "the SECRET value"
    votes = (Vote(name=bad, confidence=0.9, reason=bad),)
    entries = [
        Entry(issue=1, ended=Ended.LABELLED, title=bad, labels=votes, reason=bad, usage=PAID),
        Entry(issue=2, ended=Ended.FAILED, title=bad, reason=bad),
        Entry(issue=3, ended=Ended.SKIPPED, title=bad, reason=bad),
    ]
    told = night(*entries, notes=[bad], how=f"stopped: {bad}")
    told.tally.drop((bad, bad.replace("SECRET", "[secret]")))
    both = [Told(name="octo/demo", summary=told), Told(name="octo/gone", fault=Misconfigured(bad))]
    shown = [summary.discreet_told(each, lambda text: text.replace("SECRET", "[secret]")) for each in both]
    text = {
        "terminal": "\n".join(summary.all_lines(shown)),
        "page": pages.of_many(shown, SITE),
        "json": json.dumps(summary.all_as_json(shown, SITE)),
    }[form]
    assert "SECRET" not in text
    assert text.count("[secret]") >= 5
    assert shown[0].summary is not None
    assert shown[0].summary.tally.dropped == {"the [secret] value": 2}
    assert shown[0].summary.tally.totals() == told.tally.totals()


@pytest.mark.parametrize(
    ("seconds", "told"), [(0.2, "0s"), (59.6, "1m"), (192, "3m 12s"), (7509, "2h 5m"), (90_061, "1d 1h"), (3600, "1h")]
)
def test_how_long_it_took_is_told_in_two_units(seconds: float, told: str) -> None:
    assert durations.spoken(seconds) == told
