"""Which repository a folder belongs to, and where this triagebot was taken from. Asks git and pip's own papers."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from importlib import metadata
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

_COMMIT = re.compile(r"[0-9a-f]{40}")
_REMOTE = re.compile(
    r"(?:(?:git\+)?https://(?:[^/@]+@)?|(?:git\+)?ssh://git@|git@)github\.com[/:]"
    r"([A-Za-z0-9][A-Za-z0-9_-]*/[A-Za-z0-9._-]+?)(?:\.git)?/?"
)


def repository(folder: Path) -> str | None:
    """OWNER/NAME of the GitHub repository that `folder` is a clone of; `None` where that cannot be told."""
    return named(_git(folder, "remote", "get-url", "origin") or "")


def is_tracked(folder: Path) -> bool:
    """Whether what is written to `folder` could be committed."""
    return any((above / ".git").exists() for above in (folder, *folder.parents))


def program() -> tuple[str, str] | None:
    """(OWNER/NAME, commit) that this program was installed from, by pip from GitHub or from a clone."""
    try:
        paper = metadata.distribution("triagebot").read_text("direct_url.json")  # PEP 610
    except metadata.PackageNotFoundError:
        return None
    told = json.loads(paper or "{}")
    address = str(told.get("url", ""))
    if address.startswith("file:"):
        folder = Path(url2pathname(urlsplit(address).path))
        return _source(repository(folder), _git(folder, "rev-parse", "HEAD"))
    return _source(named(address), told.get("vcs_info", {}).get("commit_id"))


def _source(name: str | None, commit: str | None) -> tuple[str, str] | None:
    return (name, commit) if name and commit and _COMMIT.fullmatch(commit) else None


def named(address: str) -> str | None:
    """OWNER/NAME in the address of a remote on github.com."""
    found = _REMOTE.fullmatch(address)
    return found[1] if found else None


def _git(folder: Path, *words: str) -> str | None:
    """What git says of `folder`; `None` where there is no git, no such folder or no answer."""
    git = shutil.which("git")
    if git is None or not folder.is_dir():
        return None
    # No word of these comes from outside but the folder, which is an argument of its own.
    told = subprocess.run(  # noqa: S603
        [git, "-C", str(folder), *words], capture_output=True, text=True, check=False, timeout=10
    )
    return told.stdout.strip() if told.returncode == 0 else None
