"""`doctor`: looks at all that a night needs, writes nothing, and says what to mend. What it means is in `checkup`."""

from __future__ import annotations

import importlib.util
import json
import logging
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from rich.text import Text

from triagebot.checkup import account, machine
from triagebot.checkup.finding import Finding, State, broken, failed, fine, judged, unseen
from triagebot.checkup.machine import Asked
from triagebot.cli import config, doctor_sites, terminal, texts, wiring
from triagebot.cli.boundary import ExitCode
from triagebot.cli.config import Config
from triagebot.cli.doctor_sites import Site, look, then
from triagebot.cli.environment import Environment, redact, secrets_in
from triagebot.cli.wiring import Choices
from triagebot.core import policy, prompt
from triagebot.core.faults import Fault, NotPermitted
from triagebot.core.issue import Identity, Label, Repository
from triagebot.core.marker import Marker
from triagebot.github.survey import Account, Posted, Traces
from triagebot.ledger import inspection
from triagebot.ledger.inspection import View
from triagebot.ledger.ledger import Ledger
from triagebot.ledger.reports import Status
from triagebot.model import local
from triagebot.model.endpoint import Endpoint

CHECKS = (
    *("settings", "github", "token", "identity", "repository", "labels"),
    *("endpoint", "ledger", "clock", "schedule", "nights", "limits"),
)
_SHOWN = {State.OK: ("ok", "green"), State.WARNING: ("warning", "yellow"), State.BROKEN: ("BROKEN", "bold red")}
_LABELS = (Label(name="bug", description="Something is broken"), Label(name="question"))
_ISSUE = ("It ends at the start", "Since the update it ends with an error as soon as I start it.")


@dataclass(frozen=True, kw_only=True, slots=True)
class Order:
    """What the command line asked for; `max_age` in seconds, `ask` whether one question may be paid for."""

    repo: str | None = None
    config: Path | None = None
    max_age: float | None = None
    ask: bool = False


def run(environ: Mapping[str, str], order: Order, *, as_json: bool) -> int:
    """Print one line for each check; exit code 2 where anything is broken: no night would work."""
    with _quiet():
        found = _fit_to_print(findings(environ, order), secrets_in(environ))
        return _print_json([*found]) if as_json else _print(found, no_color=bool(environ.get("NO_COLOR")))


def _print_json(found: Sequence[Finding]) -> int:
    ok = all(finding.state is not State.BROKEN for finding in found)
    told = {"ok": ok, "findings": [asdict(finding) for finding in found]}
    sys.stdout.write(json.dumps(told, ensure_ascii=False, indent=1) + "\n")
    return ExitCode.DONE if ok else ExitCode.MISCONFIGURED


def _print(found: Iterable[Finding], *, no_color: bool) -> int:
    console = terminal.console(sys.stdout, no_color=no_color)
    code = ExitCode.DONE
    for finding in found:
        word, colour = _SHOWN[finding.state]
        mend = f"; {finding.mend}" if finding.mend else ""
        line = Text.assemble((f"{word:<9}", colour), f"{finding.check + ':':<12}{finding.fact}{mend}")
        console.print(line, soft_wrap=True)
        code = ExitCode.MISCONFIGURED if finding.state is State.BROKEN else code
    return code


def _fit_to_print(found: Iterable[Finding], secrets: Sequence[str]) -> Iterator[Finding]:
    """Facts quote servers and files: one line each, and no secret in it."""
    for finding in found:
        fact, mend = (terminal.plain(redact(words, secrets)) for words in (finding.fact, finding.mend))
        yield replace(finding, fact=fact, mend=mend)


@contextmanager
def _quiet() -> Iterator[None]:
    """What the edges log is among the findings; without any handler, Python would print it on stderr."""
    log, handler = logging.getLogger("triagebot"), logging.NullHandler()
    log.addHandler(handler)
    try:
        yield
    finally:
        log.removeHandler(handler)


def findings(environ: Mapping[str, str], order: Order) -> Iterator[Finding]:
    """One for each of `CHECKS`, in their order; then those of the other repositories that the settings name."""
    env = look(lambda: Environment.read(environ))
    if isinstance(env, Fault):
        yield failed("settings", env)
        yield from (unseen(check, "settings") for check in CHECKS[1:])
        return
    choices = Choices(repo=order.repo, config=order.config)
    chosen = look(lambda: wiring.read_config(choices))
    yield judged("settings", chosen, lambda _: _settings(order), first="")
    known = None if isinstance(chosen, Fault) else chosen
    listed = known.repos if known and order.repo is None else ()
    site = Site(env, replace(choices, repo=listed[0]) if listed else choices, known or Config())
    yield from _of_github(site, known)
    yield _endpoint(env, known, site.labels, ask=order.ask)
    yield from _of_the_ledger(site, order)
    if known and not site.blamed and not site.spent:
        yield from (finding for name in listed[1:] for finding in _other(env, choices, known, name))


def _settings(order: Order) -> Finding:
    place = order.config or config.DEFAULT
    return machine.settings(place, place.exists())


# --- GitHub


def _of_github(site: Site, known: Config | None) -> Iterator[Finding]:
    first, asked = site.first, site.choices.repo or site.env.github_repository or ""
    yield _server(site)
    yield judged("token", site.seen("token", site.account), lambda told: _token(site, told), first=first)
    yield judged("identity", site.identity, account.identity, first=first)
    repository = site.seen("repository", site.repository)
    yield judged("repository", repository, lambda found: account.repository(found, asked), first=first)
    if known is None:
        yield unseen("labels", "settings")
    else:
        labels = known.label_policy()
        yield judged("labels", site.labels, lambda found: account.labels(labels, found), first=first)


def _other(env: Environment, choices: Choices, known: Config, name: str) -> Iterator[Finding]:
    """One more repository that the settings name: whether it is there, and has labels to choose from."""
    tracker = look(lambda: wiring.tracker(known, env, replace(choices, repo=name)))
    repository = then(tracker, lambda to: to.repository())
    there = None if isinstance(repository, Fault) else tracker
    yield judged("repository", repository, lambda found: account.repository(found, name), first="token")
    labels = then(there, lambda to: account.labels(known.label_policy(), to.labels()))
    if isinstance(labels, Finding) and labels.state is State.BROKEN:
        yield replace(labels, fact=f"{name}: {labels.fact}")


def _server(site: Site) -> Finding:
    address = site.env.github_api_url
    route = doctor_sites.route(address, site.env.ca)
    if site.blamed == "github" and site.fault is not None:
        return machine.unreachable(site.fault, route)
    # A token that was refused was refused by somebody.
    told = Account(ahead=0.0) if isinstance(site.fault, NotPermitted) and site.tracker else site.account
    if told is None:
        return unseen("github", site.first)
    return machine.server(route, told, near=doctor_sites.near(address))


def _token(site: Site, told: Account) -> Finding:
    what = f"GitHub App {site.env.app_id}" if site.env.app_id else account.kind(site.env.github_token or "")
    repository = site.repository if isinstance(site.repository, Repository) else None
    granted = site.tracker.granted if site.tracker else None
    return account.token(what, told, granted=granted, repository=repository, now=datetime.now(UTC))


# --- the model


def _endpoint(env: Environment, known: Config | None, labels: Sequence[Label] | Fault | None, *, ask: bool) -> Finding:
    if known is None:
        return unseen("endpoint", "settings")
    if (env.model or known.model.name) == local.NAME:
        return _local()
    endpoint = look(lambda: wiring.endpoint(known, env))
    if isinstance(endpoint, Fault):
        return failed("endpoint", endpoint)
    usable = () if labels is None or isinstance(labels, Fault) else policy.usable(known.label_policy(), labels)
    asked = look(lambda: _ask(endpoint, usable[:3] or _LABELS, known)) if ask else None
    near = doctor_sites.near(endpoint.base_url)
    way = doctor_sites.route(endpoint.shown, env.ca, direct=near)
    return machine.endpoint(endpoint.name, way, asked, sends_key=bool(endpoint.api_key) and not near)


def _local() -> Finding:
    if importlib.util.find_spec("sklearn") is None:
        return broken("endpoint", "the local model needs the extra of that name", "pip install 'triagebot[local]'")
    return fine("endpoint", "the classifier on this machine, which learns from labelled issues and asks nobody")


def _ask(endpoint: Endpoint, labels: Sequence[Label], known: Config) -> Asked:
    """One question of the night's kind about two lines of text, asked once."""
    from triagebot.model.client import OpenAIModel

    question = prompt.compose(texts.system_prompt(), labels, *_ISSUE, input_chars=known.model.input_chars)
    model = OpenAIModel(replace(endpoint, attempts=1))
    try:
        started = time.monotonic()
        reply = model.ask(question)
        return Asked(reply=reply, rung=model.rung, seconds=time.monotonic() - started)
    finally:
        model.close()


# --- the ledger, and what needs it


def _of_the_ledger(site: Site, order: Order) -> Iterator[Finding]:
    with ExitStack() as stack:
        view = look(lambda: stack.enter_context(inspection.viewed(site.env.ledger)))
        ledger = None if isinstance(view, Fault) else view.ledger
        name = site.repository.name if isinstance(site.repository, Repository) else None
        status = then(ledger, lambda known: known.status(name))
        yield _ledger(view, status, kept=not site.env.ci)
        yield judged("clock", site.account, lambda told: machine.clock(told.ahead), first=site.first)
        last = None if isinstance(status, Fault) else status
        yield judged("schedule", last, lambda known: _schedule(known, order), first="ledger")
        traces, first = (None, "ledger") if ledger is None else (site.traces, site.first)
        yield judged("nights", traces, lambda seen: _nights(seen, site, ledger), first=first)
        yield judged("limits", site.account, lambda told: _limits(told, site, ledger), first=site.first)


def _ledger(view: View | Fault, status: Status | Fault | None, *, kept: bool) -> Finding:
    if isinstance(view, Fault):
        return failed("ledger", view)
    if isinstance(status, Fault):
        return failed("ledger", status)
    return machine.ledger(view.found, status, kept=kept, now=datetime.now(UTC))


def _schedule(known: Status, order: Order) -> Finding:
    max_age = None if order.max_age is None else timedelta(seconds=order.max_age)
    return machine.schedule(known.last_good, max_age, datetime.now(UTC))


def _nights(traces: Traces, site: Site, ledger: Ledger | None) -> Finding:
    assert ledger is not None
    assert isinstance(site.repository, Repository)
    repo_id = site.repository.id
    known = [one for one in traces.own if _recorded(ledger, repo_id, one)]
    return account.nights(traces.own, known, traces.strangers)


def _recorded(ledger: Ledger, repo_id: int, one: Posted) -> bool:
    """Whether the ledger knows this comment, or an answer to this text."""
    marker = one.comment.marker
    memory = ledger.recall(repo_id, one.issue, marker.digest if isinstance(marker, Marker) else "")
    return memory.verdict is not None or memory.tried or one.comment.id in {known.id for known in memory.recorded}


def _limits(told: Account, site: Site, ledger: Ledger | None) -> Finding:
    gate = 0.0
    if ledger is not None and site.tracker is not None and isinstance(site.identity, Identity):
        gate = ledger.gate(site.tracker.account)
    return account.limits(told.quotas, gate, time.time() - told.ahead)
