"""What the process was given: blank is unset, slips are told, secrets stay inside."""

from __future__ import annotations

import io
import logging
import os
import pwd
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.keys import rsa_pair
from triagebot.cli import environment
from triagebot.cli.environment import Environment, Redacting
from triagebot.core.faults import Misconfigured

TOKEN = "a-github-token-of-some-length"
KEY = "a-model-key-of-some-length"


def test_nothing_given_means_the_defaults() -> None:
    assert Environment.read({"HOME": "/home/me"}) == Environment(
        github_api_url="https://api.github.com",
        openai_base_url="https://api.openai.com/v1",
        ledger=Path("/home/me/.local/state/triagebot/ledger.db"),
        history=Path("/home/me/.local/state/triagebot/history.db"),
    )


def test_everything_given_is_read() -> None:
    got = Environment.read(
        {
            "GITHUB_TOKEN": f" {TOKEN}\n",
            "GITHUB_REPOSITORY": "octo-org/octo.repo",
            "GITHUB_API_URL": "https://ghe.example/api/v3/",
            "OPENAI_API_KEY": KEY,
            "OPENAI_BASE_URL": "http://127.0.0.1:8080/v1",
            "TRIAGEBOT_MODEL": "small",
            "TRIAGEBOT_LEDGER": "/data/l.db",
            "GITHUB_STEP_SUMMARY": "/tmp/summary",
            "NO_COLOR": "1",
            "CI": "true",
        }
    )
    assert (got.github_token, got.github_repository, got.openai_api_key) == (TOKEN, "octo-org/octo.repo", KEY)
    assert (got.github_api_url, got.openai_base_url) == ("https://ghe.example/api/v3", "http://127.0.0.1:8080/v1")
    assert (got.model, got.ledger, got.step_summary) == ("small", Path("/data/l.db"), Path("/tmp/summary"))
    assert (got.no_color, got.ci) == (True, True)


def test_an_empty_variable_counts_as_unset() -> None:
    names = (
        "GITHUB_TOKEN GITHUB_REPOSITORY GITHUB_API_URL OPENAI_API_KEY OPENAI_BASE_URL TRIAGEBOT_MODEL TRIAGEBOT_LEDGER"
    )
    names += " GITHUB_STEP_SUMMARY NO_COLOR CI XDG_STATE_HOME"
    blank = dict.fromkeys(names.split(), "") | {"TRIAGEBOT_MODEL": "  ", "HOME": "/home/me"}
    assert Environment.read(blank) == Environment.read({"HOME": "/home/me"})


@pytest.mark.parametrize(("written", "meant"), [("false", False), ("0", False), ("False", False), ("1", True)])
def test_ci_can_be_switched_off(written: str, meant: bool) -> None:
    assert Environment.read({"CI": written}).ci is meant


@pytest.mark.parametrize(
    ("given", "place"),
    [
        ({"TRIAGEBOT_LEDGER": "l.db"}, "l.db"),
        ({"TRIAGEBOT_LEDGER": "~/l.db"}, "/home/me/l.db"),
        ({"TRIAGEBOT_LEDGER": "sqlite:///l.db"}, "l.db"),
        ({"TRIAGEBOT_LEDGER": "sqlite:////data/l.db"}, "/data/l.db"),
        ({"XDG_STATE_HOME": "/state"}, "/state/triagebot/ledger.db"),
        ({"XDG_STATE_HOME": "relative"}, "/home/me/.local/state/triagebot/ledger.db"),
    ],
)
def test_the_ledger_has_a_place(given: dict[str, str], place: str) -> None:
    assert Environment.read({"HOME": "/home/me"} | given).ledger == Path(place)


@pytest.mark.parametrize("given", [{}, {"HOME": ""}, {"HOME": "  "}])
def test_an_empty_home_is_none_and_not_the_root(given: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """As service managers give it; the shell's `~` would be `/` there."""
    monkeypatch.setenv("HOME", given.get("HOME", ""))
    home = Path(pwd.getpwuid(os.getuid()).pw_dir)
    assert Environment.read(given).ledger == home / ".local/state/triagebot/ledger.db"
    assert Environment.read(given | {"TRIAGEBOT_LEDGER": "~/l.db"}).ledger == home / "l.db"


def test_a_user_without_any_home_is_told_what_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    def nobody(_: int) -> None:
        raise KeyError("uid not found")

    monkeypatch.setattr(pwd, "getpwuid", nobody)
    with pytest.raises(Misconfigured, match="no home folder is known; set TRIAGEBOT_LEDGER to a path"):
        Environment.read({"HOME": ""})


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("GITHUB_TOKEN", "two\nlines", "GITHUB_TOKEN holds a blank, a line break"),
        ("OPENAI_API_KEY", "Bearer abc", "OPENAI_API_KEY holds a blank"),
        ("OPENAI_API_KEY", "schlüssel", "beyond ASCII"),
        ("TRIAGEBOT_APP_ID", "7", "set both or neither"),
        ("TRIAGEBOT_APP_PRIVATE_KEY", "/home/me/app.pem", "TRIAGEBOT_APP_ID is not set"),
        ("GITHUB_REPOSITORY", "https://github.com/o/r", "write OWNER/NAME"),
        ("GITHUB_REPOSITORY", "o", "write OWNER/NAME"),
        ("GITHUB_REPOSITORY", "o/..", "write OWNER/NAME"),
        ("GITHUB_REPOSITORY", "o/r/s", "write OWNER/NAME"),
        ("GITHUB_REPOSITORY", "o/r?x", "write OWNER/NAME"),
        ("GITHUB_API_URL", "api.github.com", "write it as in https://api.github.com"),
        ("GITHUB_API_URL", "ftp://x", "is not an address"),
        ("OPENAI_BASE_URL", "http://[::1", "is not an address"),
        ("OPENAI_BASE_URL", "http://x:port/v1", "is not an address"),
        ("OPENAI_BASE_URL", "http:///v1", "is not an address"),
        ("OPENAI_BASE_URL", "http://me:hunter22@x/v1", "holds a user name or password"),
        ("TRIAGEBOT_LEDGER", "mysql://me:hunter22@x/db", "sqlite:///PATH or postgresql://USER@HOST/DATABASE"),
        ("TRIAGEBOT_LEDGER", "postgresql://me:hunter22/4@x/db", "write every character of the password"),
    ],
)
def test_a_slip_is_told_in_one_sentence_without_the_secret(name: str, value: str, why: str) -> None:
    with pytest.raises(Misconfigured) as told:
        Environment.read({name: value})
    sentence = str(told.value)
    assert why in sentence
    assert name in sentence
    assert "hunter22" not in sentence
    assert "Bearer" not in sentence


def test_secrets_are_listed_and_not_shown() -> None:
    got = Environment.read(
        {"GITHUB_TOKEN": TOKEN, "OPENAI_API_KEY": KEY, "HTTPS_PROXY": "http://me:hunter22@proxy:3128"}
    )
    assert got.secrets == (TOKEN, KEY, "hunter22")
    assert not any(secret in repr(got) for secret in got.secrets)


def test_a_short_key_is_no_secret() -> None:
    """Local servers take any key, and people write `x`: redacting that would redact half of every text."""
    assert Environment.read({"OPENAI_API_KEY": "ollama"}).secrets == ()


def test_a_malformed_secret_is_a_secret_all_the_same() -> None:
    assert environment.secrets_in({"GITHUB_TOKEN": f"Bearer {TOKEN}\n", "ALL_PROXY": "http://[::1"}) == (TOKEN,)


def test_a_secret_that_holds_another_is_redacted_whole() -> None:
    secrets = environment.secrets_in({"GITHUB_TOKEN": "abcdefgh", "OPENAI_API_KEY": "xabcdefghx"})
    assert environment.redact("1 xabcdefghx 2 abcdefgh 3", secrets) == "1 [secret] 2 [secret] 3"


# --- a GitHub App


def test_an_app_has_an_id_and_a_key() -> None:
    got = Environment.read({"TRIAGEBOT_APP_ID": "Iv1.abc", "TRIAGEBOT_APP_PRIVATE_KEY": rsa_pair().private})
    assert (got.app_id, got.app_private_key) == ("Iv1.abc", rsa_pair().private.strip())
    with pytest.raises(Misconfigured, match="is no App's id"):
        Environment.read({"TRIAGEBOT_APP_ID": "my app", "TRIAGEBOT_APP_PRIVATE_KEY": "x"})


def test_a_key_is_text_or_a_path_and_its_line_breaks_may_be_written(tmp_path: Path) -> None:
    key, file = rsa_pair().private, tmp_path / "app.pem"
    file.write_text(key)
    assert {environment.private_key(written) for written in (key, key.replace("\n", "\\n"), str(file))} == {key}


@pytest.mark.parametrize("form", ["text", "one line", "escaped", "path", "without its first line"])
def test_every_line_of_a_key_is_a_secret_however_it_was_given(tmp_path: Path, form: str) -> None:
    key, file = rsa_pair().private, tmp_path / "app.pem"
    file.write_text(key)
    lines = key.splitlines()[1:-1]
    given = {
        "text": key,
        "one line": key.replace("\n", " "),
        "escaped": key.replace("\n", "\\n"),
        "path": str(file),
        "without its first line": "\n".join(lines),
    }
    secrets = environment.secrets_in({"TRIAGEBOT_APP_PRIVATE_KEY": given[form]})
    assert set(lines[:-1]) <= set(secrets)
    assert all(not any(word in secret for word in ("BEGIN", "PRIVATE", "pem")) for secret in secrets)


def test_a_path_that_leads_nowhere_is_no_secret() -> None:
    """The sentence that says so has to name it."""
    assert environment.secrets_in({"TRIAGEBOT_APP_PRIVATE_KEY": "/home/me/no-such-file.pem"}) == ()


def test_what_github_gave_the_app_is_redacted_by_its_shape() -> None:
    signed = ".".join(("eyJhbGciOiJSUzI1NiJ9", "eyJpc3MiOiI3In0xxxxx", "c2lnbmF0dXJl"))
    told = f"sent ghs_7_{'t' * 30}.{'u' * 20} and {signed}, not ghs_x"
    assert environment.redact(told, ()) == "sent [a key] and [a key], not ghs_x"


@pytest.mark.parametrize(
    ("given", "ca"),
    [
        ({}, None),
        ({"SSL_CERT_FILE": "/a.pem"}, "/a.pem"),
        ({"SSL_CERT_DIR": "/certs"}, "/certs"),
        ({"SSL_CERT_FILE": "/a.pem", "SSL_CERT_DIR": "/certs"}, "/a.pem"),
    ],
)
def test_the_authorities_are_those_that_openssl_would_take(given: dict[str, str], ca: str | None) -> None:
    assert Environment.read({"HOME": "/home/me"} | given).ca == ca


# --- the log


@pytest.fixture
def log() -> Iterator[tuple[logging.Logger, io.StringIO]]:
    """A parent's handler that redacts, and the child that logs."""
    written = io.StringIO()
    handler = logging.StreamHandler(written)
    handler.addFilter(Redacting([TOKEN]))
    parent, child = logging.getLogger("redacted"), logging.getLogger("redacted.child")
    parent.addHandler(handler)
    parent.propagate = False
    yield child, written
    parent.removeHandler(handler)


def test_a_secret_in_a_message_or_its_arguments_is_not_logged(log: tuple[logging.Logger, io.StringIO]) -> None:
    child, written = log
    child.warning("sent %s to %s", {"Authorization": f"token {TOKEN}"}, "x")
    child.warning(f"sent {TOKEN}")
    assert written.getvalue() == "sent {'Authorization': 'token [secret]'} to x\nsent [secret]\n"


def test_a_secret_in_a_traceback_is_not_logged(log: tuple[logging.Logger, io.StringIO]) -> None:
    child, written = log
    try:
        raise RuntimeError(f"401 for {TOKEN}")
    except RuntimeError:
        child.exception("failed", stack_info=True)
    assert "RuntimeError: 401 for [secret]" in written.getvalue()
    assert TOKEN not in written.getvalue()


def test_a_handler_that_formats_tracebacks_itself_finds_none() -> None:
    """Rich's handler walks the exception, where secrets still stand."""
    try:
        raise RuntimeError(TOKEN)
    except RuntimeError:
        record = logging.LogRecord("x", logging.ERROR, "x.py", 1, "failed", None, sys.exc_info())
    assert Redacting([TOKEN]).filter(record)
    assert record.exc_info is None
    assert "[secret]" in str(record.exc_text)


def test_a_record_that_does_not_fit_its_format_is_logged_as_it_is(log: tuple[logging.Logger, io.StringIO]) -> None:
    child, written = log
    child.warning("%d of %d", 1)
    assert written.getvalue() == "%d of %d\n"


@pytest.mark.parametrize(
    ("api", "site"),
    [
        ("https://api.github.com", "https://github.com"),
        ("https://ghe.example/api/v3", "https://ghe.example"),
        ("http://127.0.0.1:8000", None),
    ],
)
def test_issues_are_linked_where_the_address_tells_where_people_see_them(api: str, site: str | None) -> None:
    assert Environment.read({"GITHUB_API_URL": api}).site == site
