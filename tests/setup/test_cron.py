"""The crontab line that `init` writes, run by Debian's own cron: two slots at once, one comment on each issue.

The daemon gets a mount namespace of its own, in which the machine's crontabs are out of sight.
"""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from tests.world import World
from triagebot.sandbox.hub import TOKEN

_PATH = f"{os.defpath}:/usr/sbin:/sbin"
_DAEMON = shutil.which("cron", path=_PATH)
_ALONE = ["unshare", "--mount", "--propagation", "private", "sh", "-euc"]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(_DAEMON is None, reason="no cron daemon is installed (Debian: apt-get install cron)"),
    pytest.mark.skipif(os.geteuid() != 0, reason="a cron daemon needs root"),
]


def _hidden(crontab: Path) -> str:
    """A shell's words for a machine whose only crontab is `crontab`."""
    return f"""
        for place in /var/spool/cron /etc/cron.d /run; do mount -t tmpfs none "$place"; done
        mount --bind /dev/null /etc/crontab
        mkdir -m 1730 /var/spool/cron/crontabs
        crontab {shlex.quote(str(crontab))}
        exec {_DAEMON} -f
    """


@contextmanager
def _cron(crontab: Path) -> Iterator[subprocess.Popen[bytes]]:
    if subprocess.run([*_ALONE, "mount -t tmpfs none /mnt"], capture_output=True, check=False).returncode:
        pytest.skip("this machine gives nobody a mount namespace, which keeps its own crontabs out of the test")
    daemon = subprocess.Popen([*_ALONE, _hidden(crontab)], env={"PATH": _PATH}, start_new_session=True)
    try:
        yield daemon
    finally:
        os.killpg(daemon.pid, signal.SIGKILL)
        daemon.wait(10)


def _in_a_moment() -> str:
    """The next whole minute that cron, which wakes at each, surely has not passed yet."""
    at = datetime.now().astimezone() + timedelta(seconds=65)  # cron(8): local time
    return f"{at.minute} {at.hour} {at.day} {at.month} *"


def test_two_slots_at_once_leave_one_comment_on_each_issue(world: World, tmp_path: Path) -> None:
    for title in ("One", "Two", "Three"):
        world.crash(title)
    place = tmp_path / "a server's 100% own"
    place.mkdir()
    env = {name: world.env[name] for name in ("GITHUB_API_URL", "TRIAGEBOT_LEDGER")} | {"GITHUB_TOKEN": TOKEN}
    program = [sys.executable, "-m", "triagebot", "init", "--preset", "ollama", "--cron", "--yes"]
    subprocess.run(
        [*program, "--repo", "octo/demo", "--url", world.env["OPENAI_BASE_URL"]],
        cwd=place,
        env={**os.environ, **env},
        check=True,
    )
    [night, again, alarm] = [x for x in (place / "triagebot.crontab").read_text().splitlines() if x[0] != "#"]
    assert night.split()[5:] == again.split()[5:]
    when = _in_a_moment()
    both = [f"{when} {line.split(maxsplit=5)[5]}\n" for line in (night, again)]
    (tmp_path / "crontab").write_text('MAILTO=""\n' + "".join(both))
    log = place / "triagebot.log"
    with _cron(tmp_path / "crontab") as daemon:
        until = time.monotonic() + 300
        while not log.exists() or log.read_text().count("octo/demo, night ") < 2:
            assert daemon.poll() is None, "cron ended"
            assert time.monotonic() < until, log.read_text() if log.exists() else "cron started nothing"
            time.sleep(0.2)  # another program's clock, and its file
    assert world.own_per_issue() == [1, 1, 1]
    assert world.stand.count == 3
    assert log.stat().st_mode & 0o077 == 0
    assert "Traceback" not in log.read_text()
    alarmed = alarm.split(maxsplit=5)[5].replace("\\%", "%")
    assert subprocess.run(["sh", "-c", alarmed], env={"PATH": os.defpath}, check=False).returncode == 0
