"""Plays a script to its rest, in the world that it describes, and judges what stands then."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from triagebot.nightly.settings import Orders
from triagebot.sandbox.hub import BOT
from triagebot.sandbox.state import Comment, Issue
from triagebot.simulator import house, judge
from triagebot.simulator.parts import LABELS
from triagebot.simulator.scheduler import Deadlock, Process
from triagebot.simulator.script import DAY, HOUSE, Event, Script, Weather
from triagebot.simulator.shelf import Files, Shelf
from triagebot.simulator.world import World, settings_for

_QUIET_NIGHTS = 3


@dataclass
class Result:
    """What came of a history."""

    script: Script
    violations: list[str] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)


def run(script: Script, folder: Path | None = None) -> Result:
    """Play the script. Its own randomness (who goes first, which request fails) comes from its seed as well."""
    with tempfile.TemporaryDirectory(prefix="triagebot-sim-", dir=folder or memory()) as place:
        return run_on(Files(Path(place)), script)


def run_on(shelf: Shelf, script: Script) -> Result:
    """The same with the ledgers of `shelf`."""
    world = World(script.seed, shelf, script.weather, script.windows, settings=settings_for(script.mode))
    try:
        History(script, world).play()
    except Deadlock as deadlock:
        world.violations.append(f"a night hangs: {deadlock}")
    finally:
        world.end()
    return Result(script, world.violations, world.counts)


def memory() -> str | None:
    """A file system in memory, where there is one: durability is proven elsewhere, with real kills."""
    return "/dev/shm" if Path("/dev/shm").is_dir() else None  # noqa: S108 - a folder of its own is made in it


@dataclass
class History:
    """One script in one world."""

    script: Script
    world: World

    def play(self) -> None:
        self.world.counts[f"mode: {self.script.mode or 'as it comes'}"] += 1
        for title in self.script.titles:
            self.world.repo.open_issue(title=title)
        self.world.model.poison = self.script.poison
        for event in self.script.events:
            self.world.later(event.at, self._happening(event))
        self.world.scheduler.run()
        self._come_to_rest()
        judge.at_rest(self.world, self.script)
        judge.tell(self.world)
        self._take_all_back()

    def _happening(self, event: Event) -> Callable[[], None]:
        def happen() -> None:
            self.world.counts[f"event: {event.what}"] += 1
            self._happen(event)

        return happen

    def _happen(self, event: Event) -> None:
        if event.what == "night":
            self._night(event)
        elif event.what == "undo":
            self.world.undo(self._process("undo", event), (event.issue,))
        elif event.what in self._trouble():
            self._trouble()[event.what]()
        elif event.what in HOUSE:
            house.change(self.world, event.what, event.word)
        elif event.what == "open an issue":
            word = event.word.split(" ", 1)[0]
            self.world.repo.open_issue(title=f"{word} {event.at:.3f} new")
        else:
            issue = self.world.repo.kept.get(event.issue)
            if isinstance(issue, Issue) and issue.repo == self.world.repo.full_name:
                self._act(event, issue)

    def _night(self, event: Event) -> None:
        process = self._process("night", event)
        issues = (event.issue,) if event.issue else ()
        orders = Orders(issues=issues, again=event.again, triage=not event.deliver_only)
        self.world.night(process, orders, ledger=event.ledger)

    def _process(self, name: str, event: Event) -> Process:
        for fate in ("kill_at", "kill_on", "stall_on"):
            if value := getattr(event, fate):
                self.world.counts[f"{fate.replace('_', ' ')} {value if isinstance(value, str) else 'number'}"] += 1
        return Process(
            name, kill_at=event.kill_at, kill_on=event.kill_on, stall_on=event.stall_on, stall_for=event.stall_for
        )

    # --- people

    def _act(self, event: Event, issue: Issue) -> None:
        repo, number = self.world.repo, issue.number
        acts: dict[str, Callable[[], object]] = {
            "edit text": lambda: repo.edit_issue(number, title=event.word),
            "edit and change back": lambda: self._change_back(issue, event.word),
            "close or reopen": lambda: (repo.close if issue.state == "open" else repo.reopen)(number),
            "lock or unlock": lambda: (repo.unlock if issue.locked else repo.lock)(number),
            "take a label off": lambda: repo.unlabel(number, issue.labels[0]) if issue.labels else None,
            "put a label on": lambda: self._put_on(issue, event.word.split(" ", 1)[0]),
            "delete the issue": lambda: repo.delete_issue(number),
            "transfer the issue": lambda: repo.transfer_issue(number, "octo/elsewhere"),
        }
        acts.get(event.what, lambda: self._act_on_comment(event.what, issue))()

    def _put_on(self, issue: Issue, name: str) -> None:
        """A person's own choice, or what they had taken off before."""
        if name in LABELS and name.casefold() in self.world.repo.label_set:
            self.world.repo.label(issue.number, name)

    def _act_on_comment(self, what: str, issue: Issue) -> None:
        repo = self.world.repo
        for comment in _ours(issue)[-1:]:
            match what:
                case "delete our comment":
                    repo.delete_comment(comment.id)
                case "edit our comment":
                    repo.edit_comment(comment.id, f"{comment.body}\nA person's words.")
                case "react to our comment":
                    repo.react(comment.id)
                case "copy our marker":
                    repo.comment(issue.number, comment.body, by="mallory")
                case "leave a twin of ours":
                    self._leave_twin(issue.number, comment.body)

    def _leave_twin(self, number: int, body: str) -> None:
        """As an earlier accident may have left one, which somebody may have liked since."""
        twin = self.world.repo.comment(number, body, by=BOT)
        self.world.watch.comment_ids.add(twin.id)
        if self.world.random.random() < 0.5:
            self.world.repo.react(twin.id)

    def _change_back(self, issue: Issue, word: str) -> None:
        """Away and back again, with time between for a night to notice."""
        before, repo, number = issue.title, self.world.repo, issue.number
        repo.edit_issue(number, title=word)

        def back() -> None:
            if isinstance(repo.kept.get(number), Issue):
                repo.edit_issue(number, title=before)

        self.world.later(self.world.random.choice([20.0, 300.0, 1.2 * DAY]), back)

    # --- what breaks

    def _trouble(self) -> dict[str, Callable[[], object]]:
        world = self.world
        return {
            "lose": lambda: world.lose("main"),
            "back up": lambda: world.back_up("main"),
            "restore": lambda: world.restore("main"),
            "copy": lambda: world.hand_over("main", "other"),
            "retry": lambda: world.ledger("main").retry(),
            "clock forward": lambda: self._jump(3600.0),
            "clock back": lambda: self._jump(-3600.0),
        }

    def _jump(self, seconds: float) -> None:
        self.world.jump += seconds

    # --- rest

    def _come_to_rest(self) -> None:
        """Nights without trouble, a day apart, first without and then with a person's `retry` of what was buried."""
        world = self.world
        world.weather, world.model.trouble, world.model.poison = Weather(), 0.0, 0
        world.hub.listing_lag = 0.0
        house.restore(world)
        written = 0
        self._quiet_nights()
        judge.buried(world, self.script)
        for _ in range(2):  # a labels row that is given back may give a comment back in turn
            world.ledger("main").retry()
            written = self._quiet_nights()
        if written:
            world.violate(f"after {3 * _QUIET_NIGHTS} quiet nights the bot still writes ({written} writes)")

    def _take_all_back(self) -> None:
        """At rest nothing is in flight: an undo of everything leaves what people touched, and no night repeats it."""
        world = self.world
        world.undo(Process("undo"), tuple(issue.number for issue in world.repo.issues()))
        world.scheduler.run()
        judge.taken_back(world)
        if self._quiet_nights(1):
            world.violate("a night writes what an undo has taken back")

    def _quiet_nights(self, number: int = _QUIET_NIGHTS) -> int:
        """Returns the number of writes of the last one."""
        world, before = self.world, 0
        for _ in range(number):
            world.scheduler.now += DAY
            before = judge.writes(world.counts)
            world.night(Process("quiet"), Orders())
            world.scheduler.run()
        return judge.writes(world.counts) - before


def _ours(issue: Issue) -> list[Comment]:
    return [c for c in issue.comments if c.author.login == BOT]


def shrink(script: Script, fails: Callable[[Script], bool]) -> Script:
    """The shortest script that still fails: events are left out one after the other while it does."""
    place = 0
    while place < len(script.events):
        shorter = script.without(place)
        if fails(shorter):
            script = shorter
        else:
            place += 1
    calm = replace(script, weather=Weather())
    return calm if fails(calm) else script
