"""`sandbox github` and `sandbox model`: the embedded parts, served on loopback."""

from __future__ import annotations

import importlib.util
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from triagebot.cli import signals
from triagebot.cli.boundary import ExitCode
from triagebot.core.faults import Misconfigured
from triagebot.nightly.stop import Stop

if TYPE_CHECKING:
    from triagebot.sandbox.hub import Hub
    from triagebot.sandbox.repository import Repository

_NEEDS = ("starlette", "uvicorn", "graphql", "sklearn")


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
        url = stack.enter_context(_served_model(port))
        _say(f"OPENAI_BASE_URL={url} TRIAGEBOT_MODEL=stand-in")
        _say("It has learnt from some issues of an imaginary project, and knows nothing of yours. Stop with Ctrl-C")
        return _until_interrupted()


def _hub(name: str, issues: Path | None) -> tuple[Hub, Repository]:
    need_the_extra()
    from triagebot.sandbox import samples
    from triagebot.sandbox.hub import Hub

    hub = Hub()
    repo = hub.create_repository(name, labels=() if issues else samples.LABELS.items())
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
def _served_model(port: int) -> Iterator[str]:
    need_the_extra()
    from triagebot.sandbox import learnt, model, server

    learnt.trained()  # before anybody can ask, so that the first answer comes as quickly as the others
    stand = model.Stand(answer=learnt.answer)
    with _bound(port), server.serve(model.app(stand), port) as url:
        yield f"{url}/v1"
        stand.release()


@contextmanager
def _bound(port: int) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise Misconfigured(f"--port {port} cannot be served on: {error.strerror}; choose another.") from error


def need_the_extra() -> None:
    """Raises `Misconfigured` where the embedded parts' libraries are not installed."""
    if not all(importlib.util.find_spec(name) for name in _NEEDS):
        raise Misconfigured("the sandbox needs the extra of that name: pip install 'triagebot[sandbox]'.")


def _until_interrupted() -> int:
    stop = Stop()
    signals.attended(threading.Event().wait, stop)
    return ExitCode.DONE


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
