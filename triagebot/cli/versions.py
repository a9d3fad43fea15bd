"""Which versions are at work: the first thing a bug report needs."""

from __future__ import annotations

import platform
import sqlite3
from importlib import metadata

import triagebot

_LIBRARIES = ("PyGithub", "openai", "tenacity", "typer", "rich", "jinja2", "pyyaml", "pydantic")


def line() -> str:
    """`triagebot 0.1.0, Python 3.11.7, SQLite 3.40.1, PyGithub 2.10.0, ...`."""
    program = f"triagebot {triagebot.__version__}, Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}"
    return ", ".join([program, *(f"{name} {_version(name)}" for name in _LIBRARIES)])


def _version(library: str) -> str:
    try:
        return metadata.version(library)
    except metadata.PackageNotFoundError:
        return "(not found)"
