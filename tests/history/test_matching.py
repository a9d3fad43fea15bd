"""Words: the same for the index and for a search, in every script, and never anything that FTS5 would obey."""

from __future__ import annotations

import re
import sqlite3

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from triagebot.history import matching


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Crash: load_dataset()", ["crash", "load", "dataset"]),
        ("Wörld ÉTÉ Straße İ", ["world", "ete", "strasse", "i"]),
        ("1234 x86 v2.10", ["x86", "v2"]),
        ("启动时崩溃！", ["启动", "动时", "时崩", "崩溃"]),
        ("漢 pandas启动", ["漢", "pandas", "启动"]),
        ("시작할 때", ["시작", "작할", "때"]),
        ("क्षेत्र", ["कषतर"]),
        ("😀 -- \x00 \ud800", []),
        ("", []),
    ],
)
def test_words(text: str, words: list[str]) -> None:
    assert matching.words(text) == words


def test_hashes_and_endless_texts_are_cut() -> None:
    assert matching.words("a" * 41) == []
    assert len(matching.words("crash " * 100_000)) == 3000
    assert len(matching.words("启" * 100_000)) == 3000


@given(st.text(max_size=200), st.text(max_size=200))
@settings(deadline=None, max_examples=300)
def test_a_search_is_quoted_words_and_nothing_else(title: str, body: str) -> None:
    weights = matching.candidates(title, body)
    query = matching.query(weights, dict.fromkeys(weights, 1), 10)
    if query is None:
        assert not weights
    else:
        assert re.fullmatch(r'"[^"\s]+"( OR "[^"\s]+")*', query)
        with sqlite3.connect(":memory:") as database:
            database.execute("CREATE VIRTUAL TABLE words USING fts5 (title, body)")
            database.execute("SELECT rowid FROM words WHERE words MATCH ?", (query,)).fetchall()
        database.close()


def test_the_rarest_words_are_looked_for_first_and_unknown_ones_never() -> None:
    weights = {f"word{n}": 1.0 for n in range(500)}
    common = {f"word{n}": n + 1 for n in range(400)}
    query = matching.query(weights, common, 1000)
    assert query is not None
    assert query.startswith('"word0" OR "word1" OR ')
    assert query.count(" OR ") == 127
    assert matching.query(weights, {}, 1000) is None


def test_words_that_stand_everywhere_are_better_than_none() -> None:
    assert matching.query({"crash": 1.0}, {"crash": 9}, 10) == '"crash"'
