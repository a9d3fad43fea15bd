"""What the owners of the repository do to it in mid-night, mostly for a while."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from triagebot.sandbox.hub import BOT
from triagebot.sandbox.repository import Repository
from triagebot.simulator.parts import LABELS
from triagebot.simulator.script import DAY
from triagebot.simulator.world import World


def change(world: World, repo: Repository, what: str, label: str) -> None:
    """Make the change, and take it back after a while, but for a new name and new settings of the bot."""
    doers: dict[str, Callable[[], object]] = {
        "archive": lambda: setattr(repo, "archived", True),
        "switch issues off": lambda: setattr(repo, "issues_enabled", False),
        "take our permission": lambda: repo.permissions.update({BOT: "READ"}),
        "rename the repository": lambda: repo.rename(f"{_first_name(repo)}-{world.scheduler.now:.0f}"),
        "drop a label": lambda: _without(world, repo, label, repo.remove_label),
        "switch comments on or off": lambda: setattr(
            world, "settings", replace(world.settings, comments=not world.settings.comments)
        ),
        "rename a label": lambda: _without(world, repo, label, lambda name: repo.rename_label(name, f"{name} once")),
    }
    doers[what]()
    world.later(world.random.choice([20.0, 300.0, 1.2 * DAY]), lambda: restore(repo))


def restore(repo: Repository) -> None:
    """As it was at the beginning, but for its name, the bot's settings and what a renamed label left behind."""
    repo.archived, repo.issues_enabled = False, True
    repo.permissions.pop(BOT, None)
    for name in LABELS:
        if name not in repo.label_set:
            repo.add_label(name)


def _first_name(repo: Repository) -> str:
    return repo.full_name.partition("-")[0]


def _without(world: World, repo: Repository, label: str, act: Callable[[str], None]) -> None:
    if label in repo.label_set and f"{label} once" not in repo.label_set:
        world.missed.add((repo.id, label))
        act(label)
