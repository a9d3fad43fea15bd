"""One request: bounded in time, to one place, with our headers only, through the proxies and certificates of the
environment."""

from __future__ import annotations

import threading
import time

import pytest

from triagebot.core.faults import Misconfigured, ModelUnreachable, ModelUnusable
from triagebot.model.client import OpenAIModel
from triagebot.model.endpoint import Endpoint


def took(action) -> float:
    started = time.monotonic()
    action()
    return time.monotonic() - started


@pytest.mark.parametrize("name", ["hang", "trickle"])
def test_a_server_that_never_ends_its_answer_costs_one_timeout_an_attempt(make_model, stand, question, name):
    """Blank lines keep a read timeout from ever firing, so the whole answer is bounded too."""
    stand.fault(name, times=None)
    late = threading.Timer(3.0, stand.release)  # so that a broken bound fails and does not hang
    late.start()
    with pytest.raises(ModelUnreachable, match="ReadTimeout") as caught:
        make_model(timeout=0.2, attempts=2).ask(question)
    late.cancel()
    assert stand.count == caught.value.requests == 2


def test_a_hanging_server_cannot_hold_a_question_past_its_deadline(stand, base_url, question):
    stand.fault("hang", times=None)
    endpoint = Endpoint(name="m", base_url=base_url, timeout=0.2, deadline=0.5, attempts=50)
    model = OpenAIModel(endpoint, sleep=lambda seconds: None)

    def ask() -> None:
        with pytest.raises((ModelUnreachable, ModelUnusable)):
            model.ask(question)

    assert took(ask) < 1.5
    model.close()


def test_a_request_gets_no_more_time_than_the_deadline_leaves(stand, base_url, question):
    stand.fault("hang", times=None)
    model = OpenAIModel(Endpoint(name="m", base_url=base_url, timeout=60.0, deadline=0.3, attempts=5))

    def ask() -> None:
        with pytest.raises(ModelUnreachable):
            model.ask(question)

    assert took(ask) < 2.0
    assert stand.count == 1
    model.close()


ENVIRONMENT = {
    "OPENAI_API_KEY": "sk-environment",
    "OPENAI_ADMIN_KEY": "sk-environment-admin",
    "OPENAI_ORG_ID": "org-environment",
    "OPENAI_PROJECT_ID": "project-environment",
    "OPENAI_WEBHOOK_SECRET": "secret-environment",
    "OPENAI_BASE_URL": "http://environment.invalid/v1",
    "OPENAI_CUSTOM_HEADERS": "X-From: environment\nAuthorization: Bearer environment",
}


@pytest.mark.parametrize(("key", "sent"), [("", None), ("sk-given", "Bearer sk-given")])
def test_nothing_that_openai_finds_in_the_environment_goes_out(make_model, stand, question, monkeypatch, key, sent):
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    make_model(api_key=key).ask(question)
    assert stand.headers[0].get("authorization") == sent
    assert "environment" not in repr(stand.headers[0]).lower()
    assert not [name for name in stand.headers[0] if name.startswith("openai-")]


def test_a_redirect_is_not_followed(make_model, stand, question):
    stand.fault("redirect", headers={"location": "/v1/models"})
    with pytest.raises(ModelUnusable, match="redirects to /v1/models, which is not followed"):
        make_model().ask(question)
    assert stand.count == 1


@pytest.mark.parametrize("without", ["", "127.0.0.1,localhost"])
def test_a_model_on_loopback_is_asked_directly_whatever_the_proxy(
    make_model, stand, base_url, question, monkeypatch, unused_port, without
):
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{unused_port}")
    monkeypatch.setenv("NO_PROXY", without)
    for url in (base_url, base_url.replace("127.0.0.1", "localhost")):
        assert make_model(base_url=url).ask(question).usage.requests == 1


def test_a_model_elsewhere_is_asked_through_the_proxy(make_model, plain_server, question, monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", plain_server.url)
    make_model(base_url="http://model.invalid/v1").ask(question)
    assert plain_server.targets == ["http://model.invalid/v1/chat/completions"]


def test_no_proxy_names_what_is_asked_directly(make_model, plain_server, question, monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", plain_server.url)
    monkeypatch.setenv("NO_PROXY", "model.invalid")
    with pytest.raises(ModelUnreachable, match="ConnectError"):  # no such name: it was not left to the proxy
        make_model(base_url="http://model.invalid/v1", attempts=1).ask(question)
    assert plain_server.targets == []


@pytest.mark.parametrize(
    ("name", "value"), [("HTTPS_PROXY", "ftp://proxy.invalid"), ("SSL_CERT_FILE", "/nowhere/ca.pem")]
)
def test_an_environment_that_cannot_be_used_is_a_setting_to_mend(monkeypatch, name, value):
    monkeypatch.setenv(name, value)
    with pytest.raises(Misconfigured, match=f"check .*{name}"):
        OpenAIModel(Endpoint(name="m", base_url="https://model.invalid/v1"))


def test_an_untrusted_certificate_ends_the_night_at_once(make_model, tls_server, question, clock):
    with pytest.raises(ModelUnusable, match="SSL_CERT_FILE") as caught:
        make_model(base_url=f"{tls_server.url}/v1", attempts=5).ask(question)
    assert (caught.value.requests, tls_server.targets, clock.naps) == (0, [], [])


def test_a_certificate_named_in_the_environment_is_trusted(make_model, tls_server, certificate, question, monkeypatch):
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate[0]))
    assert make_model(base_url=f"{tls_server.url}/v1").ask(question).usage.requests == 1


def test_plain_http_on_this_machine_needs_no_authorities(make_model, plain_server, question, monkeypatch):
    monkeypatch.setenv("SSL_CERT_FILE", "/nowhere/ca.pem")
    assert make_model(base_url=f"{plain_server.url}/v1").ask(question).usage.requests == 1


def test_https_to_a_server_that_speaks_http_is_a_tls_failure(make_model, plain_server, question):
    with pytest.raises(ModelUnusable, match="check the scheme in OPENAI_BASE_URL"):
        make_model(base_url=f"{plain_server.url.replace('http', 'https')}/v1").ask(question)


# --- what cannot be asked at all
@pytest.mark.parametrize(
    "url", ["", "localhost:8080/v1", "ftp://x/v1", "http://", "http://x:port/v1", "http://[::1/v1"]
)
def test_a_base_url_that_is_none_is_refused(url):
    with pytest.raises(Misconfigured, match="OPENAI_BASE_URL"):
        Endpoint(name="m", base_url=url)


def test_credentials_in_the_base_url_are_refused_and_not_repeated():
    with pytest.raises(Misconfigured) as caught:
        Endpoint(name="m", base_url="https://me:hunter2@model.invalid/v1")
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("key", ["sk-1\n", " sk-1", "sk 1", "sk-“1”"])
def test_a_key_that_no_header_can_carry_is_refused_and_not_repeated(key):
    with pytest.raises(Misconfigured, match="OPENAI_API_KEY") as caught:
        Endpoint(name="m", api_key=key)
    assert key.strip() not in str(caught.value)


def test_the_key_is_in_no_repr():
    assert "sk-hidden" not in repr(Endpoint(name="m", api_key="sk-hidden"))


@pytest.mark.parametrize(
    ("path", "hint"),
    [("/v1", ""), ("/v1/", ""), ("", " It usually ends in /v1."), ("/v1/chat/completions", " Give only the part")],
)
def test_what_is_usually_wrong_with_a_base_url_is_hinted_at(path, hint):
    found = Endpoint(name="m", base_url=f"http://x.invalid{path}").hint
    assert found.startswith(hint)
    assert bool(found) is bool(hint)


def test_a_key_in_the_query_is_not_shown():
    assert Endpoint(name="m", base_url="https://x.invalid/v1?key=1").shown == "https://x.invalid/v1"
