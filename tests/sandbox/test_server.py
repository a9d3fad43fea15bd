"""An embedded server starts at once, stops whatever hangs in it, and says nothing."""

from __future__ import annotations

import asyncio
import socket
import threading
import time

import pytest
import requests

from triagebot.sandbox import server


async def _app(scope, receive, send) -> None:
    if scope["path"] == "/hang":
        await asyncio.Event().wait()
    if scope["path"] == "/cut":
        await server.cut(scope)
        return
    if scope["path"] == "/bug":
        raise ZeroDivisionError
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"ok"})


def test_it_answers_inside_the_block_only() -> None:
    with server.serve(_app) as url:
        assert requests.get(url, timeout=5).text == "ok"
    with pytest.raises(requests.ConnectionError):
        requests.get(url, timeout=5)


def test_it_stops_at_once_though_a_handler_hangs(capfd: pytest.CaptureFixture[str]) -> None:
    ended = threading.Event()

    def hang(url: str) -> None:
        with pytest.raises(requests.ConnectionError):
            requests.get(f"{url}/hang", timeout=30)
        ended.set()

    with server.serve(_app) as url:
        threading.Thread(target=hang, args=(url,)).start()
        with pytest.raises(requests.ReadTimeout):
            requests.get(f"{url}/hang", timeout=0.1)
        before = time.monotonic()
    assert time.monotonic() - before < 2
    assert ended.wait(5)
    assert not [thread for thread in threading.enumerate() if thread.name == "sandbox-server"]
    assert capfd.readouterr() == ("", "")


def test_a_cut_connection_is_closed_without_an_answer(capfd: pytest.CaptureFixture[str]) -> None:
    with server.serve(_app) as url, pytest.raises(requests.ConnectionError):
        requests.get(f"{url}/cut", timeout=5)
    assert capfd.readouterr() == ("", "")


def test_an_answer_on_a_kept_connection_does_not_wait_for_an_acknowledgement() -> None:
    """Twenty answers in well under the 40 ms each that Nagle's rule would cost."""
    with server.serve(_app) as url, requests.Session() as session:
        session.get(url, timeout=5)
        before = time.monotonic()
        for _ in range(20):
            session.get(url, timeout=5)
        assert time.monotonic() - before < 0.6


def test_a_taken_port_is_told_at_once() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as taken,
        pytest.raises(OSError, match="in use"),
        server.serve(_app, port=taken.getsockname()[1]),
    ):
        pass


def test_a_bug_in_a_handler_is_seen(capfd: pytest.CaptureFixture[str]) -> None:
    with server.serve(_app) as url:
        assert requests.get(f"{url}/bug", timeout=5).status_code == 500
