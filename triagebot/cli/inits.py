"""`init`: from a few answers to files that work as they are. It asks on a terminal only, and overwrites nothing."""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import typer

from triagebot.cli import accounts, config, origins, setups, terminal
from triagebot.cli.boundary import ExitCode
from triagebot.cli.environment import Environment, parse_repository, redact
from triagebot.cli.presets import SERVINGS, Preset, Serving
from triagebot.cli.setups import File, Plan
from triagebot.cli.wiring import HTTP_TIMEOUT
from triagebot.core.faults import Fault, Misconfigured
from triagebot.core.issue import Label

_SOURCE = re.compile(r"([A-Za-z0-9][A-Za-z0-9_-]*/[A-Za-z0-9._-]+)@([0-9a-f]{40})")
_LONGEST_MODEL = 200
"""Characters; what the settings take for a name."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Wishes:
    """What the command line was told; `None` is asked for on a terminal, and has a default elsewhere."""

    repo: str | None = None
    preset: Preset | None = None
    url: str | None = None
    model: str | None = None
    source: str | None = None
    cron: bool = False
    yes: bool = False
    dry_run: bool = False


def run(env: Environment, wishes: Wishes, environ: Mapping[str, str]) -> int:
    """Write the files of a set-up, or show them.

    Raises `Misconfigured` where something is missing and there is no terminal to ask on, and where a file exists.
    """
    folder = Path.cwd()
    plan, notes = _plan(env, wishes, environ, folder)
    files = setups.for_cron(plan, environ, folder) if wishes.cron else setups.for_actions(plan)
    if wishes.dry_run:
        _say(_shown(files, plan, env.secrets))
        return ExitCode.DONE
    missing = [file for file in files if not _stands(file, plan)]
    if wishes.cron and origins.is_tracked(folder):
        raise Misconfigured(
            f"{folder} belongs to a git repository, where the keys in {setups.ENVIRONMENT} could be committed; "
            "run `triagebot init --cron` in a folder outside of it."
        )
    _write(missing)
    _say([*notes, *_written(files, missing), *_next_steps(plan, files, cron=wishes.cron)])
    return ExitCode.DONE


# --- what is to be


def _plan(env: Environment, wishes: Wishes, environ: Mapping[str, str], folder: Path) -> tuple[Plan, list[str]]:
    """What was told, asked for or found out, and notes on what could not be."""
    ask = _Asking(talk=not wishes.yes and sys.stdin.isatty() and sys.stdout.isatty(), yes=wishes.yes)
    preset = wishes.preset or _preset(wishes, ask)
    serving = SERVINGS[preset]
    repo = wishes.repo or _repo(env, ask, folder)
    labels, notes = _labels(env, repo)
    plan = Plan(
        repo=repo,
        serving=serving,
        url=_url(wishes, serving, ask, environ),
        model=_model(env, wishes, preset, ask),
        labels=labels,
        source=_source(wishes.source) or origins.program(),
    )
    return plan, notes


@dataclass(frozen=True, kw_only=True, slots=True)
class _Asking:
    """Asks a person, where there is one; elsewhere the default stands, or its lack is said."""

    talk: bool
    yes: bool

    def __call__(
        self, question: str, *, flag: str, default: str | None, check: Callable[[str], str] = lambda text: text
    ) -> str:
        while self.talk:
            try:
                return check(str(typer.prompt(question, default=default)).strip())
            except Misconfigured as wrong:
                _say([str(wrong)])
        if default is None:
            why = "--yes asks nothing" if self.yes else "there is no terminal to ask on"
            raise Misconfigured(f"{flag} is missing, and {why}: give it.")
        return check(default)


def _preset(wishes: Wishes, ask: _Asking) -> Preset:
    """Nobody who gives no flag at all means OpenAI by it: without a terminal, `--yes` has to say so."""
    if wishes.url is not None:
        return Preset.OTHER
    names = ", ".join(Preset)
    default = Preset.OPENAI.value if ask.yes or ask.talk else None

    def check(written: str) -> str:
        if written not in set(Preset):
            raise Misconfigured(f"{written!r} is none of {names}.")
        return written

    return Preset(ask(f"Where is the model: {names}?", flag=f"--preset (one of {names})", default=default, check=check))


def _repo(env: Environment, ask: _Asking, folder: Path) -> str:
    default = env.github_repository or origins.repository(folder)
    return ask(
        "Which repository, as OWNER/NAME?",
        flag="--repo",
        default=default,
        check=lambda written: parse_repository(written, source="--repo"),
    )


def _url(wishes: Wishes, serving: Serving, ask: _Asking, environ: Mapping[str, str]) -> str:
    if wishes.url is not None:
        return _address(wishes.url)
    if serving.url == "":
        return ""
    default = serving.url or environ.get("OPENAI_BASE_URL", "").strip() or None
    return ask(f"Which address has {serving.what}?", flag="--url", default=default, check=_address)


def _address(written: str) -> str:
    try:
        return Environment.read({"HOME": os.sep, "OPENAI_BASE_URL": written}).openai_base_url
    except Misconfigured as wrong:
        raise Misconfigured(str(wrong).replace("OPENAI_BASE_URL", "--url")) from wrong


def _model(env: Environment, wishes: Wishes, preset: Preset, ask: _Asking) -> str:
    if preset is Preset.LOCAL:
        return Preset.LOCAL
    if wishes.model is not None:
        return _model_name(wishes.model)
    default = env.model or SERVINGS[preset].model
    return ask("Which model?", flag="--model", default=default, check=_model_name)


def _model_name(written: str) -> str:
    if not written or len(written) > _LONGEST_MODEL or not written.isprintable():
        raise Misconfigured(f"--model must be a name of 1 to {_LONGEST_MODEL} printable characters.")
    return written


def _source(written: str | None) -> tuple[str, str] | None:
    """A commit and not a tag: a tag can be moved to other code."""
    if written is None:
        return None
    found = _SOURCE.fullmatch(written)
    if not found:
        raise Misconfigured(f"--source is {written[:80]!r}; write OWNER/NAME@COMMIT, with all 40 digits of the commit.")
    return found[1], found[2]


def _labels(env: Environment, repo: str) -> tuple[Sequence[Label], list[str]]:
    """The repository's labels, where a token is there to ask with. They are comments only: no answer stops nothing."""
    if env.github_token is None and env.app_id is None:
        return (), ["labels: not looked at, since GITHUB_TOKEN is not set"]
    from triagebot.github.tracker import GitHubTracker

    try:
        account = accounts.credential(env, repo, timeout=HTTP_TIMEOUT)
        ca = accounts.trusted(env)
        tracker = GitHubTracker(base_url=env.github_api_url, token=account, repo=repo, timeout=HTTP_TIMEOUT, ca=ca)
        try:
            tracker.repository()
            labels = tracker.labels()
        finally:
            tracker.close()
    except Fault as fault:
        return (), [f"labels: not looked at. {fault}"]
    return labels, [f"labels: {len(labels)} in {repo}" + ("" if labels else "; the bot needs some to choose from")]


# --- writing


def _stands(file: File, plan: Plan) -> bool:
    """Whether `file` may stay as it is: settings that name this model. Any other file in the way is refused."""
    for folder in file.path.parents:
        if os.path.lexists(folder) and not folder.is_dir():
            raise Misconfigured(
                f"{folder} is a file, and {file.path} needs a folder of that name; move it away, and run init again."
            )
    if not os.path.lexists(file.path):
        return False
    if file.path != config.DEFAULT:
        raise Misconfigured(
            f"{file.path} exists already, and init overwrites nothing; move it away, or see with --dry-run what "
            "would stand there."
        )
    name = config.load(file.path).model.name
    if name != plan.model:
        raise Misconfigured(
            f"{file.path} exists already and names {f'the model {name}' if name else 'no model'}, and init overwrites "
            f"nothing; write `name: {plan.model}` there under `model`, or give --model."
        )
    return True


def _write(files: Sequence[File]) -> None:
    for file in files:
        try:
            file.path.parent.mkdir(parents=True, exist_ok=True)
            # "x" and a mode from the first moment on: nothing is overwritten, and no key is readable in between.
            handle = os.open(file.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, file.mode)
            with os.fdopen(handle, "w", encoding="utf-8") as page:
                page.write(file.text)
        except OSError as error:
            raise Misconfigured(
                f"{file.path} cannot be written: {error.strerror}; run init in a folder that you may write to, and "
                "that has room for it."
            ) from error


# --- telling


def _shown(files: Sequence[File], plan: Plan, secrets: Sequence[str]) -> Iterator[str]:
    for file in files:
        yield f"--- {file.path} (mode {file.mode:04o}){_fate(file, plan)}"
        yield from redact(file.text, secrets).splitlines()


def _fate(file: File, plan: Plan) -> str:
    """What init would do about a file of that name, where there is one."""
    try:
        return "; there is one already, which would stay as it is" if _stands(file, plan) else ""
    except Misconfigured as wrong:
        return f"; init would end here: {wrong}"


def _written(files: Sequence[File], missing: Sequence[File]) -> Iterator[str]:
    for file in files:
        yield f"{'wrote' if file in missing else 'kept '} {file.path}"


def _next_steps(plan: Plan, files: Sequence[File], *, cron: bool) -> Iterator[str]:
    yield ""
    yield "What is left to do:"
    yield from (f"- {step}" for step in (_for_cron(plan, files) if cron else _for_actions(plan)))
    yield from setups.cron_lines(files)


def _for_actions(plan: Plan) -> Iterator[str]:
    if plan.source is None:
        yield (
            f"in {setups.WORKFLOW}, name triagebot's own repository and commit in place of OWNER/triagebot "
            "(or move the file away, and run init again with --source OWNER/NAME@COMMIT)"
        )
    if plan.serving.key:
        yield f"in {plan.repo}, set the secret OPENAI_API_KEY (Settings, Secrets and variables, Actions)"
    if plan.serving.runner == "self-hosted":
        yield f"give {plan.repo} a runner of its own where {plan.url} answers; or use `triagebot init --cron` there"
    yield "commit both files to the default branch; no secret is in them"
    if plan.url:
        yield f"for runs by hand, export OPENAI_BASE_URL={shlex.quote(plan.url)}: it stands in the workflow alone"
    yield "see it once without consequences: Actions, triagebot, Run workflow, with `dry_run`"
    yield "to stop it, set the repository variable TRIAGEBOT to off"


def _for_cron(plan: Plan, files: Sequence[File]) -> Iterator[str]:
    [variables] = [file.text for file in files if file.path == setups.ENVIRONMENT]
    if "\nGITHUB_TOKEN=\n" in variables:
        yield f"put a token into {setups.ENVIRONMENT}, as GITHUB_TOKEN"
    if "\nOPENAI_API_KEY=\n" in variables:
        yield f"put the key of {plan.serving.what} into {setups.ENVIRONMENT}, as OPENAI_API_KEY"
    yield f"see it once without consequences: set -a; . ./{setups.ENVIRONMENT}; triagebot run --dry-run"
    yield f"(crontab -l; cat {Path.cwd() / setups.CRONTAB}) | crontab -    which adds these lines:"


def _say(lines: Iterator[str] | Sequence[str]) -> None:
    sys.stdout.write("".join(f"{terminal.plain(line)}\n" for line in lines))
