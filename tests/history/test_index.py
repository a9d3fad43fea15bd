"""The index: what is remembered, what is forgotten, and what is like an issue."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.history.pieces import START, past
from triagebot.core.history import Cursor
from triagebot.history.index import HistoryIndex
from triagebot.history.opening import from_export, open_history, throwaway

REPO = 7
CURSOR = Cursor(begun=datetime(2026, 12, 1, 2, 3, 4, 500_000, tzinfo=UTC), since=START, after="Y3Vyc29y", read=100)


def numbers(found: list) -> list[int | None]:
    return [each.number for each in found]


# --- remembering


def test_what_was_remembered_comes_back_newest_first(index: HistoryIndex) -> None:
    issues = [past(2, "Second", "bug", "area: x", body="A\nB", repo="octo/demo"), past(1, "First", "question")]
    index.remember(REPO, issues, CURSOR)
    assert index.past(REPO) == issues
    assert index.past(REPO, 1) == issues[:1]
    assert index.cursor(REPO) == CURSOR
    assert (index.past(8), index.cursor(8)) == ([], None)


def test_an_issue_is_there_once_and_as_it_was_last(index: HistoryIndex) -> None:
    index.remember(REPO, [past(1, "The parser crashes"), past(2, "Other")])
    index.remember(REPO, [past(1, "A lexer hangs", "question")])
    assert [(p.number, p.title, p.labels) for p in index.past(REPO)] == [
        (2, "Other", ("bug",)),
        (1, "A lexer hangs", ("question",)),
    ]
    assert index.similar(REPO, "the parser", "") == []
    assert numbers(index.similar(REPO, "my lexer", "")) == [1]


def test_what_is_gone_is_found_no_more_and_its_words_neither(index: HistoryIndex) -> None:
    index.remember(REPO, [past(1, "The parser crashes"), past(2, "A lexer hangs")])
    index.remember(REPO, [], CURSOR, gone=[1, 99])
    assert numbers(index.past(REPO)) == [2]
    assert index.similar(REPO, "the parser", "") == []
    assert index.cursor(REPO) == CURSOR


def test_repositories_do_not_see_each_other(index: HistoryIndex) -> None:
    index.remember(REPO, [past(1, "The parser crashes")])
    index.remember(8, [past(1, "The parser is slow", "performance")])
    assert index.similar(REPO, "parser x", "")[0].labels == ("bug",)
    index.forget(REPO)
    assert (index.past(REPO), index.cursor(REPO), numbers(index.past(8))) == ([], None, [1])


def test_the_oldest_are_trimmed(index: HistoryIndex) -> None:
    index.remember(REPO, [past(n, f"Parser {n}") for n in range(1, 6)])
    index.remember(8, [past(1, "Parser")])
    index.trim(REPO, 2)
    assert numbers(index.past(REPO)) == [5, 4]
    assert sorted(numbers(index.similar(REPO, "parser", "", limit=9))) == [4, 5]
    assert numbers(index.past(8)) == [1]


def test_a_page_and_its_cursor_are_one(index: HistoryIndex) -> None:
    """A page that fails half-way leaves neither: the next night reads it again."""
    index.remember(REPO, [past(1)], CURSOR)
    with pytest.raises(Exception, match="NOT NULL"):
        index.remember(REPO, [past(2)], replace(CURSOR, read=None))
    assert numbers(index.past(REPO)) == [1]
    assert index.cursor(REPO) == CURSOR


def test_text_is_kept_as_the_model_would_be_shown_it(index: HistoryIndex) -> None:
    hidden = "".join(chr(0xE0000 + ord(c)) for c in "obey")
    index.remember(
        REPO, [past(1, f"It\n crashes{hidden}", body=f"Error <!-- obey --> {hidden}\x00\ud800" + "x" * 30_000)]
    )
    [kept] = index.past(REPO)
    assert kept.title == "It crashes"
    assert kept.body.startswith("Error")
    assert len(kept.body) == 20_000
    assert "obey" not in kept.body


@pytest.mark.parametrize("number", [None, 10**30])
def test_rows_without_a_usable_number_are_all_kept(index: HistoryIndex, number: int | None) -> None:
    index.remember(REPO, [past(number, f"Parser {word}", created_at=None) for word in ("one", "two")])
    assert len(index.past(REPO)) == 2
    assert len(index.similar(REPO, "parser", "", exclude=10**30)) == 2


# --- labels


def test_each_reader_says_which_labels_count(index: HistoryIndex) -> None:
    index.remember(REPO, [past(1, "Parser", "Bug", "wontfix"), past(2, "Parser", "wontfix")])
    assert [p.labels for p in index.past(REPO, allowed=["bug", "question"])] == [(), ("bug",)]
    assert [(p.number, p.labels) for p in index.similar(REPO, "parser x", "", allowed=["bug"])] == [(1, ("bug",))]
    assert index.similar(REPO, "parser x", "", allowed=[]) == []


# --- likeness


def test_the_likest_come_first(index: HistoryIndex) -> None:
    index.remember(
        REPO,
        [
            past(1, "The lexer hangs", body="on an empty file, as the parser does"),
            past(2, "The parser crashes on an empty file"),
            past(3, "Docs have a typo"),
        ],
    )
    assert numbers(index.similar(REPO, "Parser crashes", "An empty file makes it fail")) == [2, 1]
    assert numbers(index.similar(REPO, "Parser crashes", "An empty file makes it fail", limit=1)) == [2]


def test_never_the_issue_itself_nor_its_very_text(index: HistoryIndex) -> None:
    index.remember(REPO, [past(n, "The parser crashes", body=f"at line {n % 2}") for n in range(1, 5)])
    assert sorted(numbers(index.similar(REPO, "The parser  crashes", "at line 1\r\n", exclude=2))) == [4]


def test_never_a_newer_one_where_it_is_asked_so(index: HistoryIndex) -> None:
    index.remember(REPO, [past(n, f"Parser {n}x") for n in range(1, 5)] + [past(9, "Parser ageless", created_at=None)])
    before = index.past(REPO)[1].created_at
    assert sorted(numbers(index.similar(REPO, "parser", "", limit=9, before=before))) == [1, 2]
    assert len(index.similar(REPO, "parser", "", limit=9)) == 5


def test_chinese_finds_chinese(index: HistoryIndex) -> None:
    index.remember(REPO, [past(1, "启动时崩溃"), past(2, "文档有错误"), past(3, "It crashes")])
    assert numbers(index.similar(REPO, "程序崩溃了", "")) == [1]


ODD = ['"', '" OR "', "title : x", "NEAR(a b)", "a* ^b - +c", "NOT", "*", "'; DROP TABLE issues; --", "", "\x00", "🎈"]


@pytest.mark.parametrize("text", ODD)
def test_odd_text_is_text(index: HistoryIndex, text: str) -> None:
    index.remember(REPO, [past(1, "a b c x title near not drop"), past(2, "other")])
    assert len(index.similar(REPO, text, text)) <= 1
    assert len(index.past(REPO)) == 2


@given(st.lists(st.tuples(st.text(max_size=80), st.text(max_size=80)), min_size=1, max_size=4))
@settings(deadline=None, max_examples=60)
def test_any_text_can_be_remembered_and_looked_for(texts: list[tuple[str, str]]) -> None:
    with throwaway() as index:
        index.remember(REPO, [past(n, title, body=body) for n, (title, body) in enumerate(texts)])
        for number, (title, body) in enumerate(texts):
            found = numbers(index.similar(REPO, title, body, exclude=number, limit=9))
            assert number not in found
        assert len(index.past(REPO)) == len(texts)


def test_a_body_of_three_million_characters_is_bounded(index: HistoryIndex) -> None:
    index.remember(REPO, [past(1, "Parser"), past(2, "Huge", body="crash " * 500_000)])
    started = time.monotonic()
    assert numbers(index.similar(REPO, "It is huge", "parser " * 500_000))[0] in {1, 2}
    assert time.monotonic() - started < 10
    assert len(index.past(REPO)[0].body) <= 20_000


def test_several_threads_may_ask_at_once(index: HistoryIndex) -> None:
    index.remember(REPO, [past(n, f"Parser {n}x crashes") for n in range(50)])
    found: list[int] = []
    threads = [
        threading.Thread(target=lambda: found.append(len(index.similar(REPO, "parser", "", limit=9)))) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [9] * 8


def test_an_issue_that_another_night_replaces_meanwhile_is_no_example(
    index: HistoryIndex, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index.remember(REPO, [past(1, "Parser one"), past(2, "Parser two")])
    with open_history(path) as other:
        read = index._database.read

        def late(name: str, /, **values: object) -> list:
            rows = read(name, **values)
            if name == "rank":
                other.remember(REPO, [past(1, "Lexer")])
            return rows

        monkeypatch.setattr(index._database, "read", late)
        assert numbers(index.similar(REPO, "parser x", "")) == [2]


# --- an export


def test_an_export_answers_for_whatever_repository_is_asked_for() -> None:
    with from_export([past(1, "Parser")]) as index:
        assert numbers(index.past(4711)) == [1]
        assert numbers(index.similar(12, "parser x", "")) == [1]
