"""Issues to serve: the ones that come with triagebot, or a file of somebody's own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from importlib import resources
from pathlib import Path

from triagebot.core import export
from triagebot.core.export import ExportedIssue
from triagebot.core.faults import Misconfigured
from triagebot.sandbox.repository import Repository

LABELS = {
    "bug": "Something is broken",
    "documentation": "The docs are wrong or missing",
    "enhancement": "A wish for something new",
    "performance": "It works, but slowly",
    "question": "Somebody asks how",
}
"""The labels of the imaginary project that the sample issues are about, and what they mean."""

NEWEST = timedelta(hours=2)  # older than any sensible `wait`, far younger than any `horizon`


def samples() -> list[ExportedIssue]:
    """The issues that come with triagebot, of an imaginary project."""
    return export.decode(resources.files(__package__).joinpath("issues.jsonl").read_bytes(), "issues.jsonl")


def load_issues(path: Path) -> list[ExportedIssue]:
    """The issues in a JSON, JSON lines or CSV file. Raises `Misconfigured`, in a sentence for people."""
    try:
        return export.decode(path.read_bytes(), str(path))
    except OSError as error:
        raise Misconfigured(f"{path} cannot be read ({error.strerror}): give a file of issues.") from error


def recent(issues: Sequence[ExportedIssue], now: datetime) -> list[ExportedIssue]:
    """The same issues, the newest two hours old, the others as much older as they were; undated ones two hours old."""
    newest = max((issue.created_at for issue in issues if issue.created_at), default=now)
    shift = now - NEWEST - newest
    return [replace(issue, created_at=(issue.created_at or newest) + shift) for issue in issues]


def fill(
    repo: Repository, issues: Sequence[ExportedIssue], *, keep_labels: bool = False, renumber: bool = False
) -> None:
    """Open the issues in `repo`. Their labels join its label set; they are put on the issues only by `keep_labels`.

    `renumber` numbers them 1, 2, 3 ... in the order of the file, as do files that give no numbers.
    """
    known = {label.name.casefold() for label in repo.labels()}
    names = {name.casefold(): name for issue in issues for name in issue.labels}
    for name in sorted(names[key] for key in names.keys() - known):
        repo.add_label(name)
    for issue in issues:
        repo.open_issue(
            title=issue.title,
            body=issue.body,
            author=issue.author or "someone",
            created_at=issue.created_at or repo.hub.now() - NEWEST,
            labels=issue.labels if keep_labels else (),
            number=None if renumber else issue.number,
        )
