"""A history spread over several repositories: most of its nights are tours over all of them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace

from triagebot.simulator import script
from triagebot.simulator.script import DAY, POSTING, STEPS, Event, Script, a_title

TOUR_STEPS = (
    "github.repository",
    "github.sweep",
    "github.look_again",
    "ledger.open_night",
    "ledger.close_night",
    "ledger.next_due",
    "ledger.reserve_slot",
    "ledger.waiting",
)


def draw(seed: int, repos: int) -> Script:
    """The script of a seed over so many repositories; over one it is the plain one.

    The others have issues of the same numbers, some of them of the same words, and some that are opened later.
    """
    return script.draw(seed) if repos == 1 else _spread(script.draw(seed), repos)


def _spread(single: Script, repos: int) -> Script:
    dice = random.Random(f"{single.seed} over {repos}")  # noqa: S311 - a seed, not a secret
    events = [_placed(dice, event, repos) for event in single.events]
    others = tuple(tuple(_others(dice, single.titles)) for _ in range(repos - 1))
    for place, titles in enumerate(others, start=1):
        events += [
            Event(at=dice.uniform(0, 2 * DAY), what="open an issue", repo=place, word=a_title(dice, number))
            for number in range(len(titles), len(single.titles))
        ]
    events.sort(key=lambda event: event.at)
    weather = replace(single.weather, sweep=dice.choice([0.0, 0.0, 0.1]) if single.accidents else 0.0)
    return replace(single, events=tuple(events), others=others, weather=weather, purse=dice.choice([0, 0, 0, 2, 4]))


def _others(dice: random.Random, titles: tuple[str, ...]) -> Iterator[str]:
    for number, title in enumerate(titles[: dice.randint(0, len(titles))], start=1):
        yield title if dice.random() < 0.4 else a_title(dice, number)


def _placed(dice: random.Random, event: Event, repos: int) -> Event:
    """Where it happens. A tour may have any order, and may name a repository twice; some are told to end."""
    if event.what == "night":
        event = _other_fate(dice, event, repos)
    if event.what != "night" or event.issue or dice.random() < 0.2:
        return replace(event, repo=dice.randrange(repos))
    tour = dice.sample(range(repos), repos)
    if dice.random() < 0.1:
        tour.append(dice.choice(tour))
    return replace(event, tour=tuple(tour))


def _other_fate(dice: random.Random, event: Event, repos: int) -> Event:
    """What a night over one repository meets early, a tour may meet late; and it has steps of its own."""
    if event.kill_at is not None:
        return replace(event, kill_at=event.kill_at * dice.randint(1, repos))
    if event.kill_on and dice.random() < 0.4:
        return replace(event, kill_on=dice.choice(TOUR_STEPS))
    if event.stall_on and dice.random() < 0.3:
        return replace(event, stall_on=dice.choice(TOUR_STEPS))
    if event.kill_on or event.stall_on or dice.random() < 0.8:
        return event
    if dice.random() < 0.2:  # while a request hangs
        return replace(event, end_on=POSTING, stall_on=POSTING, stall_for=30.0)
    return replace(event, end_on=dice.choice((*STEPS, *TOUR_STEPS)))
