"""The texts that triagebot speaks with: files in `prompts/`, found in a wheel as well as in a checkout."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import resources
from pathlib import Path

import jinja2
from jinja2.sandbox import ImmutableSandboxedEnvironment

from triagebot.core.faults import Misconfigured

Template = Callable[[Mapping[str, object]], str]


def system_prompt() -> str:
    """The instruction to the model. Raises `Misconfigured` where the installation lacks it."""
    return _read("system.md")


def comment_template() -> Template:
    """The comment's words as a function of its values.

    A value that the template names and does not get is an error, never an empty place in
    a public comment. Nothing is escaped here: the values come neutralised for Markdown.
    """
    environment = ImmutableSandboxedEnvironment(
        undefined=jinja2.StrictUndefined,
        autoescape=False,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    template = environment.from_string(_read("comment.md.j2"))

    def render(values: Mapping[str, object]) -> str:
        return template.render(values)

    return render


def _read(name: str) -> str:
    """The wheel carries the folder inside the package, a checkout beside it."""
    package = resources.files("triagebot")
    for folder in (package / "prompts", Path(str(package)).parent / "prompts"):
        file = folder / name
        if file.is_file():
            return file.read_text(encoding="utf-8")
    raise Misconfigured(f"prompts/{name} is missing from this installation; install triagebot again.")
