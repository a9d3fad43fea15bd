"""No test can reach the home, the settings or the network of the machine it runs on."""

from __future__ import annotations

import os
import pwd
import socket
from pathlib import Path

import pytest

from tests.conftest import NetworkForbidden


def test_the_home_is_an_empty_one_of_the_tests_own() -> None:
    assert Path.home() != Path(pwd.getpwuid(os.getuid()).pw_dir)
    assert [*Path.home().iterdir()] == []
    assert {os.environ[name] for name in os.environ if name.startswith("XDG_")} == {str(Path.home())}


def test_no_token_key_or_proxy_of_the_machine_is_seen() -> None:
    strange = ("GITHUB_", "OPENAI_", "TRIAGEBOT_")
    assert [name for name in os.environ if name.startswith(strange) or name.upper().endswith("_PROXY")] == []


@pytest.mark.parametrize("address", ["192.0.2.1", "8.8.8.8"])
def test_no_connection_leaves_the_machine(address: str) -> None:
    with socket.socket() as sock:
        for connect in (sock.connect, sock.connect_ex):
            with pytest.raises(NetworkForbidden, match=f"tried to connect to {address}"):
                connect((address, 443))


def test_no_name_is_asked_for() -> None:
    with pytest.raises(socket.gaierror, match="tests know loopback only"):
        socket.create_connection(("github.example", 443))


def test_loopback_is_open() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.create_connection(("localhost", server.getsockname()[1])),
    ):
        pass
