"""Plays a script to its rest, in the world that it describes, and judges what stands then."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from triagebot.nightly.settings import Orders
from triagebot.sandbox.hub import BOT
from triagebot.sandbox.repository import Repository
from triagebot.sandbox.state import Comment, Issue
from triagebot.simulator import house, judge, runs
from triagebot.simulator.parts import LABELS
from triagebot.simulator.scheduler import Deadlock, Process
from triagebot.simulator.script import DAY, HOUSE, Event, Script, Weather
from triagebot.simulator.shelf import Files, Shelf
from triagebot.simulator.world import SETTINGS, World, settings_for

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
    settings = settings_for(script.mode, script.purse)
    world = World(script.seed, shelf, script.weather, script.windows, settings=settings, number=script.repos)
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
        for place, title in self.script.all_titles():
            self.world.repos[place].open_issue(title=title)
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
            runs.an_undo(self.world, self._process("undo", event), self._repo(event), (event.issue,))
        elif event.what in self._trouble():
            self._trouble()[event.what]()
        elif event.what in HOUSE:
            house.change(self.world, self._repo(event), event.what, event.word)
        elif event.what == "open an issue":
            word = event.word.split(" ", 1)[0]
            self._repo(event).open_issue(title=f"{word} {event.at:.3f} new")
        else:
            issue = self._repo(event).kept.get(event.issue)
            if isinstance(issue, Issue) and issue.repo == self._repo(event).full_name:
                self._act(event, self._repo(event), issue)

    def _repo(self, event: Event) -> Repository:
        return self.world.repos[event.repo]

    def _night(self, event: Event) -> None:
        process = self._process("night", event)
        issues = (event.issue,) if event.issue else ()
        orders = Orders(issues=issues, again=event.again, triage=not event.deliver_only)
        if not event.tour:
            runs.a_night(self.world, process, self._repo(event), orders, ledger=event.ledger)
            return
        named = [self.world.repos[place] for place in event.tour]
        runs.a_tour(self.world, process, named, orders, ledger=event.ledger)

    def _process(self, name: str, event: Event) -> Process:
        for fate in ("kill_at", "kill_on", "stall_on", "end_on"):
            if value := getattr(event, fate):
                self.world.counts[f"{fate.replace('_', ' ')} {value if isinstance(value, str) else 'number'}"] += 1
        return Process(
            name,
            kill_at=event.kill_at,
            kill_on=event.kill_on,
            stall_on=event.stall_on,
            stall_for=event.stall_for,
            end_on=event.end_on,
        )

    # --- people

    def _act(self, event: Event, repo: Repository, issue: Issue) -> None:
        number = issue.number
        acts: dict[str, Callable[[], object]] = {
            "edit text": lambda: repo.edit_issue(number, title=event.word),
            "edit and change back": lambda: self._change_back(repo, issue, event.word),
            "close or reopen": lambda: (repo.close if issue.state == "open" else repo.reopen)(number),
            "lock or unlock": lambda: (repo.unlock if issue.locked else repo.lock)(number),
            "take a label off": lambda: repo.unlabel(number, issue.labels[0]) if issue.labels else None,
            "put a label on": lambda: self._put_on(repo, issue, event.word.split(" ", 1)[0]),
            "delete the issue": lambda: repo.delete_issue(number),
            "transfer the issue": lambda: repo.transfer_issue(number, "octo/elsewhere"),
        }
        acts.get(event.what, lambda: self._act_on_comment(event.what, repo, issue))()

    def _put_on(self, repo: Repository, issue: Issue, name: str) -> None:
        """A person's own choice, or what they had taken off before."""
        if name in LABELS and name.casefold() in repo.label_set:
            repo.label(issue.number, name)

    def _act_on_comment(self, what: str, repo: Repository, issue: Issue) -> None:
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
                    self._leave_twin(repo, issue.number, comment.body)

    def _leave_twin(self, repo: Repository, number: int, body: str) -> None:
        """As an earlier accident may have left one, which somebody may have liked since."""
        twin = repo.comment(number, body, by=BOT)
        self.world.watch.comment_ids.add(twin.id)
        if self.world.random.random() < 0.5:
            repo.react(twin.id)

    def _change_back(self, repo: Repository, issue: Issue, word: str) -> None:
        """Away and back again, with time between for a night to notice."""
        before, number = issue.title, issue.number
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
        world.settings = replace(world.settings, budget=SETTINGS.budget)
        for repo in world.repos:
            house.restore(repo)
        written, before = 0, len(world.summaries)
        self._quiet_nights()
        judge.buried(world, self.script)
        for _ in range(2):  # a labels row that is given back may give a comment back in turn
            world.ledger("main").retry()
            written = self._quiet_nights()
        if written:
            world.violate(f"after {3 * _QUIET_NIGHTS} quiet nights the bot still writes ({written} writes)")
        if len(world.summaries) - before != 3 * _QUIET_NIGHTS * len(world.repos):
            world.violate("a quiet night came to no end")
        for summary in world.summaries[-len(world.repos) :]:
            if summary.how != "done":
                world.violate(f"after {3 * _QUIET_NIGHTS} quiet nights one ends {summary.how}: {summary.tally.notes}")

    def _take_all_back(self) -> None:
        """At rest nothing is in flight: an undo of everything leaves what people touched, and no night repeats it."""
        world = self.world
        for repo in world.repos:
            runs.an_undo(world, Process("undo"), repo, tuple(issue.number for issue in repo.issues()))
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
            if len(world.repos) == 1:
                runs.a_night(world, Process("quiet"), world.repo, Orders())
            else:
                runs.a_tour(world, Process("quiet"), world.repos, Orders())
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
