"""The issues that come with triagebot, and files of somebody's own, as a served repository."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from triagebot.core.export import ExportedIssue
from triagebot.core.faults import Misconfigured
from triagebot.sandbox import samples
from triagebot.sandbox.hub import Hub
from triagebot.sandbox.repository import Repository

NOW = datetime(2027, 3, 1, 12, tzinfo=UTC)


def test_the_samples_are_as_varied_as_real_issues() -> None:
    issues = samples.samples()
    bodies = [issue.body or "" for issue in issues]
    assert [issue.number for issue in issues] == [*range(1, 25)]
    assert any(issue.body is None for issue in issues)
    assert "." in [issue.title for issue in issues]
    assert max(map(len, bodies)) > 40_000
    for part in ("_No response_", "Traceback", "<!--", "\r\n", "\0", "@", "SYSTEM:", "「", "البحث", "Olá"):
        assert any(part in body for body in bodies), part


def test_served_samples_are_recent_and_keep_their_distances(hub: Hub) -> None:
    hub.now = lambda: NOW
    repo = hub.create_repository("octo/lantern")
    before = samples.samples()
    samples.fill(repo, samples.recent(before, hub.now()))
    issues = repo.issues()
    assert max(issue.created_at for issue in issues) == NOW - timedelta(hours=2)
    assert min(issue.created_at for issue in issues) > NOW - timedelta(days=30)
    assert issues[-1].created_at - issues[0].created_at == before[-1].created_at - before[0].created_at
    assert issues[4].body is None


def test_labels_join_the_repository_but_not_the_issues_unless_asked(hub: Hub) -> None:
    exported = [ExportedIssue(title="a", labels=("Bug", "new")), ExportedIssue(title="b", labels=("NEW",))]
    for keep, shown in ((False, []), (True, ["bug", "new"])):
        repo = hub.create_repository(f"octo/keep-{keep}", labels=["bug"])
        samples.fill(repo, exported, keep_labels=keep)
        assert repo.issue(1).labels == [name if name != "new" else repo.labels()[1].name for name in shown]
        assert [label.name.casefold() for label in repo.labels()] == ["bug", "new"]


def test_undated_issues_are_hours_old_and_numbers_can_be_new(repo: Repository, hub: Hub) -> None:
    hub.now = lambda: NOW
    samples.fill(repo, [ExportedIssue(title="a", number=70), ExportedIssue(title="b", number=7)], renumber=True)
    assert [(issue.number, issue.title) for issue in repo.issues()] == [(1, "a"), (2, "b")]
    assert repo.issue(1).created_at == NOW - timedelta(hours=2)
    assert samples.recent([ExportedIssue(title="a")], NOW)[0].created_at == NOW - timedelta(hours=2)


def test_a_file_of_ones_own(tmp_path: Path) -> None:
    file = tmp_path / "mine.json"
    file.write_text(json.dumps([{"title": "Mine"}]))
    assert samples.load_issues(file) == [ExportedIssue(title="Mine")]
    with pytest.raises(Misconfigured, match=r"none\.csv cannot be read \(No such file"):
        samples.load_issues(tmp_path / "none.csv")
