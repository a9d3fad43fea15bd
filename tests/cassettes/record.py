"""Record the cassettes anew: `python -m tests.cassettes.record`, from the project's folder.

Without arguments, against the embedded GitHub and model. With `--real`, against what these variables name,
where it opens a handful of issues, lets triagebot write on them, and closes them again:

    GITHUB_TOKEN        may write issues of GITHUB_REPOSITORY, a scratch repository without open issues
    OPENAI_API_KEY, OPENAI_BASE_URL, TRIAGEBOT_MODEL

Addresses, keys and most headers stay out; names of repository, account and model do not. Read what it wrote
before you commit it.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from tests.cassettes import nights, people, tape
from tests.cassettes.people import World
from triagebot.cli.environment import Environment
from triagebot.sandbox import faults, samples

FIRST = (14, 4, 5, 8, 12)
"""Numbers of sample issues: a bug, a question, nothing at all, another script, emoji."""
LATER = (15,)
FAILING = (9, 20)

SLOW = 65.0
"""Seconds to wait for what people did on the real thing: the settle time and a little more, since lists may lag."""


def everything(world: World, folder: Path) -> list[Path]:
    """Record all that this world can give into `folder`; on the real thing nothing fails on demand."""
    made = two_nights(world, folder)
    return made if world.hub is None else [*made, bad_gateway(world, folder)]


def two_nights(world: World, folder: Path) -> list[Path]:
    """A first night over five new issues; a second one, before which one was edited and a sixth was opened."""
    with ExitStack() as stack:
        ledger = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        opened = _open(world, FIRST, stack)
        first = _night(world, folder / "first-night.yaml", ledger, "2026-11-28")
        question = opened[1]
        world.edit(question, body="Solved, thanks. But now it crashes: `IndexError` after every start. It is broken.")
        _open(world, LATER, stack)
        second = _night(world, folder / "second-night.yaml", ledger, "2026-11-29", after=first.name)
        return [first, second]


def bad_gateway(world: World, folder: Path) -> Path:
    """A night of its own in which the first comment is stored, and a proxy answers 502."""
    assert world.hub
    with ExitStack() as stack:
        ledger = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        _open(world, FAILING, stack)
        world.hub.faults.add(faults.html(faults.POST_COMMENT, 502, stored=True))
        return _night(world, folder / "bad-gateway.yaml", ledger, "2026-11-30")


def _open(world: World, numbers: tuple[int, ...], stack: ExitStack) -> list[int]:
    """Open sample issues, and have them closed at the end."""
    known = {issue.number: issue for issue in samples.samples()}
    opened = [world.open(known[number].title, known[number].body) for number in numbers]
    for number in opened:
        stack.callback(world.edit, number, state="closed")
    world.settle()
    return opened


def _night(world: World, path: Path, ledger: Path, day: str, *, after: str = "", code: int = 0) -> Path:
    """Record one night, which must end with `code`; `after` names the cassette of the night before, if there is one."""
    addresses = {world.github_url: tape.GITHUB, world.model_url: tape.OPENAI}
    with tape.record(path, addresses, [world.token, world.model_key]) as recording:
        recording.get_metadata("night", {"repo": world.repo, "day": day, "model": world.model, "after": after})
        heard, delivery = world.heard, nights.AT_ONCE if world.hub else nights.UNHURRIED
        told = nights.run(ledger, world.env, repo=world.repo, day=day, delivery=delivery)
        recording.get_metadata("told", told.kept)
        whole = heard is None or world.heard == heard + len(recording)
    if told.code != code or not whole:
        path.unlink()
        raise SystemExit(
            f"The recording is {'' if whole else 'not '}whole, the night ended with {told.code}: {told.errors}"
        )
    return path


def real(environ: Mapping[str, str], *, patience: float = SLOW) -> World:
    """The world that the variables name."""
    given = Environment.read(environ)
    if not (given.github_token and given.github_repository and given.model):
        raise SystemExit("--real needs GITHUB_TOKEN, GITHUB_REPOSITORY and TRIAGEBOT_MODEL.")
    return World(
        github_url=given.github_api_url,
        token=given.github_token,
        repo=given.github_repository,
        model_url=given.openai_base_url,
        model_key=given.openai_api_key or "",
        model=given.model,
        patience=patience,
    )


def main(argv: Sequence[str]) -> None:
    if argv not in ([], ["--real"]):
        raise SystemExit(__doc__)
    with ExitStack() as stack:
        world = real(os.environ) if argv else stack.enter_context(people.sandbox())
        world.prepare()
        for path in everything(world, tape.FOLDER):
            sys.stdout.write(f"{path}: {path.stat().st_size:,} bytes\n")


if __name__ == "__main__":
    main(sys.argv[1:])
