"""The command line: flags in, one call out. What each command does lives in a module of its own.

Long because the help of every command, with its examples, stands beside its flags.
"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.main import get_command

from triagebot.cli import boundary, days, durations
from triagebot.cli.environment import Environment, parse_owner, parse_repository
from triagebot.cli.flags import Examples, Format
from triagebot.cli.presets import Preset
from triagebot.core.faults import Misconfigured

if TYPE_CHECKING:
    from triagebot.cli.wiring import Output

app = typer.Typer(
    name="triagebot",
    help=(
        "A nightly issue triage bot. Run it as often, as concurrently and as brutally as you like: "
        "an issue gets at most one comment, and it is for the text that was last judged."
    ),
    epilog=(
        "\b\n"
        "Examples:\n"
        "  triagebot demo                             # see it hold, no account needed\n"
        "  triagebot run --repo OWNER/NAME --dry-run  # see what it would write\n"
        "  triagebot run --repo OWNER/NAME            # one night\n"
        "  triagebot doctor --repo OWNER/NAME         # what is missing?\n"
        "  triagebot status --max-age 26h             # was there a good one?\n"
        "\n"
        "Exit codes: 0 done; 1 something failed or is left over, as the output says; 2 usage, settings or permission; "
        "3 a bug, with a report to paste; 129, 130 and 143 interrupted, state saved."
    ),
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
sandbox = typer.Typer(
    help="Serve the embedded GitHub or the embedded model.",
    epilog=(
        "\b\n"
        "Examples, in two terminals; each prints the variables for the third:\n"
        "  triagebot sandbox github\n"
        "  triagebot sandbox model"
    ),
)
app.add_typer(sandbox, name="sandbox", no_args_is_help=True)

ledger_app = typer.Typer(
    help="Look after the ledger.",
    epilog="\b\nExample:\n  triagebot ledger backup ledger-2026-12-01.db",
)
app.add_typer(ledger_app, name="ledger", no_args_is_help=True)


Repo = Annotated[str | None, typer.Option("--repo", metavar="OWNER/NAME", help="Default: GITHUB_REPOSITORY.")]
Repos = Annotated[
    list[str] | None,
    typer.Option(
        "--repo", metavar="OWNER/NAME", help="Repeatable. Default: `repos` in the settings, else GITHUB_REPOSITORY."
    ),
]
Orgs = Annotated[
    list[str] | None, typer.Option("--org", metavar="NAME", help="All repositories of this organisation; repeatable.")
]
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
    repo: Repos = None,
    org: Orgs = None,
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
    history: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Take examples from an export of labelled issues.")
    ] = None,
    workers: Annotated[int | None, typer.Option(min=1, max=64, metavar="N", help="Questions at a time.")] = None,
    deadline: Annotated[str | None, typer.Option(metavar="DURATION", help="End by then, as in 45m.")] = None,
    config: Config = None,
    format: Shape = Format.TEXT,
    verbose: Verbose = False,
) -> int:
    """Run one night.

    Sweeps the open issues, asks about the new ones, writes labels and one comment each. Safe to run at any
    time, twice, or several at once with one ledger. Several repositories share the night's budget: whoever waits
    longest, anywhere, is asked about first.

    \b
    Examples:
      triagebot run --repo octo/demo --dry-run           # show it, write nothing
      triagebot run --from issues.json --limit 20        # from a file, no GitHub
      triagebot run --repo octo/demo                     # the night itself
      triagebot run --repo octo/demo --repo octo/docs    # two, with one budget
      triagebot run --org octo                           # all that it has
      triagebot run --repo octo/demo --issue 17 --again  # one issue, once more
    """
    from triagebot.cli import tours
    from triagebot.cli.wiring import Choices
    from triagebot.nightly.settings import Orders

    choices = Choices(
        repos=_repositories(repo),
        orgs=_owners(org),
        issues=tuple(issue or ()),
        limit=limit,
        workers=workers,
        deadline=_duration(deadline),
        config=config,
        source=source,
        history=history,
        dry_run=dry_run,
        again=again,
    )
    orders = Orders(day=None if day is None else days.parse(day, source="--day"), issues=choices.issues, again=again)
    return tours.run(_environment(), choices, orders, _output(format, verbose=verbose))


@app.command()
def init(
    repo: Repo = None,
    preset: Annotated[Preset | None, typer.Option(help="Where the model is.")] = None,
    url: Annotated[
        str | None, typer.Option(metavar="URL", help="The endpoint, where the preset does not say it.")
    ] = None,
    model: Annotated[str | None, typer.Option(metavar="NAME", help="The model. Default: TRIAGEBOT_MODEL.")] = None,
    source: Annotated[
        str | None, typer.Option(metavar="OWNER/NAME@COMMIT", help="What the workflow takes triagebot from.")
    ] = None,
    cron: Annotated[bool, typer.Option("--cron", help="For cron on a server, not for GitHub Actions.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Ask nothing, take the defaults.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Write nothing; show the files.")] = False,
) -> int:
    """Write the settings and the schedule.

    Into the current folder: .github/triagebot.yml and a workflow; or with --cron the settings, an environment file
    (mode 0600) and the lines for the crontab. It asks on a terminal, looks at the repository's labels if
    GITHUB_TOKEN is set, and never overwrites a file.

    \b
    Examples:
      triagebot init
      triagebot init --preset openai --repo octo/demo --yes
      triagebot init --preset ollama --cron --repo octo/demo --dry-run
      triagebot init --url https://models.example/v1 --model NAME
    """
    from triagebot.cli import inits

    wishes = inits.Wishes(
        repo=repo and parse_repository(repo, source="--repo"),
        preset=preset,
        url=url,
        model=model,
        source=source,
        cron=cron,
        yes=yes,
        dry_run=dry_run,
    )
    return inits.run(_environment(), wishes, os.environ)


@app.command()
def deliver(
    repo: Repos = None,
    org: Orgs = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Write nothing; show the exact requests.")] = False,
    deadline: Annotated[str | None, typer.Option(metavar="DURATION", help="End by then, as in 45m.")] = None,
    config: Config = None,
    format: Shape = Format.TEXT,
    verbose: Verbose = False,
) -> int:
    """Send only what the outbox holds.

    Asks no model. For the morning after an outage.

    \b
    Examples:
      triagebot deliver --repo octo/demo --dry-run  # what would be sent
      triagebot deliver --repo octo/demo
    """
    from triagebot.cli import tours
    from triagebot.cli.wiring import Choices
    from triagebot.nightly.settings import Orders

    choices = Choices(
        repos=_repositories(repo),
        orgs=_owners(org),
        deadline=_duration(deadline),
        config=config,
        dry_run=dry_run,
    )
    return tours.run(_environment(), choices, Orders(triage=False), _output(format, verbose=verbose))


@app.command()
def status(
    repo: Repo = None,
    max_age: Annotated[
        str | None, typer.Option(metavar="DURATION", help="Exit 1 if the last good night is older, as in 26h.")
    ] = None,
    format: Shape = Format.TEXT,
) -> int:
    """Tell what the ledger knows of the nights.

    The nights, done per day, waiting, failed, dead, cost, and the age of the last good night.

    \b
    Examples:
      triagebot status
      triagebot status --max-age 26h || echo "no good night"  # an alarm
      triagebot status --repo octo/demo --format json
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
    """Tell what the ledger knows of one issue, in order.

    \b
    Example:
      triagebot show 17 --repo octo/demo
    """
    from triagebot.cli import ledgers

    name = repo and parse_repository(repo, source="--repo")
    return ledgers.show(_environment(), name, issue, as_json=format is Format.JSON)


@app.command()
def retry(
    repo: Repo = None,
    issue: Annotated[int | None, typer.Option(min=1, metavar="N", help="Only this issue.")] = None,
) -> int:
    """Give dead and failed work new tries.

    The next night takes it up.

    \b
    Examples:
      triagebot retry --repo octo/demo --issue 17
      triagebot retry --repo octo/demo             # all of it
    """
    from triagebot.cli import ledgers

    name = repo and parse_repository(repo, source="--repo")
    return ledgers.retry(_environment(), name, issue)


@app.command()
def undo(
    night: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="What this night wrote; `triagebot status` lists them.")
    ] = None,
    issue: Annotated[
        list[int] | None, typer.Option(min=1, metavar="N", help="All that stands on this issue; repeatable.")
    ] = None,
    repo: Repo = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Write nothing; show the exact requests.")] = False,
    config: Config = None,
    format: Shape = Format.TEXT,
    verbose: Verbose = False,
) -> int:
    """Take back what was written.

    Takes off the labels that the bot set last and nobody touched since, and deletes its comments. What a person
    edited, set or took off stays, and is told. Later nights do not write it again. Look at --dry-run first.

    \b
    Examples:
      triagebot undo --night 12 --dry-run  # what would be taken back
      triagebot undo --night 12
      triagebot undo --issue 17 --repo octo/demo
    """
    from triagebot.cli import undos
    from triagebot.cli.wiring import Choices

    choices = Choices(repo=repo and parse_repository(repo, source="--repo"), config=config, dry_run=dry_run)
    wish = undos.Wish(night=night, issues=tuple(issue or ()))
    return undos.run(_environment(), choices, wish, _output(format, verbose=verbose))


@ledger_app.command("backup")
def ledger_backup(
    path: Annotated[Path, typer.Argument(metavar="PATH", help="A file that does not exist yet.")],
) -> int:
    """Copy the ledger to a new file.

    By the database's own means, so that a night may run meanwhile. The copy is one file, mode 0600, whole or
    not there at all.

    \b
    Example:
      triagebot ledger backup ledger-2026-12-01.db
    """
    from triagebot.cli import ledgers

    return ledgers.backup(_environment(), path)


@ledger_app.command("copy")
def ledger_copy(
    source: Annotated[str, typer.Argument(metavar="FROM", help="A path, sqlite:///PATH or postgresql:// address.")],
    target: Annotated[str, typer.Argument(metavar="TO", help="The same; a ledger that knows nothing yet.")],
) -> int:
    """Move to another database.

    Copies page by page, reads everything back and compares it. Killed half-way, the same command goes on with it, and
    until then every other one refuses the target. Between two nights, as nothing later is copied.

    \b
    Example:
      triagebot ledger copy ~/.local/state/triagebot/ledger.db "$NEW_LEDGER"
    """
    from triagebot.cli import ledgers

    return ledgers.copy(_environment(), source, target)


@ledger_app.command("prune")
def ledger_prune(
    older_than: Annotated[str, typer.Option("--older-than", metavar="180d", help="How long things are kept.")] = "180d",
) -> int:
    """Drop what is old and no night needs.

    The journal, failures, nights, and writes for texts that are gone. Answers, recorded comments and whatever keeps
    an issue from a second comment stay.

    \b
    Example:
      triagebot ledger prune --older-than 180d
    """
    from triagebot.cli import ledgers

    seconds = _duration(older_than)
    assert seconds is not None
    return ledgers.prune(_environment(), older_than=seconds)


@app.command()
def doctor(
    repo: Repo = None,
    ask: Annotated[bool, typer.Option("--ask", help="Put one small question to the model, too.")] = False,
    max_age: Annotated[
        str | None, typer.Option(metavar="DURATION", help="An older last good night counts as broken, as in 26h.")
    ] = None,
    config: Config = None,
    format: Shape = Format.TEXT,
) -> int:
    """Look at all that a night needs, and say what to mend.

    Settings, token, identity, repository, labels, endpoint, ledger, clock, schedule, other nights on this
    repository, limits. Writes nothing, and asks the model nothing without --ask. Exit code 2 if anything is broken.

    \b
    Examples:
      triagebot doctor --repo octo/demo
      triagebot doctor --repo octo/demo --ask --max-age 26h
      triagebot doctor --repo octo/demo --format json
    """
    from triagebot.cli import doctors

    name = repo and parse_repository(repo, source="--repo")
    order = doctors.Order(repo=name, config=config, max_age=_duration(max_age), ask=ask)
    return doctors.run(os.environ, order, as_json=format is Format.JSON)


@app.command()
def drill(
    times: Annotated[int, typer.Option(min=1, metavar="N", help="Rounds to play.")] = 20,
    processes: Annotated[int, typer.Option(min=2, max=256, metavar="N", help="Processes that meet.")] = 8,
    ledger: Annotated[
        str | None,
        typer.Option(metavar="PATH|URL", help="Work in this ledger. Default: a new one beside the configured one."),
    ] = None,
    simulate: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Play N simulated histories instead of rounds.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, metavar="S", help="With --simulate: the first seed.")] = 0,
    jobs: Annotated[
        int | None, typer.Option(min=1, max=256, metavar="J", help="With --simulate: processes. Default: all cores.")
    ] = None,
    resume: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="With --simulate: add up in FILE, and go on after its last seed."),
    ] = None,
    repos: Annotated[
        int, typer.Option(min=1, max=3, metavar="R", help="With --simulate: nights go over R repositories.")
    ] = 1,
    format: Shape = Format.TEXT,
) -> int:
    """Prove the promise on this machine.

    Processes race for one key, are killed, come late and meet locks. It never touches a real row: it works in
    a ledger of its own, or under a repository id that no repository has, and takes its rows out again.
    Ends in `20/20 single-winner`, or says what broke and exits with 1.

    --simulate plays whole histories of nights instead, one for each seed, with kills, stalls, lost answers, lost
    ledgers and people in between, in a time of its own. Ends in `1000/1000 histories at rest as promised`, or
    shows the shortest history that breaks the promise and exits with 1. One seed is always the same history.

    \b
    Examples:
      triagebot drill
      triagebot drill --processes 64
      triagebot drill --ledger ~/.local/state/triagebot/ledger.db --times 5
      triagebot drill --simulate 1000 --seed 0               # a minute or less
      triagebot drill --simulate 1000 --repos 3              # nights over three
      triagebot drill --simulate 100000 --resume tally.json  # in sittings
    """
    from triagebot.cli import drills, simulations
    from triagebot.drill.drill import Plan

    if simulate is not None:
        order = simulations.Order(histories=simulate, seed=seed, jobs=jobs, resume=resume, repos=repos)
        return simulations.run(_environment(), order, as_json=format is Format.JSON)
    if seed or jobs or resume or repos > 1:
        raise Misconfigured("--seed, --jobs, --resume and --repos belong to --simulate N, which is missing.")
    plan = Plan(times=times, processes=processes)
    return drills.run(_environment(), plan, ledger, as_json=format is Format.JSON)


Labelled = Annotated[Path | None, typer.Option("--from", metavar="FILE", help="Labelled issues, to be split.")]
Learn = Annotated[Path | None, typer.Option("--history", metavar="FILE", help="Learn from these; needs --test.")]
Judge = Annotated[Path | None, typer.Option("--test", metavar="FILE", help="Judge on these; needs --history.")]
Read = Annotated[str | None, typer.Option("--repo", metavar="OWNER/NAME", help="What nights have read of it.")]
Share = Annotated[
    float | None, typer.Option(min=0.01, max=0.99, metavar="SHARE", help="Learn from the oldest. Default: 0.8.")
]
Folds = Annotated[int | None, typer.Option(min=2, max=50, metavar="K", help="Hold out each of K parts in turn.")]
Asked = Annotated[str | None, typer.Option(metavar="NAME", help="local, or a model's name. Default: TRIAGEBOT_MODEL.")]
First = Annotated[str | None, typer.Option(metavar="local", help="Ask the endpoint only where this is not sure.")]
Shown = Annotated[Examples, typer.Option(help="Show the endpoint how similar issues were labelled.")]
Sample = Annotated[int | None, typer.Option(min=1, metavar="N", help="Judge on a sample of N, always the same.")]
Workers = Annotated[int | None, typer.Option(min=1, max=64, metavar="N", help="Questions at a time.")]
Answers = Annotated[Path | None, typer.Option(metavar="FILE", help="Keep paid answers there. Default: in the cache.")]
Page = Annotated[Path | None, typer.Option(metavar="OUT.html", help="Write a page with the plots, too.")]


@app.command("eval")
def evaluate(
    source: Labelled = None,
    history: Learn = None,
    test: Judge = None,
    repo: Read = None,
    split: Share = None,
    folds: Folds = None,
    model: Asked = None,
    first: First = None,
    examples: Shown = Examples.BOTH,
    limit: Sample = None,
    workers: Workers = None,
    resume: Answers = None,
    report: Page = None,
    config: Config = None,
    format: Shape = Format.TEXT,
    verbose: Verbose = False,
) -> int:
    """Say how good the labels are.

    Replays issues that people have labelled, and compares. Writes nothing to GitHub. One classifier is learnt for
    each repository of the history. Ctrl-C and the same command again pays only for answers that are not there yet.

    \b
    Examples:
      triagebot eval --model local --from issues.json
      triagebot eval --model local --history train.csv --test test.csv
      triagebot eval --model local --from issues.csv --folds 5 --report out.html
      triagebot eval --model NAME --from issues.json --limit 100 --first local
    """
    from triagebot.cli import evals
    from triagebot.cli.eval_sources import Sources

    name = repo and parse_repository(repo, source="--repo")
    sources = Sources(history=history, test=test, source=source, repo=name, split=split, folds=folds, limit=limit)
    order = evals.Order(
        sources=sources,
        model=model,
        first=first,
        examples=examples,
        workers=workers,
        resume=resume,
        report=report,
        config=config,
    )
    return evals.run(_environment(), order, _output(format, verbose=verbose), os.environ)


@app.command()
def demo() -> int:
    """Watch it hold while things go wrong.

    Overlapping nights, a kill, a lost ledger and more, on embedded parts: no account, no key, half a minute.
    Each act is played twice, by triagebot and by a bot without a ledger, and what stands afterwards is counted.
    Exits with 1 if an issue carries other than it should.

    \b
    Example:
      triagebot demo
    """
    from triagebot.cli import demos

    return demos.on_stdout(os.environ)


Port = Annotated[int, typer.Option(min=0, max=65535, help="0 takes a free one and prints it.")]


@sandbox.command("github")
def sandbox_github(
    port: Port = 8471,
    issues: Annotated[Path | None, typer.Option(metavar="FILE", help="Issues to serve. Default: the samples.")] = None,
    repo: Annotated[str, typer.Option(metavar="OWNER/NAME", help="The repository's name.")] = "octo/demo",
) -> int:
    """Serve an embedded GitHub until interrupted.

    On loopback only. It forgets everything when it ends.

    \b
    Examples:
      triagebot sandbox github
      triagebot sandbox github --port 0 --issues issues.json --repo octo/demo
    """
    from triagebot.cli import sandboxes

    return sandboxes.github(port, issues, parse_repository(repo, source="--repo"))


@sandbox.command("model")
def sandbox_model(port: Port = 8472) -> int:
    """Serve an embedded model until interrupted.

    OpenAI-compatible, on loopback only. It has learnt from issues of an imaginary project, and knows none of yours.

    \b
    Examples, the second in another terminal:
      triagebot sandbox model
      OPENAI_BASE_URL=http://127.0.0.1:8472/v1 TRIAGEBOT_MODEL=stand-in \\
        triagebot run --from issues.json
    """
    from triagebot.cli import sandboxes

    return sandboxes.model(port)


def _environment() -> Environment:
    return Environment.read(os.environ)


def _output(format: Format, *, verbose: bool) -> Output:
    from triagebot.cli.wiring import Output

    return Output(json=format is Format.JSON, verbose=verbose)


def _repositories(written: Sequence[str] | None) -> tuple[str, ...]:
    return tuple(parse_repository(name, source="--repo") for name in written or ())


def _owners(written: Sequence[str] | None) -> tuple[str, ...]:
    return tuple(parse_owner(name, source="--org") for name in written or ())


def _duration(written: str | None) -> float | None:
    try:
        return None if written is None else durations.parse(written)
    except ValueError as error:
        raise Misconfigured(f"{error}") from error


@functools.cache
def _command() -> Callable[..., Any]:
    """Every command with its flags. To build them takes 20 ms, and a process may run more than one command line."""
    return get_command(app)


def main(argv: Sequence[str]) -> int:
    """Run one command line; returns the exit code and never raises."""
    from triagebot.cli import bugreport  # noqa: F401 - at hand: a process that can open no file has bugs to tell, too

    return boundary.run(
        lambda: _command()(args=list(argv), prog_name="triagebot", standalone_mode=False), argv=argv, environ=os.environ
    )


def entry() -> None:
    sys.exit(main(sys.argv[1:]))
