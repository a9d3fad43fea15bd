"""What the process was given: credentials, addresses and places, read once from a mapping and checked."""

from __future__ import annotations

import logging
import os
import pwd
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from triagebot.core import secrecy
from triagebot.core.faults import Misconfigured
from triagebot.ledger import address as addresses

_GITHUB = "https://api.github.com"
_OPENAI = "https://api.openai.com/v1"

_CREDENTIALS = ("GITHUB_TOKEN", "OPENAI_API_KEY")
_APP, _APP_KEY = "TRIAGEBOT_APP_ID", "TRIAGEBOT_APP_PRIVATE_KEY"
_PEM = "-----BEGIN "
_ARMOUR = re.compile(r"-----[^-]*-----")
_PROXIES = ("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy")

LONGEST_PATH = 400
"""Characters. What is longer and no file is a key that has lost its first line, and not to be repeated."""

_SHORTEST_SECRET = 8
"""Characters. Keys such as `x` or `ollama`, which local servers ask for, are no secrets and occur in any text."""

_REPOSITORY = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}/(?!\.{1,2}$)[A-Za-z0-9._-]{1,100}")
_OWNER = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")


@dataclass(frozen=True, kw_only=True, slots=True)
class Environment:
    """The variables that triagebot reads. An empty or blank one counts as unset, which is `None` or the default."""

    github_token: str | None = field(default=None, repr=False)
    app_id: str | None = None
    app_private_key: str | None = field(default=None, repr=False)
    """PEM text, or the path of a file that holds it; given together with `app_id` or not at all."""
    github_repository: str | None = None
    github_api_url: str = _GITHUB
    openai_api_key: str | None = field(default=None, repr=False)
    openai_base_url: str = _OPENAI
    model: str | None = None
    ca: str | None = None
    """The file or folder of the certificate authorities to trust."""
    ledger: Path | str = field(repr=False)
    """A file, or the address of a server, which may hold a password."""
    history: Path | None = None
    """Where the index of labelled issues is kept, which never depends on where the ledger is; `None`: no such place."""
    step_summary: Path | None = None
    no_color: bool = False
    ci: bool = False
    secrets: tuple[str, ...] = field(default=(), repr=False)
    """The values that must never leave this process, longest first."""

    @property
    def site(self) -> str | None:
        """Where people see what this API is about; `None` where its address does not tell."""
        if self.github_api_url == _GITHUB:
            return "https://github.com"
        server = self.github_api_url.removesuffix("/api/v3")
        return server if server != self.github_api_url else None

    def redact(self, text: str) -> str:
        """`text` as it may leave this process."""
        return redact(text, self.secrets)

    @classmethod
    def read(cls, mapping: Mapping[str, str]) -> Environment:
        """Raises `Misconfigured` with one sentence that names the variable and the mend."""
        given = {name: value.strip() for name, value in mapping.items() if value.strip()}
        repository, summary = given.get("GITHUB_REPOSITORY"), given.get("GITHUB_STEP_SUMMARY")
        app_id, app_private_key = _app(given)
        return cls(
            github_token=_credential(given, "GITHUB_TOKEN"),
            app_id=app_id,
            app_private_key=app_private_key,
            github_repository=repository and parse_repository(repository, source="GITHUB_REPOSITORY"),
            github_api_url=_url(given, "GITHUB_API_URL", _GITHUB),
            openai_api_key=_credential(given, "OPENAI_API_KEY"),
            openai_base_url=_url(given, "OPENAI_BASE_URL", _OPENAI),
            model=given.get("TRIAGEBOT_MODEL"),
            ca=given.get("SSL_CERT_FILE") or given.get("SSL_CERT_DIR"),
            ledger=_ledger(given),
            history=_history(given),
            step_summary=Path(summary) if summary else None,
            no_color="NO_COLOR" in given,
            ci=given.get("CI", "false").lower() not in ("false", "0"),
            secrets=secrets_in(given),
        )


def parse_repository(written: str, *, source: str) -> str:
    """Check a repository's name; `source` is the flag or variable that it came from, for the sentence."""
    if not is_repository(written):
        raise Misconfigured(f"{source} is {written[:80]!r}; write OWNER/NAME, as in octo-org/octo-repo.")
    return written


def is_repository(written: str) -> bool:
    """Whether it has the form OWNER/NAME, in the characters that GitHub allows."""
    return _REPOSITORY.fullmatch(written) is not None


def parse_owner(written: str, *, source: str) -> str:
    """Check the name of an organisation or user."""
    if not _OWNER.fullmatch(written):
        raise Misconfigured(f"{source} is {written[:80]!r}; write a name, as in octo-org.")
    return written


def state_folder(mapping: Mapping[str, str]) -> Path:
    """Where triagebot keeps its own files. A relative XDG_STATE_HOME counts as unset, as its specification asks."""
    given = Path(mapping.get("XDG_STATE_HOME", ""))
    if given.is_absolute():
        return given / "triagebot"
    return home(mapping) / ".local" / "state" / "triagebot"


def home(mapping: Mapping[str, str]) -> Path:
    """The user's own folder. An empty HOME, as some service managers set it, counts as unset and not as the root."""
    given = mapping.get("HOME", "").strip()
    try:
        return Path(given or pwd.getpwuid(os.getuid()).pw_dir)
    except KeyError as error:
        raise Misconfigured("no home folder is known; set TRIAGEBOT_LEDGER to a path.") from error


def _ledger(given: Mapping[str, str]) -> Path | str:
    written = given.get("TRIAGEBOT_LEDGER")
    if written is None:
        return state_folder(given) / "ledger.db"
    if addresses.is_server(written):
        addresses.parse(written, source="TRIAGEBOT_LEDGER")
        return written
    place = written.removeprefix("sqlite:///")
    if "://" in place:
        raise Misconfigured("TRIAGEBOT_LEDGER must be a path, sqlite:///PATH or postgresql://USER@HOST/DATABASE.")
    return home(given) / place[2:] if place.startswith("~/") else Path(place)


def _history(given: Mapping[str, str]) -> Path | None:
    """In our own folder, and not beside a ledger that is elsewhere: a cache that carries that one may be read by
    strangers, and this file holds issue text."""
    try:
        return state_folder(given) / "history.db"
    except Misconfigured:
        return None


def _credential(given: Mapping[str, str], name: str) -> str | None:
    """A credential becomes an HTTP header, where a line break or a blank can only be a slip of the clipboard."""
    value = given.get(name)
    if value and not all("!" <= character <= "~" for character in value):
        raise Misconfigured(f"{name} holds a blank, a line break or a character beyond ASCII; set it to the key alone.")
    return value


def _app(given: Mapping[str, str]) -> tuple[str | None, str | None]:
    app, key = given.get(_APP), given.get(_APP_KEY)
    if (app is None) != (key is None):
        lacking, there = (_APP, _APP_KEY) if app is None else (_APP_KEY, _APP)
        raise Misconfigured(f"{lacking} is not set, but {there} is: set both or neither, for an App signs with both.")
    if app is not None and not re.fullmatch(r"[A-Za-z0-9._-]+", app):
        raise Misconfigured(f"{_APP} is no App's id: write the number or client id from the App's settings page.")
    return app, key


def private_key(written: str) -> str:
    """The PEM text that `written` is, or that the file at this path holds. Raises `OSError`.

    Files of variables cannot hold line breaks, so people write them as backslash and n.
    """
    if _PEM in written:
        return written.replace("\\n", "\n")
    return Path(written).expanduser().read_text(encoding="utf-8", errors="replace")


def _url(given: Mapping[str, str], name: str, default: str) -> str:
    """An address without its trailing slash. The sentences do not repeat it: it may hold a password."""
    value = given.get(name, default).rstrip("/")
    try:
        parts = urlsplit(value)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable or any(character.isspace() for character in value):
        raise Misconfigured(f"{name} is not an address; write it as in {default}.")
    if "@" in parts.netloc:
        raise Misconfigured(f"{name} holds a user name or password; take it out and set the key in its own variable.")
    return value


def secrets_in(mapping: Mapping[str, str], words: Iterable[str] = ()) -> tuple[str, ...]:
    """All secrets in `mapping` and in the addresses among `words`, longest first, whether they are well-formed or not:
    what is redacted everywhere."""
    found = {line for name in _CREDENTIALS for line in mapping.get(name, "").split()}
    found |= set(_key_lines(mapping.get(_APP_KEY, "")))
    found |= {password for name in _PROXIES if (password := _password(mapping.get(name, "")))}
    found |= {*addresses.passwords(mapping.get("TRIAGEBOT_LEDGER", "").strip()), mapping.get("PGPASSWORD", "").strip()}
    found |= {password for word in words for password in addresses.passwords(word)}
    return tuple(sorted((s for s in found if len(s) >= _SHORTEST_SECRET), key=lambda s: (-len(s), s)))


def _key_lines(written: str) -> Iterable[str]:
    """A private key line by line, since line breaks change on the way; without what every key has."""
    try:
        text = private_key(written.strip()) if written.strip() else ""
    except (OSError, RuntimeError, ValueError):  # no such file, no home folder, no path at all
        text = "" if len(written) <= LONGEST_PATH else written
    return _ARMOUR.sub(" ", text).split()


def _password(address: str) -> str | None:
    try:
        return urlsplit(address).password
    except ValueError:
        return None


def redact(text: str, secrets: Iterable[str]) -> str:
    """Replace every secret in `text`, and whatever is shaped like a key: some are made on the way."""
    for secret in secrets:
        text = text.replace(secret, "[secret]")
    return secrecy.without_keys(text)


class Redacting(logging.Filter):
    """Takes secrets out of log records. Belongs on handlers: a logger's filter does not see its children's records."""

    def __init__(self, secrets: Iterable[str]) -> None:
        super().__init__()
        self._secrets = tuple(secrets)

    def filter(self, record: logging.LogRecord) -> bool:
        record.msg, record.args = redact(_message(record), self._secrets), None
        if record.exc_info:
            record.exc_text = record.exc_text or logging.Formatter().formatException(record.exc_info)
            record.exc_info = None
        record.exc_text = record.exc_text and redact(record.exc_text, self._secrets)
        record.stack_info = record.stack_info and redact(record.stack_info, self._secrets)
        return True


def _message(record: logging.LogRecord) -> str:
    """A record whose arguments do not fit its format must not take the night down from inside a filter."""
    try:
        return record.getMessage()
    except (TypeError, ValueError, KeyError):
        return str(record.msg)
