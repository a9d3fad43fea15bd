"""One stage for one bot: an embedded GitHub and model of its own, and every night a process of its own."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from triagebot.core.faults import Fault
from triagebot.core.policy import LabelPolicy
from triagebot.demo import truth
from triagebot.demo.truth import Due
from triagebot.sandbox import faults, github, learnt, model, samples, server
from triagebot.sandbox.arming import Armed, On
from triagebot.sandbox.hub import TOKEN, Hub
from triagebot.sandbox.model import Stand
from triagebot.sandbox.repository import Repository

if TYPE_CHECKING:
    from triagebot.core.export import ExportedIssue

REPO = "octo/demo"

CONFIG = """\
# The embedded GitHub shows at once what it stored, and nobody there needs to be spared.
delivery: {settle: 0.5s, per_second: off, per_hour: off}
"""

SURE = LabelPolicy().min_confidence
"""How sure of a label the model must be for either bot to set it."""

_PATIENCE = 60.0
"""Seconds after which a process that has not come to its point is given up: many times what a busy machine takes."""

Night = subprocess.Popen[bytes]


class OffScript(Fault):
    """A process did not do what the play is about, so nothing was shown; the sentence says what."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Bot:
    """A bot as the stage sees it: a command, and which of its requests the faults are to meet.

    `lists` is its first read of the issues, `looks` its last read before it comments; where GitHub refuses that
    comment once, `before` such reads come before the one that it writes by. `marks` is whether its comments
    tell which text they are for, `ledger` the file that it must not lose.
    """

    name: str
    command: tuple[str, ...]
    environ: Mapping[str, str]
    lists: On
    looks: On
    before: int
    marks: bool
    ledger: Path | None


Maker = Callable[[str, str, Path], Bot]
"""Makes the bot from the address of its GitHub, that of its model, and a folder of its own."""


@dataclass
class Stage:
    """What the acts are played on. `due` is what each issue should carry by now.

    `people` are the labels that the samples' people set on each issue, `judged` those that the model gave it.
    """

    hub: Hub
    repo: Repository
    stand: Stand
    bot: Bot
    folder: Path
    advance: Callable[[], None]
    due: dict[int, Due] = field(default_factory=dict)
    people: dict[int, frozenset[str]] = field(default_factory=dict)
    judged: dict[int, frozenset[str]] = field(default_factory=dict)
    nights: list[Night] = field(default_factory=list)

    # --- the audience and the house

    def open_issues(self, *numbers: int) -> None:
        """Open some of the sample issues, a moment ago."""
        chosen = [issue for issue in samples.samples() if issue.number in numbers]
        samples.fill(self.repo, samples.recent(chosen, self.hub.now()))
        for issue in chosen:
            number = issue.number or 0
            self.people[number] = frozenset(issue.labels)
            self.judged[number] = labels = self._judged(issue)
            self.due[number] = Due(labels=labels, comment=bool(labels))

    def _judged(self, issue: ExportedIssue) -> frozenset[str]:
        """The labels of which the model is sure enough, by asking it beside the bot and not through it."""
        answer = self.stand.answer((label.name for label in self.repo.labels()), issue.title, issue.body or "")
        return frozenset(label["name"] for label in answer["labels"] if label["confidence"] >= SURE)

    def delete_comment(self, number: int) -> None:
        """A maintainer deletes what the bot wrote on an issue: none is due there any more."""
        for comment in truth.own(self.repo.issue(number)):
            self.repo.delete_comment(comment.id)
        self.due[number] = Due(labels=self.due[number].labels, comment=False)

    def take_off_labels(self, number: int) -> None:
        """A maintainer takes off what labels an issue has: none is due there any more."""
        for name in self.repo.issue(number).labels:
            self.repo.unlabel(number, name)
        self.due[number] = Due(labels=frozenset(), comment=self.due[number].comment)

    @property
    def unmarked(self) -> int:
        """How many issues have no comment to know them again by."""
        return sum(not due.comment for due in self.due.values())

    # --- the nights

    def night(self) -> None:
        """A whole night that goes well."""
        self.end(self.start())

    def start(self) -> Night:
        """Start a night; it is on the list of those to be ended before any signal can interrupt us.

        In a thread, since Python runs signal handlers in the main one: an exception out of a handler in
        the middle of `Popen` would lose a process that is running already.
        """
        with ThreadPoolExecutor(1) as starter:
            return starter.submit(self._spawn).result()

    def _spawn(self) -> Night:
        with self._log(len(self.nights)).open("wb") as log:
            night = subprocess.Popen(  # noqa: S603 - our own program
                self.bot.command,
                env=self.bot.environ,
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        self.nights.append(night)
        return night

    def end(self, night: Night, *, codes: Sequence[int] = (0,)) -> None:
        """Wait for a night's end. Raises `OffScript` where its exit code is none of `codes`, or it does not end."""
        try:
            code = night.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            raise OffScript(f"a night of {self.bot.name} did not end within {_PATIENCE:.0f} s") from None
        self.advance()
        if code not in codes:
            raise OffScript(f"a night of {self.bot.name} ended with code {code}: {self._last_words(night)}")

    def kill(self, night: Night) -> None:
        """SIGKILL: nothing in the process gets to know."""
        night.kill()
        night.wait()
        self.advance()

    def reached(self, armed: Armed, night: Night) -> None:
        """Wait until a night hangs in a fault. Raises `OffScript` where it ends before, or never comes there."""
        deadline = time.monotonic() + _PATIENCE
        while not armed.reached.wait(0.02):
            if night.poll() is not None or time.monotonic() > deadline:
                raise OffScript(
                    f"a night of {self.bot.name} never met the fault {armed.fault.name!r}: {self._last_words(night)}"
                )

    # --- what else can happen to them

    def let_leases_end(self) -> None:
        """Let pass at once what is left of every lease, instead of waiting for it."""
        if self.bot.ledger is not None:
            with closing(sqlite3.connect(self.bot.ledger)) as ledger, ledger:
                ledger.execute("UPDATE outbox SET lease_until = min(lease_until, ?)", [time.time()])
                ledger.execute("UPDATE runs SET lease_until = min(lease_until, ?)", [time.time()])

    def lose_the_ledger(self) -> None:
        if self.bot.ledger is not None:
            for file in self.bot.ledger.parent.glob(f"{self.bot.ledger.name}*"):
                file.unlink()

    def sweep_up(self) -> None:
        """End what an act left behind when it broke off."""
        for night in self.nights:
            if night.poll() is None:
                night.kill()
                night.wait()
        self.hub.faults.clear()
        self.stand.release()

    def _log(self, number: int) -> Path:
        return self.folder / f"night-{number}.log"

    def _last_words(self, night: Night) -> str:
        said = self._log(self.nights.index(night)).read_text(encoding="utf-8", errors="replace").split("\n")
        return next((line.strip() for line in reversed(said) if line.strip()), "it said nothing")


@contextmanager
def raised(make: Maker, folder: Path, advance: Callable[[], None]) -> Iterator[Stage]:
    """A stage with nothing on it yet; `advance` is called whenever a night has ended."""
    hub, stand = Hub(), Stand(answer=learnt.answer)
    repo = hub.create_repository(REPO, labels=samples.LABELS.items())
    folder.mkdir()
    with server.serve(github.app(hub)) as github_url, server.serve(model.app(stand)) as model_url:
        bot = make(github_url, f"{model_url}/v1", folder)
        stage = Stage(hub, repo, stand, bot, folder, advance)
        try:
            yield stage
        finally:
            stage.sweep_up()


def triagebot(command: Sequence[str], environ: Mapping[str, str]) -> Maker:
    """The bot itself, by `command`; `environ` is what its processes inherit."""

    def make(github_url: str, model_url: str, folder: Path) -> Bot:
        config, ledger = folder / "triagebot.yml", folder / "ledger.db"
        config.write_text(CONFIG, encoding="utf-8")
        settings = {
            "GITHUB_API_URL": github_url,
            "GITHUB_TOKEN": TOKEN,
            "GITHUB_REPOSITORY": REPO,
            "OPENAI_BASE_URL": model_url,
            "TRIAGEBOT_MODEL": "stand-in",
            "TRIAGEBOT_LEDGER": str(ledger),
            "XDG_STATE_HOME": str(folder),
        }
        return Bot(
            name="triagebot",
            command=(*command, "run", "--config", str(config)),
            environ=_inherited(environ) | settings,
            lists=faults.SWEEP,
            looks=faults.LOOK,
            before=1,
            marks=True,
            ledger=ledger,
        )

    return make


def naive(environ: Mapping[str, str]) -> Maker:
    """The bot without a ledger. It looks once, when it lists."""

    def make(github_url: str, model_url: str, folder: Path) -> Bot:
        del folder
        listing = On(method="GET", path="/repos/*/issues")
        return Bot(
            name="the bot without a ledger",
            command=(sys.executable, "-m", "triagebot.demo.naive", github_url, REPO, TOKEN, model_url, str(SURE)),
            environ=_inherited(environ),
            lists=listing,
            looks=listing,
            before=0,
            marks=False,
            ledger=None,
        )

    return make


def _inherited(environ: Mapping[str, str]) -> dict[str, str]:
    """Nothing by which a night could leave this machine or touch somebody's own settings and ledger."""
    ours = ("GITHUB_", "OPENAI_", "TRIAGEBOT_", "XDG_")
    return {n: v for n, v in environ.items() if not n.startswith(ours) and not n.upper().endswith("_PROXY")}
