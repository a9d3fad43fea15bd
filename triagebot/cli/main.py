"""The command line: flags in, one call out. What each command does lives in a module of its own."""

from __future__ import annotations

import enum
import os
import sys
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Annotated

import typer

from triagebot.cli import boundary, durations
from triagebot.cli.environment import Environment, parse_repository
from triagebot.cli.wiring import Choices, Output
from triagebot.core.faults import Misconfigured
from triagebot.nightly.settings import Orders

app = typer.Typer(
    name="triagebot",
    help=(
        "A nightly issue triage bot. Run it as often, as concurrently and as brutally as you like: "
        "an issue gets at most one comment, and it is for the text that was last judged."
    ),
    epilog="Start with a dry run: triagebot run --repo OWNER/NAME --dry-run",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
sandbox = typer.Typer(help="Serve the embedded GitHub or the embedded model, or try a whole night on both.")
app.add_typer(sandbox, name="sandbox", no_args_is_help=True)


class Format(enum.StrEnum):
    """For people, or for machines."""

    TEXT = "text"
    JSON = "json"


Repo = Annotated[str | None, typer.Option("--repo", metavar="OWNER/NAME", help="Default: GITHUB_REPOSITORY.")]
Config = Annotated[Path | None, typer.Option("--config", metavar="PATH", help="Default: .github/triagebot.yml.")]
Shape = Annotated[Format, typer.Option("--format", help="For people (text) or for machines (json).")]
Verbose = Annotated[bool, typer.Option("--verbose", help="Tell every retry and every stage on stderr.")]


@app.callback(invoke_without_command=True)
def _root(
    version: Annotated[bool, typer.Option("--version", help="Print the versions and exit.", is_eager=True)] = False,
) -> None:
    if version:
        from triagebot.cli import versions

        typer.echo(versions.line())
        raise typer.Exit


@app.command()
def run(
    repo: Repo = None,
    issue: Annotated[list[int] | None, typer.Option(min=1, metavar="N", help="Only this issue; repeatable.")] = None,
    day: Annotated[
        str | None, typer.Option(metavar="YYYY-MM-DD", help="The night's day. Default: today in UTC.")
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, metavar="N", help="Ask about at most N issues.")] = None,
    again: Annotated[bool, typer.Option("--again", help="Ask again about issues that have an answer.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Write nothing; show the exact requests.")] = False,
    source: Annotated[
        Path | None, typer.Option("--from", metavar="FILE", help="Take issues from an export (JSON, JSON lines, CSV).")
    ] = None,
    workers: Annotated[int | None, typer.Option(min=1, max=64, metavar="N", help="Questions at a time.")] = None,
    deadline: Annotated[str | None, typer.Option(metavar="DURATION", help="End by then, as in 45m.")] = None,
    config: Config = None,
    format: Shape = Format.TEXT,
    verbose: Verbose = False,
) -> int:
    """Run one night: sweep the open issues, ask about the new ones, write labels and one comment each.

    Safe to run at any time, twice, or at once on several machines with one ledger.

    Examples:
      triagebot run --repo octo/demo --dry-run
      triagebot run --from issues.json --limit 20
      triagebot run --repo octo/demo --issue 17 --again
    """
    from triagebot.cli import nights

    choices = Choices(
        repo=repo and parse_repository(repo, source="--repo"),
        issues=tuple(issue or ()),
        limit=limit,
        workers=workers,
        deadline=_duration(deadline),
        config=config,
        source=source,
        dry_run=dry_run,
        again=again,
    )
    orders = Orders(day=_day(day), issues=choices.issues, again=again)
    return nights.run(_environment(), choices, orders, _output(format, verbose=verbose))


@app.command()
def deliver(
    repo: Repo = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Write nothing; show the exact requests.")] = False,
    deadline: Annotated[str | None, typer.Option(metavar="DURATION", help="End by then, as in 45m.")] = None,
    config: Config = None,
    format: Shape = Format.TEXT,
    verbose: Verbose = False,
) -> int:
    """Send only what the outbox holds; asks no model. For the morning after an outage.

    Example: triagebot deliver --repo octo/demo
    """
    from triagebot.cli import nights

    choices = Choices(
        repo=repo and parse_repository(repo, source="--repo"),
        deadline=_duration(deadline),
        config=config,
        dry_run=dry_run,
    )
    return nights.run(_environment(), choices, Orders(triage=False), _output(format, verbose=verbose))


@app.command()
def status(
    repo: Repo = None,
    max_age: Annotated[
        str | None, typer.Option(metavar="DURATION", help="Exit 1 if the last good night is older, as in 26h.")
    ] = None,
    format: Shape = Format.TEXT,
) -> int:
    """Tell what the ledger knows: nights, done per day, waiting, failed, dead, cost, the last good night.

    Example, as an alarm: triagebot status --max-age 26h
    """
    from triagebot.cli import ledgers

    name = repo and parse_repository(repo, source="--repo")
    return ledgers.status(_environment(), name, max_age=_duration(max_age), as_json=format is Format.JSON)


@app.command()
def show(
    issue: Annotated[int, typer.Argument(min=1, metavar="ISSUE", help="The issue's number.")],
    repo: Repo = None,
    format: Shape = Format.TEXT,
) -> int:
    """Tell everything the ledger knows of one issue, in order.

    Example: triagebot show 17 --repo octo/demo
    """
    from triagebot.cli import ledgers

    name = repo and parse_repository(repo, source="--repo")
    return ledgers.show(_environment(), name, issue, as_json=format is Format.JSON)


@app.command()
def retry(
    repo: Repo = None,
    issue: Annotated[int | None, typer.Option(min=1, metavar="N", help="Only this issue.")] = None,
) -> int:
    """Give dead and failed work new tries; the next night takes it up.

    Example: triagebot retry --repo octo/demo --issue 17
    """
    from triagebot.cli import ledgers

    name = repo and parse_repository(repo, source="--repo")
    return ledgers.retry(_environment(), name, issue)


Port = Annotated[int, typer.Option(min=0, max=65535, help="0 takes a free one and prints it.")]


@sandbox.command("github")
def sandbox_github(
    port: Port = 8471,
    issues: Annotated[Path | None, typer.Option(metavar="FILE", help="Issues to serve. Default: the samples.")] = None,
    repo: Annotated[str, typer.Option(metavar="OWNER/NAME", help="The repository's name.")] = "octo/demo",
) -> int:
    """Serve an embedded GitHub on loopback until interrupted.

    Example: triagebot sandbox github --port 8471 --issues issues.json
    """
    from triagebot.cli import sandboxes

    return sandboxes.github(port, issues, parse_repository(repo, source="--repo"))


@sandbox.command("model")
def sandbox_model(port: Port = 8472) -> int:
    """Serve an embedded OpenAI-compatible model on loopback until interrupted. It answers by a simple rule.

    Example: OPENAI_BASE_URL=http://127.0.0.1:8472/v1 TRIAGEBOT_MODEL=stand-in triagebot run --from issues.json
    """
    from triagebot.cli import sandboxes

    return sandboxes.model(port)


@sandbox.command("try")
def sandbox_try() -> int:
    """Run a night on the sample issues, then the same night again, and show what was stored.

    Example: triagebot sandbox try
    """
    from triagebot.cli import sandboxes

    return sandboxes.trial()


def _environment() -> Environment:
    return Environment.read(os.environ)


def _output(format: Format, *, verbose: bool) -> Output:
    return Output(json=format is Format.JSON, verbose=verbose)


def _duration(written: str | None) -> float | None:
    try:
        return None if written is None else durations.parse(written)
    except ValueError as error:
        raise Misconfigured(f"{error}") from error


def _day(written: str | None) -> date | None:
    try:
        return None if written is None else date.fromisoformat(written)
    except ValueError as error:
        raise Misconfigured(f"--day is {written!r}; write it as in 2026-12-01.") from error


def main(argv: Sequence[str]) -> int:
    """Run one command line; returns the exit code and never raises."""
    return boundary.run(
        lambda: app(args=list(argv), prog_name="triagebot", standalone_mode=False), argv=argv, environ=os.environ
    )


def entry() -> None:
    sys.exit(main(sys.argv[1:]))
