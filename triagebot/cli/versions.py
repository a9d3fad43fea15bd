"""Which versions are at work: the first thing a bug report needs."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import sys

import triagebot

_LIBRARIES = ("PyGithub", "openai", "tenacity", "typer", "rich", "jinja2", "pyyaml", "pydantic")


def line() -> str:
    """`triagebot 0.1.0, Python 3.11.7, SQLite 3.40.1, PyGithub 2.10.0, ...`."""
    python, installed = sys.version.split()[0], _installed()
    program = f"triagebot {triagebot.__version__}, Python {python}, SQLite {sqlite3.sqlite_version}"
    return ", ".join([program, *(f"{name} {installed.get(name.lower()) or _version(name)}" for name in _LIBRARIES)])


def _installed() -> dict[str, str]:
    """Versions by name in lower case, as installers put both into the name of a folder.

    importlib.metadata knows the same: to import and ask it takes 40 ms, twice the whole start of `--version`.
    """
    found: dict[str, str] = {}
    for folder in sys.path:
        with contextlib.suppress(OSError):
            for entry in os.listdir(folder or "."):
                name, _, version = entry.removesuffix(".dist-info").partition("-")
                if entry.endswith(".dist-info"):
                    found.setdefault(name.lower(), version)
    return found


def _version(library: str) -> str:
    """Asked where the folders' names do not tell, as with what a distribution packaged."""
    try:
        from importlib import metadata

        return metadata.version(library)
    except (ImportError, OSError):  # not installed, or no file can be opened
        return "(not found)"
