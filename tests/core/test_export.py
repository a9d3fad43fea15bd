"""Exports of issues: what is understood, and how each thing that is wrong is told."""

from __future__ import annotations

import csv
import gzip
import json
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import pytest

from triagebot.core import export
from triagebot.core.export import ExportedIssue, Kind
from triagebot.core.faults import Misconfigured

TRAIN = Path(__file__).parents[2] / "../shared/data/nlbse24-train.csv"
GH = {
    "number": 7,
    "title": "It breaks",
    "body": "Here",
    "labels": [{"id": "L1", "name": "bug", "color": "d73a4a"}, {"name": "area: db,cache"}],
    "author": {"login": "someone", "is_bot": False},
    "createdAt": "2026-10-19T08:00:00Z",
}
READ = ExportedIssue(
    number=7,
    title="It breaks",
    body="Here",
    labels=("bug", "area: db,cache"),
    author="someone",
    created_at=datetime(2026, 10, 19, 8, tzinfo=UTC),
)


def test_what_gh_exports_is_read() -> None:
    assert export.decode(json.dumps([GH]).encode(), "issues.json") == [READ]


def test_what_the_api_lists_is_read_without_its_pull_requests() -> None:
    row = {
        "number": 7,
        "title": "It breaks",
        "body": "Here",
        "labels": [{"name": "bug"}, "area: db,cache"],
        "user": {"login": "someone"},
        "created_at": "2026-10-19T10:00:00+02:00",
    }
    pull = {"number": 8, "title": "A change", "pull_request": {"url": "x"}}
    assert export.parse(json.dumps([row, pull]), Kind.JSON) == [READ]


@pytest.mark.parametrize(("flag", "kept"), [(True, False), (False, True), (None, True), (1, False)])
def test_a_row_that_is_flagged_as_a_pull_request_is_left_out(flag: object, kept: bool) -> None:
    rows = [{"title": "An issue"}, {"title": "A change", "is_pr": flag}]
    assert len(export.parse(json.dumps(rows), Kind.JSON)) == 1 + kept


@pytest.mark.parametrize(("word", "kept"), [("True", False), ("1", False), ("false", True), ("0", True), ("", True)])
def test_the_flag_is_a_word_in_a_csv(word: str, kept: bool) -> None:
    assert len(export.parse(f"title,is_pr\nAn issue,\nA change,{word}\n", Kind.CSV)) == 1 + kept


def test_rows_count_from_nought_and_over_what_is_left_out() -> None:
    rows = [{"title": "a"}, {"title": "b", "is_pr": True}, {"title": "c"}]
    text = "\n\n".join(json.dumps(row) for row in rows)
    found = export.decode_rows(text.encode(), "issues.jsonl")
    assert [(row, issue.title) for row, issue in found] == [(0, "a"), (2, "c")]
    assert [row for row, _ in export.decode_rows(b"title\na\n\nb\n", "issues.csv")] == [0, 1]


def test_a_packed_file_is_read_by_the_name_below_its_ending() -> None:
    assert export.decode(gzip.compress(json.dumps(GH).encode()), "issues.jsonl.gz") == [READ]
    assert export.decode(gzip.compress(b"title\nx\n"), "issues.csv.gz") == [ExportedIssue(title="x")]


def test_json_lines_are_read_and_only_a_line_feed_ends_one() -> None:
    first = json.dumps(GH | {"body": "one\u2028line"}, ensure_ascii=False)
    issues = export.decode(f"{first}\n\n{json.dumps(GH)}\n".encode(), "issues.jsonl")
    assert [issue.body for issue in issues] == ["one\u2028line", "Here"]


def test_a_csv_is_read_with_line_ends_and_commas_in_its_cells() -> None:
    text = (
        'Number,title,body,labels,createdAt\r\n7,"It ""breaks""","a,\r\nb","bug, docs",2026-10-19 08:00:00\r\n,x,,,\r\n'
    )
    first, second = export.decode(text.encode("utf-8-sig"), "issues.csv")
    assert (first.number, first.title, first.body) == (7, 'It "breaks"', "a,\r\nb")
    assert (first.labels, first.created_at) == (("bug", "docs"), READ.created_at)
    assert second == ExportedIssue(title="x", body="")


def test_labels_with_commas_survive_a_csv_as_json_or_alone() -> None:
    text = 'title,label,labels\nx,"area: db,cache","[""bug"", ""area: db,cache""]"\n'
    assert export.parse(text, Kind.CSV)[0].labels == ("area: db,cache", "bug")


def test_what_a_file_does_not_say_is_not_made_up() -> None:
    [issue] = export.parse('[{"title": ".", "body": null, "author": null, "labels": null}]', Kind.JSON)
    assert issue == ExportedIssue(title=".")


@pytest.mark.parametrize(
    ("repo", "read"), [("o/r", "o/r"), ({"nameWithOwner": "o/r"}, "o/r"), ({"full_name": "o/r"}, "o/r"), (None, None)]
)
def test_the_repository_is_read_from_either_form(repo: object, read: str | None) -> None:
    assert export.parse(json.dumps([{"title": "x", "repository": repo}]), Kind.JSON)[0].repo == read


@pytest.mark.parametrize(
    ("name", "text", "kind"),
    [
        ("a.json", "[]", Kind.JSON),
        ("a.JSON", '{"title": "one line"}', Kind.JSON_LINES),
        ("a.json", "<html>", Kind.JSON),
        ("a.jsonl", "{}", Kind.JSON_LINES),
        ("a.ndjson", "[]", Kind.JSON),
        ("a.csv", "[]", Kind.CSV),
        ("a.CSV.gz", "[]", Kind.CSV),
        ("a.txt", "  [", Kind.JSON),
        ("export", "{", Kind.JSON_LINES),
        ("-", "title", Kind.CSV),
    ],
)
def test_the_name_tells_the_kind_and_else_the_content(name: str, text: str, kind: Kind) -> None:
    assert export.kind_of(name, text) is kind


@pytest.mark.parametrize(
    ("name", "data", "sentence"),
    [
        ("a.json", b"[{", r"a\.json is broken JSON \(.*\): export it with `gh issue list"),
        ("a.json", b"<html>", r"a\.json is broken JSON"),
        ("a.json", b"7", r"a\.json holds no list of issues: export"),
        ("a.json", b"[7]", r"a\.json, row 1 is no JSON object: export"),
        ("a.json", b"[]", r"a\.json holds no issues: export"),
        ("a.json", b'[{"body": "x"}]', r"a\.json, row 1 has no title: export"),
        ("a.json", b'[{"title": "x"}, {"title": null}]', r"a\.json, row 2 has no title"),
        ("a.json", b'[{"title": "x", "body": 7}]', r"row 1 has a body that is no text"),
        ("a.json", b'[{"title": "x", "labels": {}}]', None),
        ("a.json", b'[{"title": "x", "labels": 7}]', r"row 1 has labels that are no list"),
        ("a.json", b'[{"title": "x", "number": "seven"}]', r"row 1 has the number 'seven': give a whole number"),
        ("a.json", b'[{"title": "x", "number": true}]', r"row 1 has the number True"),
        ("a.json", b'[{"title": "x", "number": 0}]', r"row 1 has the number 0"),
        ("a.json", b'[{"title": "x", "createdAt": "soon"}]', r"row 1 was created at 'soon': give a time such as"),
        ("a.jsonl", b'{"title": "x"}\n{', r"a\.jsonl, row 2 is broken JSON"),
        ("a.csv", b"name,body\nx,y\n", r"a\.csv has no column named title \(it has: name, body\): export"),
        ("a.csv", b"", r"a\.csv has no column named title"),
        ("a.csv", b"title,body\nx\n", r"a\.csv, row 2 has 1 cells under 2 columns: put quotes"),
        ("a.csv", b'title\n"x', r"a\.csv is broken CSV"),
        ("a.csv", b"title,labels\nx,[bug\n", r"row 2 has broken JSON in its labels"),
        (
            "a.csv.gz",
            gzip.compress(b"title\nx\n", mtime=0)[:-9],
            r"a\.csv\.gz is broken gzip \(.*\): pack or copy it again",
        ),
        ("a.csv.gz", b"\x1f\x8bxxxxxxxxxxxxxxxxxxxx", r"a\.csv\.gz is broken gzip"),
        ("a.csv", "title\nm\u00fcde\n".encode("latin-1"), r"a\.csv is not UTF-8 \(byte 7\): save it as UTF-8"),
    ],
)
def test_what_is_wrong_is_told_with_its_place_and_its_mend(name: str, data: bytes, sentence: str | None) -> None:
    if sentence is None:
        assert export.decode(data, name)
        return
    with pytest.raises(Misconfigured, match=sentence) as told:
        export.decode(data, name)
    assert str(told.value).endswith(".")


def test_the_csv_module_is_left_as_it_was() -> None:
    before = csv.field_size_limit()
    export.parse(f"title,body\nx,{'y' * 300_000}\n", Kind.CSV)
    assert csv.field_size_limit() == before


@pytest.mark.skipif(not TRAIN.is_file(), reason="the issues of the NLBSE'24 competition are not beside this checkout")
def test_fifteen_hundred_real_issues_are_read_whole() -> None:
    issues = export.decode(TRAIN.read_bytes(), TRAIN.name)
    assert len(issues) == 1500
    assert set(Counter((issue.repo, issue.labels) for issue in issues).values()) == {100}
    bodies = [issue.body or "" for issue in issues]
    assert sum("\r\n" in body for body in bodies) == 1325
    assert sum(len(body) > 65_536 for body in bodies) == 2
    assert min(len(issue.title) for issue in issues) == 1
    assert all(issue.created_at for issue in issues)
