"""Behind a proxy, with a private authority, on an own server, as an App: both edges get there, or say why not."""

from __future__ import annotations

import base64
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests import ways
from tests.keys import Authority, authority, rsa_pair
from tests.ways import Proxy
from tests.world import Ran, World
from triagebot.sandbox.hub import BOT

GHE, MODELS = "ghe.invalid", "models.invalid"


@pytest.fixture(scope="session")
def company(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return authority(tmp_path_factory.mktemp("company"), GHE, MODELS)


def _inside(path: str) -> str:
    """An own server has its API under /api/v3, and GraphQL beside that."""
    return path.replace("/api/graphql", "/graphql").removeprefix("/api/v3")


@dataclass
class Company:
    """A world whose servers are reached by names that only its proxy knows, over TLS by its own authority."""

    world: World
    proxy: Proxy
    ports: dict[str, int]
    ca: Path

    @property
    def env(self) -> dict[str, str]:
        return {
            "GITHUB_API_URL": f"https://{GHE}/api/v3",
            "OPENAI_BASE_URL": f"https://{MODELS}/v1",
            "OPENAI_API_KEY": "sk-of-the-company",
            "HTTPS_PROXY": self.proxy.url,
            "SSL_CERT_FILE": str(self.ca),
        }

    def run(self, command: str = "run", *argv: str, **env: str) -> Ran:
        return self.world.run("--format", "json", *argv, command=command, **{**self.env, **env})

    def found(self, *argv: str, **env: str) -> dict[str, dict[str, str]]:
        return {finding["check"]: finding for finding in self.run("doctor", *argv, **env).json["findings"]}


@pytest.fixture
def at_work(world: World, company: Authority) -> Iterator[Company]:
    world.crash()
    with ExitStack() as stack:
        behind = {GHE: world.env["GITHUB_API_URL"], MODELS: world.env["OPENAI_BASE_URL"]}
        ports = {
            host: stack.enter_context(ways.https(urlsplit(url).port or 0, company, _inside))
            for host, url in behind.items()
        }
        yield Company(world, stack.enter_context(ways.proxy(ports)), ports, company.ca)


def test_a_night_behind_it_all(at_work: Company) -> None:
    """As an App, on an own server, through the proxy, by the company's authority."""
    app = at_work.world.hub.apps.add(BOT, rsa_pair().public, "octo/demo")
    key = rsa_pair().private.replace("\n", "\\n")  # as a file of variables holds it
    ran = at_work.run(GITHUB_TOKEN="", TRIAGEBOT_APP_ID=str(app.id), TRIAGEBOT_APP_PRIVATE_KEY=key)
    assert ran.code == 0, ran.err
    assert at_work.world.own_per_issue() == [1]
    assert {*at_work.proxy.asked} == {f"{GHE}:443", f"{MODELS}:443"}
    assert at_work.world.hub.apps.minted == 1


def test_doctor_sees_the_way(at_work: Company) -> None:
    found = at_work.found("--ask")
    assert [check for check, finding in found.items() if finding["state"] == "broken"] == []
    assert f"https://{GHE}/api/v3 through {at_work.proxy.url}, authorities in" in found["github"]["fact"]
    assert f"https://{MODELS}/v1 through {at_work.proxy.url}" in found["endpoint"]["fact"]


def test_no_proxy_names_who_is_reached_directly(at_work: Company) -> None:
    direct = {
        "GITHUB_API_URL": f"https://127.0.0.1:{at_work.ports[GHE]}/api/v3",
        "NO_PROXY": "127.0.0.1",
        "GITHUB_TOKEN": at_work.world.env["GITHUB_TOKEN"],
    }
    ran = at_work.run(**direct)
    assert ran.code == 0, ran.err
    assert {*at_work.proxy.asked} == {f"{MODELS}:443"}


def test_without_the_authority_neither_edge_goes_on_and_both_name_it(at_work: Company) -> None:
    found = at_work.found("--ask", SSL_CERT_FILE="")
    for check in ("github", "endpoint"):
        assert found[check]["state"] == "broken"
        assert "SSL_CERT_FILE" in found[check]["mend"]
    ran = at_work.run(SSL_CERT_FILE="")
    assert ran.code == 2
    assert "SSL_CERT_FILE" in ran.err
    assert at_work.world.hub.requests == []


def test_another_authority_is_not_enough(at_work: Company, tmp_path: Path) -> None:
    folder = tmp_path / "other"
    folder.mkdir()
    found = at_work.found(SSL_CERT_FILE=str(authority(folder, GHE).ca))
    assert found["github"]["state"] == "broken"


def test_a_folder_of_authorities_serves_both_edges(at_work: Company, tmp_path: Path, company: Authority) -> None:
    """`openssl rehash` names each file by a hash of its subject; the name here is that of the company's authority."""
    import subprocess

    folder = tmp_path / "authorities"
    folder.mkdir()
    (folder / "ca.pem").write_bytes(company.ca.read_bytes())
    subprocess.run(["openssl", "rehash", str(folder)], check=True, capture_output=True)
    ran = at_work.run(SSL_CERT_FILE="", SSL_CERT_DIR=str(folder))
    assert ran.code == 0, ran.err


def test_a_proxy_with_a_password_is_given_it_and_nobody_else_sees_it(at_work: Company) -> None:
    wanted = "Basic " + base64.b64encode(b"me:hunter22").decode()
    at_work.proxy.credentials = wanted
    address = at_work.proxy.url.replace("http://", "http://me:hunter22@")
    ran = at_work.run(HTTPS_PROXY=address)
    assert ran.code == 0, ran.err
    assert {*at_work.proxy.said} == {wanted}
    told = at_work.run("doctor", HTTPS_PROXY=address)
    assert "hunter22" not in told.out + told.err


def test_a_proxy_that_wants_a_password_is_told(at_work: Company) -> None:
    at_work.proxy.credentials = "Basic x"
    found = at_work.found("--ask")
    assert "407" in found["github"]["fact"]
    assert "the proxy" in found["github"]["mend"]
    assert "407" in found["endpoint"]["fact"]
    assert found["endpoint"]["state"] == "broken"


def test_a_proxy_that_nobody_answers_at_is_named(at_work: Company) -> None:
    """The connection fails on the way, and the words of the library tell of no way."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        nobody = f"127.0.0.1:{taken.getsockname()[1]}"
    found = at_work.found("--ask", HTTPS_PROXY=f"http://me:hunter22@{nobody}")
    for check in ("github", "endpoint"):
        assert found[check]["state"] == "broken"
        assert f", asked through the proxy http://{nobody}" in found[check]["fact"]


def test_an_address_without_its_path_is_told(at_work: Company) -> None:
    found = at_work.found(GITHUB_API_URL=f"https://{GHE}/api/v4")
    assert found["github"]["state"] == "broken"
    assert "/api/v3" in found["github"]["mend"]
