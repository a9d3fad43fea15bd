"""`sandbox github`, `sandbox model` and `sandbox try`: the embedded parts, served on loopback."""

from __future__ import annotations

import importlib.util
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from triagebot.cli import nights, signals, terminal
from triagebot.cli.boundary import ExitCode
from triagebot.cli.environment import Environment
from triagebot.cli.wiring import Choices, Output
from triagebot.core import marker
from triagebot.core.faults import Misconfigured
from triagebot.nightly.settings import Orders
from triagebot.nightly.stop import Stop

if TYPE_CHECKING:
    from triagebot.sandbox.hub import Hub
    from triagebot.sandbox.model import Stand
    from triagebot.sandbox.repository import Repository

_NEEDS = ("starlette", "uvicorn", "graphql")
_LABELS = {
    "bug": "Something is broken",
    "documentation": "The docs are wrong or missing",
    "enhancement": "A wish for something new",
    "performance": "It works, but slowly",
    "question": "Somebody asks how",
}

_CONFIG = """\
# Everything is embedded here, so nobody needs to be spared: no pause between writes, no settle time.
delivery: {settle: 0s, per_second: off, per_hour: off}
"""


def github(port: int, issues: Path | None, repo: str) -> int:
    """Serve the embedded GitHub until interrupted."""
    with ExitStack() as stack:
        hub, made = _hub(repo, issues)
        url = stack.enter_context(_served_github(hub, port))
        _say(f"GITHUB_API_URL={url} GITHUB_TOKEN={_token()} GITHUB_REPOSITORY={repo}")
        _say(f"{len(made.issues())} issues; what is stored: {url}/_sandbox/state; stop with Ctrl-C")
        return _until_interrupted()


def model(port: int) -> int:
    """Serve the embedded model until interrupted."""
    with ExitStack() as stack:
        _, url = stack.enter_context(_served_model(port))
        _say(f"OPENAI_BASE_URL={url} TRIAGEBOT_MODEL=stand-in")
        _say("It answers by a small rule, openly: no labels worth having. Stop with Ctrl-C")
        return _until_interrupted()


def trial() -> int:
    """Run a night on the sample issues, the same night again, and tell what was stored; 1 if anything stands twice."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="triagebot-")))
        hub, repo = _hub("octo/demo", None)
        github_url = stack.enter_context(_served_github(hub, 0))
        stand, model_url = stack.enter_context(_served_model(0))
        env = Environment.read(_variables(github_url, model_url, folder))
        (folder / "triagebot.yml").write_text(_CONFIG, encoding="utf-8")
        choices = Choices(config=folder / "triagebot.yml")
        for night in ("first", "second"):
            calls, writes = stand.count, len(hub.writes())
            _say(f"--- the {night} night")
            nights.run(env, choices, Orders(), Output())
            _say(f"    {stand.count - calls} questions to the model, {len(hub.writes()) - writes} writes to GitHub")
        return _stored(repo)


def _variables(github_url: str, model_url: str, folder: Path) -> dict[str, str]:
    return {
        "GITHUB_API_URL": github_url,
        "GITHUB_TOKEN": _token(),
        "GITHUB_REPOSITORY": "octo/demo",
        "OPENAI_BASE_URL": model_url,
        "TRIAGEBOT_MODEL": "stand-in",
        "TRIAGEBOT_LEDGER": str(folder / "ledger.db"),
    }


def _stored(repo: Repository) -> int:
    """Tell what stands on the issues now: the truth of the embedded GitHub, not what any answer said."""
    _say("--- what is stored")
    own = {issue.number: sum(marker.read(c.body) is not None for c in issue.comments) for issue in repo.issues()}
    for issue in repo.issues():
        labels = ", ".join(issue.labels) or "-"
        _say(
            terminal.plain(
                f"  issue {issue.number:2}  own comments: {own[issue.number]}  {labels:24}  {issue.title[:50]}"
            )
        )
    counted = Counter(min(number, 2) for number in own.values())
    _say(f"{len(own)} issues: {counted[1]} with one comment, {counted[0]} with none, {counted[2]} with more")
    return ExitCode.DONE if max(own.values()) == 1 else ExitCode.INCOMPLETE


def _hub(name: str, issues: Path | None) -> tuple[Hub, Repository]:
    _need_the_extra()
    from triagebot.sandbox import samples
    from triagebot.sandbox.hub import Hub

    hub = Hub()
    repo = hub.create_repository(name, labels=() if issues else _LABELS.items())
    found = samples.load_issues(issues) if issues else samples.samples()
    samples.fill(repo, samples.recent(found, hub.now()))
    return hub, repo


def _token() -> str:
    from triagebot.sandbox.hub import TOKEN

    return TOKEN


@contextmanager
def _served_github(hub: Hub, port: int) -> Iterator[str]:
    from triagebot.sandbox import github, server

    with _bound(port), server.serve(github.app(hub), port) as url:
        yield url


@contextmanager
def _served_model(port: int) -> Iterator[tuple[Stand, str]]:
    _need_the_extra()
    from triagebot.sandbox import model, server

    stand = model.Stand()
    with _bound(port), server.serve(model.app(stand), port) as url:
        yield stand, f"{url}/v1"
        stand.release()


@contextmanager
def _bound(port: int) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise Misconfigured(f"--port {port} cannot be served on: {error.strerror}; choose another.") from error


def _need_the_extra() -> None:
    if not all(importlib.util.find_spec(name) for name in _NEEDS):
        raise Misconfigured("the sandbox needs the extra of that name: pip install 'triagebot[sandbox]'.")


def _until_interrupted() -> int:
    stop = Stop()
    signals.attended(threading.Event().wait, stop)
    return ExitCode.DONE


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
