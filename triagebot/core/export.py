"""Issues out of a file that somebody exported: JSON as `gh issue list --json` gives it, JSON lines, or CSV.

Pure: bytes or text come in, records go out. Every complaint is one sentence that names the
file, the row, and the way out.
"""

from __future__ import annotations

import csv
import enum
import gzip
import io
import json
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from triagebot.core.faults import Misconfigured

_MEND = (
    "export it with `gh issue list --json number,title,body,labels,author,createdAt`, or give a CSV with a title column"
)
_COLUMNS = {
    name.casefold(): name for name in ("title", "body", "number", "createdAt", "created_at", "repo", "repository")
}
_COLUMNS |= {name: name for name in ("label", "labels", "author", "user")}
_LONGEST_CELL = 2**31 - 1  # bodies reach 65,536 characters and more; the csv module stops at 131,072 bytes


class Kind(enum.StrEnum):
    """How a file holds its issues."""

    JSON = "json"
    JSON_LINES = "jsonl"
    CSV = "csv"


@dataclass(frozen=True, kw_only=True, slots=True)
class ExportedIssue:
    """One issue as the file has it; text is not canonical yet. What a file does not say is `None` or empty."""

    title: str
    body: str | None = None
    number: int | None = None
    labels: tuple[str, ...] = ()
    author: str | None = None
    created_at: datetime | None = None
    repo: str | None = None


def decode(data: bytes, name: str) -> list[ExportedIssue]:
    """Parse a file's bytes; its name decides the kind, else its content. Raises `Misconfigured`."""
    text = _text(data, name)
    return parse(text, kind_of(name, text), name)


def decode_rows(data: bytes, name: str) -> list[tuple[int, ExportedIssue]]:
    """The same, each issue with its row, counted from 0 over all rows: pull requests are left out, and counted."""
    text = _text(data, name)
    return _numbered(text, kind_of(name, text), name)


def _text(data: bytes, name: str) -> str:
    try:
        return _unpacked(data, name).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Misconfigured(f"{name} is not UTF-8 (byte {error.start}): save it as UTF-8.") from error


def _unpacked(data: bytes, name: str) -> bytes:
    """By its first two bytes (RFC 1952), whatever the file is called."""
    if not data.startswith(b"\x1f\x8b"):
        return data
    try:
        return gzip.decompress(data)
    except (OSError, EOFError, zlib.error) as error:
        raise Misconfigured(f"{name} is broken gzip ({error}): pack or copy it again.") from error


def kind_of(name: str, text: str) -> Kind:
    """By the name's ending, else by how the content begins. JSON that begins with "{" is taken for JSON lines."""
    start = text.lstrip()[:1]
    ending = name.casefold().removesuffix(".gz").rpartition(".")[2]
    if ending == "csv" or (ending not in ("json", "jsonl", "ndjson") and start not in ("[", "{")):
        return Kind.CSV
    return Kind.JSON if start == "[" or (ending == "json" and start != "{") else Kind.JSON_LINES


def parse(text: str, kind: Kind, name: str = "the file") -> list[ExportedIssue]:
    """The issues of a file, in its order; pull requests, which GitHub's API lists among them, are left out.

    `name` is what complaints call the file. Line ends must be untouched (`newline=""`), for a CSV
    may hold them in its cells. Raises `Misconfigured`.
    """
    return [issue for _, issue in _numbered(text, kind, name)]


def _numbered(text: str, kind: Kind, name: str) -> list[tuple[int, ExportedIssue]]:
    rows = {Kind.JSON: _json_rows, Kind.JSON_LINES: _line_rows, Kind.CSV: _csv_rows}[kind]
    found = [
        (number, _issue(row, f"{name}, row {place}"))
        for number, (place, row) in enumerate(rows(text, name))
        if not _is_pull_request(row)
    ]
    if not found:
        raise Misconfigured(f"{name} holds no issues: {_MEND}.")
    return found


def _is_pull_request(row: Mapping[str, Any]) -> bool:
    """GitHub's API gives `pull_request`, some exports a flag, which a CSV can only hold as a word."""
    flag = row.get("is_pr")
    told = flag.strip().casefold() not in ("", "0", "false", "no") if isinstance(flag, str) else bool(flag)
    return told or bool(row.get("pull_request"))


def _json_rows(text: str, name: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    try:
        rows = json.loads(text)
    except ValueError as error:
        raise Misconfigured(f"{name} is broken JSON ({error}): {_MEND}.") from error
    if not isinstance(rows, list):
        raise Misconfigured(f"{name} holds no list of issues: {_MEND}.")
    for place, row in enumerate(rows, start=1):
        yield place, _object(row, f"{name}, row {place}")


def _line_rows(text: str, name: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    # Only LF ends a line: a JSON string may hold U+2028 as it is, at which splitlines() would cut.
    for place, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except ValueError as error:
            raise Misconfigured(f"{name}, row {place} is broken JSON ({error}): {_MEND}.") from error
        yield place, _object(row, f"{name}, row {place}")


def _object(row: object, where: str) -> Mapping[str, Any]:
    if not isinstance(row, dict):
        raise Misconfigured(f"{where} is no JSON object: {_MEND}.")
    return row


def _csv_rows(text: str, name: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    table = _table(text, name)
    heads = [_COLUMNS.get(head.strip().casefold(), head) for head in (table[0] if table else ())]
    if "title" not in heads:
        raise Misconfigured(f"{name} has no column named title (it has: {', '.join(heads)[:200]}): {_MEND}.")
    for place, cells in enumerate(table[1:], start=2):
        if len(cells) != len(heads):
            found = f"{len(cells)} cells under {len(heads)} columns"
            raise Misconfigured(f"{name}, row {place} has {found}: put quotes round cells that hold a comma.")
        row = dict(zip(heads, cells, strict=True))
        yield place, {head: cell for head, cell in row.items() if cell or head in ("title", "body")}


def _table(text: str, name: str) -> list[list[str]]:
    """All rows at once: the module's limit belongs to the process, and is put back before anybody else reads."""
    before = csv.field_size_limit(_LONGEST_CELL)
    try:
        return [cells for cells in csv.reader(io.StringIO(text, newline=""), strict=True) if cells]
    except csv.Error as error:
        raise Misconfigured(f"{name} is broken CSV ({error}): {_MEND}.") from error
    finally:
        csv.field_size_limit(before)


def _issue(row: Mapping[str, Any], where: str) -> ExportedIssue:
    title, body = row.get("title"), row.get("body")
    if not isinstance(title, str):
        raise Misconfigured(f"{where} has no title: {_MEND}.")
    if not isinstance(body, str | None):
        raise Misconfigured(f"{where} has a body that is no text: {_MEND}.")
    return ExportedIssue(
        title=title,
        body=body,
        number=_number(row.get("number"), where),
        labels=_labels(row, where),
        author=_named(row.get("author") or row.get("user"), "login"),
        created_at=_time(row.get("createdAt") or row.get("created_at"), where),
        repo=_named(row.get("repo") or row.get("repository"), "nameWithOwner", "full_name"),
    )


def _number(value: object, where: str) -> int | None:
    if value is None:
        return None
    if isinstance(value, bool) or not str(value).strip().isdecimal() or int(str(value)) < 1:
        raise Misconfigured(f"{where} has the number {value!r}: give a whole number from 1, or leave it out.")
    return int(str(value))


def _labels(row: Mapping[str, Any], where: str) -> tuple[str, ...]:
    """`label` is one name; `labels` a list of names or objects, in a CSV as JSON or with commas between."""
    several = row.get("labels") or []
    if isinstance(several, str):
        several = _from_cell(several, where)
    if not isinstance(several, list):
        raise Misconfigured(f"{where} has labels that are no list: {_MEND}.")
    names = [_named(each, "name") for each in (row.get("label"), *several)]
    return tuple(dict.fromkeys(name.strip() for name in names if name and name.strip()))


def _from_cell(cell: str, where: str) -> Iterable[object]:
    if not cell.lstrip().startswith("["):
        return cell.split(",")
    try:
        return json.loads(cell)  # type: ignore[no-any-return]
    except ValueError as error:
        raise Misconfigured(
            f"{where} has broken JSON in its labels ({error}): put names there, with commas between."
        ) from error


def _named(value: object, *keys: str) -> str | None:
    """A name, or the name in an object."""
    if isinstance(value, dict):
        value = next((value[key] for key in keys if value.get(key)), None)
    return value if isinstance(value, str) and value else None


def _time(value: object, where: str) -> datetime | None:
    if value is None:
        return None
    try:
        at = datetime.fromisoformat(str(value).strip())
    except ValueError as error:
        raise Misconfigured(f"{where} was created at {value!r}: give a time such as 2026-10-19T08:00:00Z.") from error
    return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
