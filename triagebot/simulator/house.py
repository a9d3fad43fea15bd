"""What the owners of the repository do to it in mid-night, mostly for a while."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from triagebot.sandbox.hub import BOT
from triagebot.simulator.parts import LABELS
from triagebot.simulator.script import DAY
from triagebot.simulator.world import World


def change(world: World, what: str, label: str) -> None:
    """Make the change, and take it back after a while, but for a new name and new settings of the bot."""
    doers: dict[str, Callable[[], object]] = {
        "archive": lambda: setattr(world.repo, "archived", True),
        "switch issues off": lambda: setattr(world.repo, "issues_enabled", False),
        "take our permission": lambda: world.repo.permissions.update({BOT: "READ"}),
        "rename the repository": lambda: world.repo.rename(f"octo/sim-{world.scheduler.now:.0f}"),
        "drop a label": lambda: _without(world, label, world.repo.remove_label),
        "switch comments on or off": lambda: setattr(
            world, "settings", replace(world.settings, comments=not world.settings.comments)
        ),
        "rename a label": lambda: _without(world, label, lambda name: world.repo.rename_label(name, f"{name} once")),
    }
    doers[what]()
    world.later(world.random.choice([20.0, 300.0, 1.2 * DAY]), lambda: restore(world))


def restore(world: World) -> None:
    """As it was at the beginning, but for its name, the bot's settings and what a renamed label left behind."""
    world.repo.archived, world.repo.issues_enabled = False, True
    world.repo.permissions.pop(BOT, None)
    for name in LABELS:
        if name not in world.repo.label_set:
            world.repo.add_label(name)


def _without(world: World, label: str, act: Callable[[str], None]) -> None:
    if label in world.repo.label_set and f"{label} once" not in world.repo.label_set:
        world.missed.add(label)
        act(label)
