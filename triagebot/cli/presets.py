"""Where the model is served, as `init` knows it: what each choice needs in the settings, the job and the keys."""

from __future__ import annotations

import enum
from dataclasses import dataclass


class Preset(enum.StrEnum):
    """The endpoints that `init` has words for. `local` is the classifier, which needs none."""

    OPENAI = "openai"
    OLLAMA = "ollama"
    LOCAL = "local"
    OTHER = "other"


@dataclass(frozen=True, kw_only=True, slots=True)
class Serving:
    """One choice. `url` and `model` `None` have no sensible default and must be told."""

    what: str
    """For people, in the settings and in the job."""
    url: str | None
    """The endpoint; empty is the program's own default, or none at all."""
    model: str | None
    """A model that this endpoint is likely to serve. Names come and go: it is a proposal, in a file to be edited."""
    key: bool
    """Whether the endpoint may ask for a key."""
    extras: str = ""
    """What triagebot is installed with."""
    runner: str = "ubuntu-latest"
    """Where the job runs."""


SERVINGS = {
    Preset.OPENAI: Serving(what="OpenAI", url="", model="gpt-5-mini", key=True),
    # A hosted runner cannot reach the machine that Ollama runs on.
    Preset.OLLAMA: Serving(
        what="Ollama", url="http://127.0.0.1:11434/v1", model="qwen3:8b", key=False, runner="self-hosted"
    ),
    Preset.LOCAL: Serving(
        what="the classifier that learns from your labelled issues", url="", model="local", key=False, extras="local"
    ),
    Preset.OTHER: Serving(what="an OpenAI-compatible server", url=None, model=None, key=True),
}
