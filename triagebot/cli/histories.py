"""Where the issues stand that people labelled before: in a file of our own, in an export, or nowhere."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from triagebot.cli.config import Config
from triagebot.cli.environment import Environment
from triagebot.cli.wiring import Choices
from triagebot.core import export
from triagebot.core.faults import Misconfigured
from triagebot.core.past import Past
from triagebot.history import opening
from triagebot.history.index import HistoryIndex
from triagebot.nightly.rehearsal import numbered


@contextmanager
def opened(config: Config, env: Environment, choices: Choices) -> Iterator[HistoryIndex | None]:
    """The index of a night, of which nothing is opened before it is used; `None` where there can be none.

    `--history FILE` makes a throw-away one, for issues from a file as well. A dry run works on a copy in memory.
    """
    index = _index(config, env, choices)
    try:
        yield index
    finally:
        if index is not None:
            index.close()


def _index(config: Config, env: Environment, choices: Choices) -> HistoryIndex | None:
    if choices.history is not None:
        past = exported(choices.history, config.history.limit)
        return opening.from_export(past, measured_in=env.history)
    if choices.source is not None or env.history is None:
        return None
    return opening.throwaway(copy_of=env.history) if choices.dry_run else opening.open_history(env.history)


def exported(path: Path, limit: int) -> list[Past]:
    """The newest `limit` issues of an export, whose labels count as set by people.

    One without a label is an example of when to say nothing, as in `triagebot eval`. Rows without a number
    stay without one, so that they are taken for no issue of the repository. Raises `Misconfigured`.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise Misconfigured(f"--history {path} cannot be read: {error.strerror}.") from error
    found = [
        Past(
            title=issue.title,
            body=issue.body or "",
            labels=issue.labels,
            number=issue.number,
            created_at=issue.created_at,
            repo=issue.repo or "",
        )
        for issue in numbered(export.decode(data, path.name), path.name).values()
    ]
    if not any(past.labels for past in found):
        raise Misconfigured(f"--history {path.name} holds no issue with a label: export issues that have some.")
    return sorted(found, key=_age)[:limit]


def _age(past: Past) -> float:
    return -past.created_at.timestamp() if past.created_at else 0.0
