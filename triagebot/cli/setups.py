"""The files of a set-up, from templates: settings and a workflow, or settings, an environment and crontab lines."""

from __future__ import annotations

import json
import shlex
import sys
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

import jinja2

import triagebot
from triagebot.cli import config
from triagebot.cli.presets import Serving
from triagebot.cli.terminal import plain
from triagebot.core import policy
from triagebot.core.faults import Misconfigured
from triagebot.core.issue import Label

WORKFLOW = Path(".github/workflows/triagebot.yml")
ENVIRONMENT = Path("triagebot.env")
CRONTAB = Path("triagebot.crontab")

_NOWHERE = ("OWNER/triagebot", "0" * 40)
"""Stands where nobody said where triagebot's own repository is: a job that names it fails at once, and says so."""


_CARRIED = (
    "GITHUB_TOKEN",
    "TRIAGEBOT_APP_ID",
    "TRIAGEBOT_APP_PRIVATE_KEY",
    "GITHUB_API_URL",
    "HTTPS_PROXY",
    "NO_PROXY",
    "SSL_CERT_FILE",
    "OPENAI_API_KEY",
    "TRIAGEBOT_LEDGER",
)
"""Variables whose values go from the shell that `init` is called in to the file that cron reads."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """What was settled: all that the files are made from."""

    repo: str
    serving: Serving
    url: str
    """The endpoint; empty is the program's own default, or none at all."""
    model: str
    labels: Sequence[Label] = ()
    source: tuple[str, str] | None = None
    """OWNER/NAME and commit that the workflow takes triagebot from."""


@dataclass(frozen=True, kw_only=True, slots=True)
class File:
    """A file to be, under the current folder."""

    path: Path
    text: str
    mode: int = 0o644


def for_actions(plan: Plan) -> tuple[File, ...]:
    """The settings and the workflow."""
    name, commit = plan.source or _NOWHERE
    first, second, _ = _slots(plan.repo)
    workflow = _render(
        "workflow.yml.j2",
        repo=plan.repo,
        first=first,
        second=second,
        runner=plan.serving.runner,
        extras=plan.serving.extras,
        url=plan.url and json.dumps(plan.url),
        key=plan.serving.key,
        known=plan.source is not None,
        action=f"{name}/.github/actions/triage@{commit}",
        version=triagebot.__version__,
    )
    return _settings(plan), File(path=WORKFLOW, text=workflow)


def for_cron(plan: Plan, environ: Mapping[str, str], folder: Path) -> tuple[File, ...]:
    """The settings, the environment with what of it is set in `environ`, and the lines for the crontab."""
    if not str(folder).isprintable():
        raise Misconfigured("this folder's name cannot stand in a crontab; run `triagebot init --cron` in another one.")
    variables = _render(
        "env.j2",
        repo=plan.repo,
        env_name=ENVIRONMENT,
        what=plan.serving.what,
        url=_quoted(plan.url),
        key=plan.serving.key,
        given={name: _quoted(environ.get(name, "").strip()) for name in _CARRIED},
    )
    first, second, third = _slots(plan.repo)
    lines = _render(
        "crontab.j2",
        repo=plan.repo,
        place=_for_cron(folder / CRONTAB),
        first=first,
        second=second,
        third=third,
        night=_cron_command(folder, "run", ">> triagebot.log 2>&1"),
        alarm=_cron_command(folder, f"status --repo {plan.repo} --max-age 26h", "> /dev/null"),
    )
    return _settings(plan), File(path=ENVIRONMENT, text=variables, mode=0o600), File(path=CRONTAB, text=lines)


def cron_lines(files: Sequence[File]) -> list[str]:
    """The lines of the crontab among `files`, without its comments."""
    return [
        line for file in files if file.path == CRONTAB for line in file.text.splitlines() if not line.startswith("#")
    ]


def _quoted(value: str) -> str:
    """A value for a shell; none stays none, which counts as unset."""
    return value and shlex.quote(value)


def _settings(plan: Plan) -> File:
    usable = {label.name for label in policy.usable(config.Config().label_policy(), plan.labels)}
    width = max((len(plain(label.name)) for label in plan.labels), default=0)
    text = _render(
        "config.yml.j2",
        repo=plan.repo,
        deny=json.dumps(config.Labels().deny),
        model=json.dumps(plan.model, ensure_ascii=False),
        what=plan.serving.what,
        labels=[
            {
                "name": plain(label.name).ljust(width if label.description else 0),
                "description": plain(label.description),
                "usable": label.name in usable,
            }
            for label in plan.labels
        ],
    )
    return File(path=config.DEFAULT, text=text)


def _slots(repo: str) -> tuple[str, str, str]:
    """Two hours at night and one in the morning, off the full hour; each repository has minutes of its own."""
    minute = 11 + zlib.crc32(repo.casefold().encode()) % 38
    return f"{minute} 2 * * *", f"{minute} 5 * * *", f"{minute} 8 * * *"


def _cron_command(folder: Path, words: str, rest: str) -> str:
    """A shell's line that needs nothing of cron's own small environment."""
    program = shlex.join([sys.executable, "-m", "triagebot"])
    load = f"cd {shlex.quote(str(folder))} && umask 077 && set -a && . ./{ENVIRONMENT}"
    return _for_cron(f"{load} && exec {program} {words} {rest}")


def _for_cron(command: object) -> str:
    """cron takes a `%` for the end of the command (crontab(5))."""
    return str(command).replace("%", "\\%")


def _render(name: str, **values: object) -> str:
    """Fill a template. Its marks are `<<` and `<%`: `{{` belongs to GitHub's own expressions."""
    environment = jinja2.Environment(
        variable_start_string="<<",
        variable_end_string=">>",
        block_start_string="<%",
        block_end_string="%>",
        comment_start_string="<#",
        comment_end_string="#>",
        undefined=jinja2.StrictUndefined,
        autoescape=False,  # noqa: S701 - no HTML; each value is quoted for the file that it goes into
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    text = resources.files("triagebot.cli").joinpath("templates", name).read_text(encoding="utf-8")
    return environment.from_string(text).render(values)
