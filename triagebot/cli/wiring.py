"""The one place where parts are built and joined. Constructors store arguments; what is opened here is closed here."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from triagebot.cli import accounts, texts
from triagebot.cli import config as configs
from triagebot.cli.config import Config
from triagebot.cli.environment import Environment
from triagebot.core import export, prompt, selection
from triagebot.core.faults import Misconfigured
from triagebot.core.prompt import Question
from triagebot.core.selection import Select
from triagebot.core.verdict import Reply
from triagebot.model.endpoint import Endpoint
from triagebot.nightly.ports import Model
from triagebot.nightly.rehearsal import DryRun, FromFile, numbered
from triagebot.nightly.settings import Budget, Learning, Pace, Settings, Texts, Use
from triagebot.nightly.stop import Stop

if TYPE_CHECKING:
    from triagebot.github.tracker import GitHubTracker
    from triagebot.model.client import OpenAIModel

HTTP_TIMEOUT = 15
"""Seconds for one request to GitHub: a little more than the 10 s after which GitHub itself gives up."""

_UNPACED = Pace(settle=0.0, per_second=None, per_hour=None)
_OPENAI_HOST = "https://api.openai.com"


@dataclass(frozen=True, kw_only=True, slots=True)
class Choices:
    """What the command line was told; `None` leaves it to the environment and the file.

    `repo` is the one of a command that works on one; `repos` and `orgs` are those of a command that can on many.
    """

    repo: str | None = None
    repos: tuple[str, ...] = ()
    orgs: tuple[str, ...] = ()
    issues: tuple[int, ...] = ()
    limit: int | None = None
    workers: int | None = None
    deadline: float | None = None
    config: Path | None = None
    source: Path | None = None
    history: Path | None = None
    dry_run: bool = False
    again: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Output:
    """How the command speaks: JSON on stdout or lines for people, and how much on stderr."""

    json: bool = False
    verbose: bool = False


def settings(config: Config, env: Environment, choices: Choices) -> Settings:
    """Flags beat the file. `--from` ignores `select` and `per_author`; a dry run needs no pace."""
    dry = choices.dry_run or choices.source is not None
    return Settings(
        texts=Texts(system=texts.system_prompt(), comment=texts.comment_template(), secrets=env.secrets),
        labels=config.label_policy(),
        comments=config.comment,
        select=_select(config, choices),
        budget=_budget(config, choices),
        pace=_UNPACED if dry else _pace(config),
        workers=choices.workers or config.workers,
        deadline=config.deadline if choices.deadline is None else choices.deadline,
        lease=config.lease,
        input_chars=config.model.input_chars,
        learning=_learning(config, env, choices),
    )


def _learning(config: Config, env: Environment, choices: Choices) -> Learning:
    """An index of a file is never brought up to date, and issues from a file have no repository to read."""
    chosen = config.history
    return Learning(
        use=Use(chosen.use),
        examples=chosen.examples,
        limit=chosen.limit,
        model=env.model or config.model.name or "",
        prompt=prompt.version(texts.system_prompt()),
        follow=choices.history is None and choices.source is None,
    )


def _select(config: Config, choices: Choices) -> Select:
    if choices.source is not None:
        return selection.EVERYTHING
    chosen, horizon = config.select, config.select.horizon
    ignores_age = horizon is None or bool(choices.issues)
    return Select(
        skip_labelled=chosen.labelled == "skip",
        skip_bots=chosen.bots == "skip",
        wait=timedelta(seconds=chosen.wait),
        horizon=None if ignores_age else timedelta(seconds=horizon or 0.0),
    )


def _budget(config: Config, choices: Choices) -> Budget:
    chosen = config.budget
    budget = Budget(
        issues=chosen.issues,
        calls=chosen.calls,
        tokens=chosen.tokens,
        usd=chosen.usd,
        per_author=chosen.per_author,
        price_in=config.model.price.input,
        price_out=config.model.price.output,
    )
    if choices.limit is not None:
        budget = replace(budget, issues=choices.limit, calls=choices.limit)
    return replace(budget, per_author=None) if choices.source is not None else budget


def _pace(config: Config) -> Pace:
    chosen = config.delivery
    return Pace(settle=chosen.settle, per_second=chosen.per_second, per_hour=chosen.per_hour)


def repositories(config: Config, env: Environment, choices: Choices) -> list[str]:
    """The repositories asked for, each once: the flags', else the file's, else GITHUB_REPOSITORY.

    That variable is no setting of ours: Actions always says with it where a workflow lies. So it is a default for
    those who name none, and does not beat a list that somebody has written. Looks the repositories of `orgs` up.
    """
    named = choices.repos or ((choices.repo,) if choices.repo else ())
    found = [*named]
    for org in choices.orgs:
        found += accounts.of_owner(env, org, timeout=HTTP_TIMEOUT)
    if not found:
        found = [*config.repos] or ([env.github_repository] if env.github_repository else [])
    if not found:
        raise Misconfigured("no repository is named: give --repo OWNER/NAME or set GITHUB_REPOSITORY.")
    return [*{name.casefold(): name for name in reversed(found)}.values()][::-1]


def repository(config: Config, env: Environment, choices: Choices) -> str:
    """The one repository asked for. Raises `Misconfigured` where the file names several and no flag one of them."""
    names = repositories(config, env, choices)
    if len(names) > 1:
        raise Misconfigured(
            f"repos in the settings names {len(names)} repositories: say with --repo which one is meant."
        )
    return names[0]


def tracker(config: Config, env: Environment, choices: Choices) -> GitHubTracker:
    """The real tracker, which can write."""
    from triagebot.github.tracker import GitHubTracker

    name = repository(config, env, choices)
    return GitHubTracker(
        base_url=env.github_api_url,
        token=accounts.credential(env, name, timeout=HTTP_TIMEOUT),
        repo=name,
        also=frozenset(config.identity.also),
        timeout=HTTP_TIMEOUT,
        ca=accounts.trusted(env),
    )


def from_file(env: Environment, choices: Choices, source: Path) -> DryRun:
    """An export of issues in place of GitHub; always a dry run."""
    issues = numbered(export.decode(_bytes(source), source.name), source.name)
    name = (*choices.repos, choices.repo or env.github_repository or "OWNER/NAME")[0]
    names = {number: issue.repo or name for number, issue in issues.items()}
    return DryRun(FromFile(issues, name), env.github_api_url, names)


def _bytes(source: Path) -> bytes:
    try:
        return source.read_bytes()
    except OSError as error:
        raise Misconfigured(f"--from {source} cannot be read: {error.strerror}.") from error


@contextmanager
def model(config: Config, env: Environment, stop: Stop) -> Iterator[Model]:
    """The endpoint that is asked. Raises `Misconfigured` where the model or a key is not named."""
    asked = endpoint(config, env)
    client = AtFirstQuestion(lambda: _client(asked, stop))
    try:
        yield client
    finally:
        client.close()


def endpoint(config: Config, env: Environment) -> Endpoint:
    """Where the model is. Raises `Misconfigured` where it or a key is not named."""
    name, asked = env.model or config.model.name, config.model
    if name is None:
        raise Misconfigured("no model is named: set TRIAGEBOT_MODEL or model.name in the config.")
    if env.openai_api_key is None and env.openai_base_url.startswith(_OPENAI_HOST):
        raise Misconfigured(
            "OPENAI_API_KEY is not set: give a key, or set OPENAI_BASE_URL to a server that needs none."
        )
    return Endpoint(
        name=name,
        base_url=env.openai_base_url,
        api_key=env.openai_api_key or "",
        temperature=asked.temperature,
        timeout=asked.timeout,
        deadline=asked.deadline,
        attempts=asked.attempts,
        max_output_tokens=asked.max_output_tokens,
    )


def _client(endpoint: Endpoint, stop: Stop) -> OpenAIModel:
    from triagebot.model.client import OpenAIModel

    return OpenAIModel(endpoint, sleep=_until(stop), stopping=lambda: stop.asked)


class AtFirstQuestion:
    """A model that is built when it is first asked: most nights ask nothing, and openai takes 0.7 s to import."""

    def __init__(self, build: Callable[[], OpenAIModel]) -> None:
        self._build = build
        self._built: OpenAIModel | None = None
        self._lock = threading.Lock()

    def ask(self, question: Question) -> Reply:
        with self._lock:
            self._built = self._built or self._build()
        return self._built.ask(question)

    def close(self) -> None:
        if self._built is not None:
            self._built.close()


def _until(stop: Stop) -> Callable[[float], None]:
    """A sleep between two tries that a stopping night cuts short."""

    def sleep(seconds: float) -> None:
        stop.wait(seconds)

    return sleep


def read_config(choices: Choices) -> Config:
    return configs.load(choices.config, required=choices.config is not None)
