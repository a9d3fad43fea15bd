"""Texts are files: found where the package is installed, filled without a gap."""

from __future__ import annotations

from pathlib import Path

import jinja2
import pytest

import triagebot
from triagebot.cli import texts
from triagebot.core.faults import Misconfigured


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An installation of the package without prompts; returns the package's folder."""
    package = tmp_path / "site" / "triagebot"
    package.mkdir(parents=True)
    monkeypatch.setattr(texts.resources, "files", lambda name: package)
    return package


def _put(folder: Path, name: str, text: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(text, encoding="utf-8")


def test_the_checkout_has_the_texts() -> None:
    folder = Path(triagebot.__file__).parents[1] / "prompts"
    assert texts.system_prompt() == (folder / "system.md").read_text(encoding="utf-8")


def test_a_wheel_carries_the_texts_inside_the_package(installed: Path) -> None:
    """A folder of that name beside the package is somebody else's then."""
    _put(installed / "prompts", "system.md", "ours ü")
    _put(installed.parent / "prompts", "system.md", "theirs")
    assert texts.system_prompt() == "ours ü"


def test_a_checkout_has_them_beside_the_package(installed: Path) -> None:
    _put(installed.parent / "prompts", "system.md", "ours")
    assert texts.system_prompt() == "ours"


def test_a_missing_text_is_told(installed: Path) -> None:
    with pytest.raises(Misconfigured, match=r"prompts/system\.md is missing from this installation"):
        texts.system_prompt()


def test_the_comment_is_a_function_of_its_values(installed: Path) -> None:
    _put(
        installed / "prompts", "comment.md.j2", "{% for label in labels %}\n- {{ label }}\n{% endfor %}\n{{ words }}\n"
    )
    assert texts.comment_template()({"labels": ["a", "b"], "words": "<b> & {{ x }}"}) == "- a\n- b\n<b> & {{ x }}"


def test_a_value_that_is_missing_is_an_error_not_a_gap(installed: Path) -> None:
    _put(installed / "prompts", "comment.md.j2", "{{ labels }}")
    with pytest.raises(jinja2.UndefinedError):
        texts.comment_template()({})


def test_a_template_reaches_nothing_but_its_values(installed: Path) -> None:
    _put(installed / "prompts", "comment.md.j2", "{{ words.__class__.__mro__ }}{{ words.append(1) }}")
    with pytest.raises(jinja2.exceptions.SecurityError):
        texts.comment_template()({"words": []})
