"""What the tests of the pure rooms share: the texts that ship, rendered as the program renders them."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import jinja2
import jinja2.sandbox
import pytest

from triagebot.core import comment
from triagebot.core.marker import Marker

_PROMPTS = Path(__file__).parents[2] / "prompts"


@pytest.fixture(scope="session")
def system_text() -> str:
    return (_PROMPTS / "system.md").read_text(encoding="utf-8")


@pytest.fixture(scope="session")
def comment_text() -> str:
    return (_PROMPTS / "comment.md.j2").read_text(encoding="utf-8")


@pytest.fixture(scope="session")
def template(comment_text: str) -> comment.Template:
    sandbox = jinja2.sandbox.SandboxedEnvironment(
        autoescape=False,  # the output is Markdown, and the values are inert before they get here
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=False,
        undefined=jinja2.StrictUndefined,
    )
    return sandbox.from_string(comment_text).render


@pytest.fixture
def mark() -> Marker:
    return Marker(date(2026, 10, 19), "0123456789abcdef")
