"""What every test gets: a GitHub of its own, guards round the machine, and the contract check.

The contract check watches every hub that is served by any test: each REST answer and
request body is held to GitHub's published description, each GraphQL document to its
published schema. What is wrong fails the test that caused it; answers that a fault made
wrong on purpose are left out. Both descriptions lie beside the checkout; without them
the check is skipped, and the summary says so.
"""

from __future__ import annotations

import gc
import os
import shutil
import socket
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.contract import FOLDER, Contract
from triagebot.sandbox import github, server
from triagebot.sandbox.exchange import Exchange
from triagebot.sandbox.hub import Hub
from triagebot.sandbox.repository import Repository

LABELS = {
    "bug": "Something is broken",
    "enhancement": "A wish for something new",
    "question": "Somebody asks how",
    "documentation": "The docs are wrong or missing",
    "performance": "It works, but slowly",
    "good first issue": "Small and well described",
}


# --- speed


MEMORY = Path("/dev/shm")
ROOM = 1 << 30


def pytest_configure(config: pytest.Config) -> None:
    """Folders of tests lie in memory where it has room: a commit takes 2 ms on a disk of the kind that CI has.

    SQLite does the same there but for the wait, and what a kill of a process leaves is the same. The slow tests
    stay on the disk, and so does whatever `--basetemp` or PYTEST_DEBUG_TEMPROOT names.
    """
    if config.option.markexpr == "not slow" and MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > ROOM:
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))


def pytest_collection_finish() -> None:
    """What the imports made stays to the end: the collector need not walk it over and over (8 % of the time)."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 20, 20)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """A process that has nothing left takes from the other: else one idles while the other plays the histories.

    Left to itself (`--dist load`), pytest-xdist hands out whole runs of neighbours: of 740 s of work one process
    got 430 s. What the command line names stands; `--dist worksteal` cannot be the default without `-n`.
    """
    from xdist.scheduler import WorkStealingScheduling

    return WorkStealingScheduling(config, log) if config.getvalue("dist") == "load" else None


# --- an embedded GitHub


@pytest.fixture
def hub() -> Hub:
    """A fresh GitHub with the repository octo/demo and ordinary labels."""
    hub = Hub()
    hub.create_repository("octo/demo", labels=LABELS.items())
    return hub


@pytest.fixture
def repo(hub: Hub) -> Repository:
    return hub.repository("octo/demo")


@pytest.fixture
def github_url(hub: Hub) -> Iterator[str]:
    """The base URL of `hub`, served over real HTTP; token: `triagebot.sandbox.hub.TOKEN`."""
    with server.serve(github.app(hub)) as url:
        yield url
        hub.faults.clear()


if find_spec("triagebot.sandbox.model"):

    @pytest.fixture
    def stand() -> Any:
        """A fresh embedded model."""
        from triagebot.sandbox import model

        return model.Stand()

    @pytest.fixture
    def model_server(stand: Any) -> Iterator[str]:
        """The base URL of `stand`, as `OPENAI_BASE_URL` wants it."""
        from triagebot.sandbox import model

        with server.serve(model.app(stand)) as url:
            yield f"{url}/v1"
            stand.release()


# --- guards round the machine


@pytest.fixture(autouse=True)
def _no_settings_of_this_machine(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """No test sees the real home, ledger or configuration, nor a token, key or proxy."""
    for name in os.environ:
        ours = name.startswith(("GITHUB_", "OPENAI_", "TRIAGEBOT_", "XDG_", "PG"))
        if ours or name.upper().endswith("_PROXY") or name in {"CI", "NO_COLOR"}:
            monkeypatch.delenv(name)
    home = tmp_path_factory.mktemp("home")
    for name in ("HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(home))


class NetworkForbidden(RuntimeError):
    """A test tried to leave this machine."""


@pytest.fixture(autouse=True, scope="session")
def _no_network_beyond_loopback() -> Iterator[None]:
    look_up = socket.getaddrinfo

    def guarded(connect: Callable[[socket.socket, Any], Any]) -> Callable[[socket.socket, Any], Any]:
        def to(self: socket.socket, address: Any) -> Any:
            if self.family in (socket.AF_INET, socket.AF_INET6) and not _is_loopback(address[0]):
                raise NetworkForbidden(f"A test tried to connect to {address[0]}; tests talk to loopback only.")
            return connect(self, address)

        return to

    def guarded_look_up(host: Any, *args: Any, **kwargs: Any) -> Any:
        # As a machine without a network would say it: so a test may ask for a name that nobody has.
        if host and not _is_loopback(host if isinstance(host, str) else host.decode()):
            raise socket.gaierror(socket.EAI_NONAME, f"{host!r} is not known: tests know loopback only")
        return look_up(host, *args, **kwargs)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket.socket, "connect", guarded(socket.socket.connect))
        patch.setattr(socket.socket, "connect_ex", guarded(socket.socket.connect_ex))
        patch.setattr(socket, "getaddrinfo", guarded_look_up)
        yield


def _is_loopback(host: str) -> bool:
    return host in ("localhost", "::1", "") or host.startswith("127.")


# --- the contract check

_contract = Contract(FOLDER)
_seen: list[Exchange] = []
Hub.watchers = (_seen.append,)


@pytest.fixture
def off_contract() -> None:
    """For a test whose client is wrong on purpose: nothing that it sends or gets is checked."""


@pytest.fixture(autouse=True)
def _the_contract_holds(request: pytest.FixtureRequest) -> Iterator[None]:
    """Checked when the test is over, so that nothing slows it down."""
    _seen.clear()
    yield
    if FOLDER.is_dir() and "off_contract" not in request.fixturenames:
        wrong = [each for exchange in [*_seen] for each in _contract.faults_of(exchange)]
        assert not wrong, "GitHub's published description does not allow this:\n" + "\n".join(dict.fromkeys(wrong))


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Under pytest-xdist the controller sums up what its workers checked."""
    for name, count in getattr(node, "workeroutput", {}).get("contract", {}).items():
        _contract.counts[name] += count


def pytest_sessionfinish(session: pytest.Session) -> None:
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["contract"] = _contract.counts


def pytest_terminal_summary(terminalreporter: Any) -> None:
    if not FOLDER.is_dir():
        terminalreporter.write_line(
            "Contract check skipped: GitHub's published descriptions are not beside this checkout"
        )
        return
    told = ", ".join(f"{count} {name}" for name, count in _contract.counts.items())
    terminalreporter.write_line(f"Held to GitHub's published descriptions: {told}.")
