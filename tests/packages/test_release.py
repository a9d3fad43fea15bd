"""The release workflow: one job may sign and publish, it holds no token, and the tag is the version."""

from __future__ import annotations

import ast
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

import triagebot

ROOT = Path(__file__).parents[2]
PAPER = (ROOT / ".github" / "workflows" / "release.yml").read_text(encoding="utf-8")
JOBS: dict[str, Any] = yaml.safe_load(PAPER)["jobs"]


def test_only_the_job_that_publishes_may_ask_for_an_identity() -> None:
    assert yaml.safe_load(PAPER)["permissions"] == {}
    assert JOBS["build"]["permissions"] == {"contents": "read"}
    assert JOBS["publish"]["permissions"] == {"id-token": "write", "attestations": "write"}


def test_the_job_that_publishes_runs_nothing_of_ours_and_is_told_no_secret() -> None:
    assert all("run" not in step for step in JOBS["publish"]["steps"])
    assert "secrets." not in PAPER
    assert "password" not in PAPER


def test_every_action_is_named_by_its_commit() -> None:
    uses = [step["uses"] for job in JOBS.values() for step in job["steps"] if "uses" in step]
    assert len(uses) >= 6
    assert [name for name in uses if not re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40}", name)] == []


@pytest.mark.parametrize(
    ("tag", "entry", "code"),
    [("v1.2.3", "1.2.3", 0), ("v1.2.4", "1.2.3", 1), ("1.2.3", "1.2.3", 0), ("v1.2.3", "1.2.2", 1), ("v", "1.2.3", 1)],
)
def test_a_tag_that_is_not_the_version_ends_the_release(tag: str, entry: str, code: int, tmp_path: Path) -> None:
    for name in ("dist/triagebot-1.2.3-py3-none-any.whl", "dist/triagebot-1.2.3.tar.gz", ".github/CHANGELOG.md"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(f"## [{entry}]\n", encoding="utf-8")
    [script] = [step["run"] for step in JOBS["build"]["steps"] if step.get("name") == "The tag is the version"]
    words = ["bash", "-e", "-c", script]
    done = subprocess.run(
        words, cwd=tmp_path, env=os.environ | {"GITHUB_REF_NAME": tag}, capture_output=True, check=False
    )
    assert done.returncode == code, done.stderr


def test_the_version_is_written_in_one_place_and_has_its_entry_among_the_changes() -> None:
    source = ast.parse((ROOT / "triagebot" / "__init__.py").read_text(encoding="utf-8"))
    assigned = [node.targets[0] for node in source.body if isinstance(node, ast.Assign)]
    assert [each.id for each in assigned if isinstance(each, ast.Name)] == ["__version__"]
    assert 'dynamic = ["version"]' in (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    elsewhere = [
        path for path in (ROOT / "triagebot").rglob("*.py") if f'"{triagebot.__version__}"' in path.read_text()
    ]
    assert elsewhere == [ROOT / "triagebot" / "__init__.py"]
    changes = (ROOT / ".github" / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"\n## [{triagebot.__version__}]" in changes
