"""Whether more hosts do more: nights of 1, 2, 4 and 8 processes over one repository, with one PostgreSQL.

Counted from the model's first answer to GitHub's last write, so that the start of the processes, which on few cores
is most of a short night, is left out. The model takes 0.2 s an answer, and nothing is paced.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.bench.frame import Line, Setting, benchmark, interleaved
from tests.bench.ground import CONFIG, Ground, ground

PROCESSES = (1, 2, 4, 8)
WORKERS = 4
LATENCY = 0.2


@benchmark("scale-out", "issues a second of several processes with one PostgreSQL")
def scale_out(setting: Setting) -> Iterator[Line]:
    from tests.ledger import servers

    each = setting.size(60, small=4)
    with servers.own() as server:
        crews = {count: Crew(count, each, server.get_uri(), setting.folder) for count in PROCESSES}
        taken = interleaved(setting, {str(count): crew.rate for count, crew in crews.items()}, warm_up=False)
    for count, crew in crews.items():
        yield Line(
            f"{count} process{'es' if count > 1 else ''}, {each * count} issues, {WORKERS} workers each",
            "issues/s",
            ours=taken[str(count)],
            against={} if count == 1 else {"one process": taken["1"]},
            note=crew.told(),
            limit_by=crew.limit(),
        )


@dataclass
class Crew:
    """So many processes, each with `each` issues to do, which are all in one repository."""

    count: int
    each: int
    server: str
    folder: Path
    _numbers: Iterator[int] = field(default_factory=itertools.count)
    _used: list[tuple[float, float, float]] = field(default_factory=list)

    def rate(self) -> float:
        """Issues a second."""
        name = f"crew_{self.count}_{next(self._numbers)}"
        with ground(self.folder / name, latency=LATENCY) as ours:
            ours.open(self.each * self.count)
            (ours.folder / "config.yml").write_text(CONFIG, encoding="utf-8")
            ours.seen()
            with self._watched():
                self._live(ours, name)
            assert ours.comments() == [1] * self.each * self.count, "every issue has one comment"
            traffic = ours.seen()
        return self.each * self.count / (traffic.writes[-1] - traffic.answers[0])

    def told(self) -> str:
        """What was at work meanwhile, whole nights with their starts."""
        cores, sessions, own = self._average()
        ideal, issue = self.count * WORKERS / LATENCY, 1000 * own / (self.each * self.count)
        return (
            f"the model would allow {ideal:.0f}; {cores:.1f} cores and {sessions:.2f} database sessions were at work; "
            f"an issue took {issue:.0f} ms of a core in the nights, with their starts"
        )

    def limit(self) -> str:
        cores, sessions, _ = self._average()
        if cores > 0.85 * (os.cpu_count() or 1):
            return "the cores, which are all at work: nights, both servers, and PostgreSQL share them"
        return "the database" if sessions > self.count / 2 else "the model's answers, and the first and last of them"

    def _average(self) -> tuple[float, ...]:
        """Cores and sessions at work, and the seconds of a core that the nights took."""
        return tuple(statistics.mean(each) for each in zip(*self._used, strict=True))

    def _live(self, ours: Ground, schema: str) -> None:
        environ = ours._environ() | {"TRIAGEBOT_LEDGER": f"{self.server}&schema={schema}"}
        words = [sys.executable, "-m", "triagebot", "run", "--config", str(ours.folder / "config.yml")]
        with contextlib.ExitStack() as stack:
            hosts = [
                stack.enter_context(_started([*words, "--workers", str(WORKERS)], environ)) for _ in range(self.count)
            ]
            for host in hosts:
                said = host.communicate()[0]
                assert host.returncode in (0, 1), said.decode()  # 1: at its end, others still held some issues

    @contextlib.contextmanager
    def _watched(self) -> Iterator[None]:
        before, began = (_busy_seconds(), self._active_seconds(), _ended_seconds()), time.monotonic()
        yield
        after, took = (_busy_seconds(), self._active_seconds(), _ended_seconds()), time.monotonic() - began
        busy, active, own = (now - then for now, then in zip(after, before, strict=True))
        self._used.append((busy / took, active / took, own))

    def _active_seconds(self) -> float:
        """How long all sessions together have been at work on a statement; 0 before PostgreSQL 14."""
        import psycopg

        with psycopg.connect(self.server, autocommit=True) as connection:
            row = connection.execute(
                "SELECT to_jsonb(s) ->> 'active_time' FROM pg_stat_database AS s WHERE datname = current_database()"
            ).fetchone()
        return float(row[0] or 0) / 1000 if row else 0.0


@contextlib.contextmanager
def _started(words: list[str], environ: dict[str, str]) -> Iterator[subprocess.Popen[Any]]:
    with subprocess.Popen(words, env=environ, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as host:
        try:
            yield host
        finally:
            host.kill()


def _ended_seconds() -> float:
    """What the processes that this one started, and that have ended, took of a core."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _busy_seconds() -> float:
    """What all cores of the machine have worked since it started, whoever they worked for; 0 where nobody tells."""
    stat = Path("/proc/stat")
    if not stat.exists():
        return 0.0
    user, nice, system, _idle, _waiting, *rest = map(int, stat.read_text().split("\n", 1)[0].split()[1:9])
    return (user + nice + system + sum(rest)) / 100
