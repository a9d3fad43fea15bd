"""A whole drill: a ledger to stand on, a crew, rounds until one breaks, and nothing left behind."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from triagebot.core.faults import LedgerUnusable
from triagebot.drill import namespace
from triagebot.drill.crew import Crew, hired
from triagebot.drill.namespace import Namespace
from triagebot.drill.rounds import Round, Terms
from triagebot.drill.score import RoundEnds, Rule, Score
from triagebot.drill.talk import Stopped
from triagebot.ledger import address as addresses
from triagebot.ledger import opening
from triagebot.ledger.address import Server
from triagebot.ledger.ledger import Ledger
from triagebot.nightly.report import Observer
from triagebot.nightly.stop import Stop

OPENER = "triagebot.ledger.opening:open_ledger"


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """What to try. `opener` names what the processes open the ledger with: the tests name broken ones."""

    times: int
    processes: int
    terms: Terms = field(default_factory=Terms)
    opener: str = OPENER


@dataclass(frozen=True, kw_only=True, slots=True)
class Ground:
    """The ledger that a drill works on, as people read it (`told`), and a folder for its own files."""

    address: str = field(repr=False)
    told: str
    folder: Path


@dataclass
class Report:
    """How it went. A drill that was stopped, or that did not come to its last round, has proved nothing."""

    plan: Plan
    ground: Ground
    score: Score = field(default_factory=Score)
    seconds: float = 0.0
    stopped: bool = False

    @property
    def held(self) -> bool:
        score = self.score
        return not score.breaches and all(score.held[rule] == self.plan.times for rule in Rule)


@contextmanager
def given_ledger(address: str) -> Iterator[Ground]:
    """A ledger that is there and has real rows, which the drill's own stand beside for a while."""
    with tempfile.TemporaryDirectory(prefix="triagebot-drill-") as folder:
        told = f"{addresses.parse(address)}, in rows of its own"
        yield Ground(address=address, told=told, folder=Path(folder))


@contextmanager
def own_ledger(beside: str | Path) -> Iterator[Ground]:
    """A new ledger where the real one is: the same file system or server, so the same locks and the same disk.

    Where the file's folder is not there yet, among the system's temporary files. Raises `LedgerUnusable`.
    """
    place = addresses.parse(beside)
    with _own_schema(place) if isinstance(place, Server) else _own_file(Path(beside)) as ground:
        yield ground


@contextmanager
def _own_schema(server: Server) -> Iterator[Ground]:
    with (
        tempfile.TemporaryDirectory(prefix="triagebot-drill-") as folder,
        opening.passing_schema(server, "triagebot_drill") as address,
    ):
        yield Ground(address=address, told=f"a schema of its own on {server}", folder=Path(folder))


@contextmanager
def _own_file(beside: Path) -> Iterator[Ground]:
    folder = beside.expanduser().absolute().parent
    told = (
        "a ledger of its own in {}" if folder.is_dir() else f"a ledger of its own in {{}} ({folder} is not there yet)"
    )
    try:
        made = tempfile.TemporaryDirectory(prefix="triagebot-drill-", dir=folder if folder.is_dir() else None)
    except OSError as error:
        raise LedgerUnusable(
            f"the ledger's folder {folder} cannot be written to ({error.strerror}), so no night could work there: "
            "make it writable for this user, or name another ledger"
        ) from error
    with made as name:
        opening.open_ledger(f"{name}/ledger.db").close()
        yield Ground(address=f"{name}/ledger.db", told=told.format(Path(name).parent), folder=Path(name))


def run(plan: Plan, ground: Ground, observer: Observer, stop: Stop) -> Report:
    """Play rounds until all are played, one breaks a rule, or `stop` is asked for.

    Raises `LedgerUnusable` or `LedgerBusy` where the ledger cannot be worked with at all.
    """
    report, began = Report(plan=plan, ground=ground), time.monotonic()
    with opening.open_ledger(ground.address, must_exist=True) as ledger, _rows(ledger) as space:
        crew = Crew(given=_given(plan, ground, space), folder=ground.folder, stop=stop, patience=plan.terms.answer)
        try:
            with hired(crew):
                _start(crew, plan, observer)
                _play(crew, ledger, space, report, observer)
        except Stopped:
            report.stopped = True
    if report.stopped:
        observer.say("drill: stopped; its processes have ended and its rows are gone")
    report.seconds = time.monotonic() - began
    return report


@contextmanager
def _rows(ledger: Ledger) -> Iterator[Namespace]:
    namespace.clear_what_was_left(ledger)
    space = Namespace.fresh()
    try:
        yield space
    finally:
        namespace.clear(ledger, space)


def _given(plan: Plan, ground: Ground, space: Namespace) -> dict[str, object]:
    where = {"address": ground.address, "opener": plan.opener, "log": str(_log(ground))}
    return where | {"repo_id": space.repo_id, "day": space.day.isoformat()}


def _start(crew: Crew, plan: Plan, observer: Observer) -> None:
    observer.stage("processes", plan.processes)
    for number in range(1, plan.processes + 1):
        crew.start(number)
        if crew.stop.asked:
            raise Stopped
        observer.advance()


def _play(crew: Crew, ledger: Ledger, space: Namespace, report: Report, observer: Observer) -> None:
    plan, score = report.plan, report.score
    observer.stage("rounds", plan.times)
    for number in range(1, plan.times + 1):
        log = _log(report.ground)
        with suppress(RoundEnds):
            Round(number, crew, ledger, space, log, plan.terms, score).play()
        score.end_round()
        if score.breaches:
            return
        observer.advance()


def _log(ground: Ground) -> Path:
    return ground.folder / "writes"
