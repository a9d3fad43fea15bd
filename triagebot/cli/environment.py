"""What the process was given: credentials, addresses and places, read once from a mapping and checked."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from triagebot.core.faults import Misconfigured

_GITHUB = "https://api.github.com"
_OPENAI = "https://api.openai.com/v1"

_CREDENTIALS = ("GITHUB_TOKEN", "OPENAI_API_KEY")
_PROXIES = ("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy")

_SHORTEST_SECRET = 8
"""Characters. Keys such as `x` or `ollama`, which local servers ask for, are no secrets and occur in any text."""

_REPOSITORY = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}/(?!\.{1,2}$)[A-Za-z0-9._-]{1,100}")


@dataclass(frozen=True, kw_only=True, slots=True)
class Environment:
    """The variables that triagebot reads. An empty or blank one counts as unset, which is `None` or the default."""

    github_token: str | None = field(default=None, repr=False)
    github_repository: str | None = None
    github_api_url: str = _GITHUB
    openai_api_key: str | None = field(default=None, repr=False)
    openai_base_url: str = _OPENAI
    model: str | None = None
    ledger: Path
    step_summary: Path | None = None
    no_color: bool = False
    ci: bool = False
    secrets: tuple[str, ...] = field(default=(), repr=False)
    """The values that must never leave this process, longest first."""

    @classmethod
    def read(cls, mapping: Mapping[str, str]) -> Environment:
        """Raises `Misconfigured` with one sentence that names the variable and the mend."""
        given = {name: value.strip() for name, value in mapping.items() if value.strip()}
        repository, summary = given.get("GITHUB_REPOSITORY"), given.get("GITHUB_STEP_SUMMARY")
        return cls(
            github_token=_credential(given, "GITHUB_TOKEN"),
            github_repository=repository and parse_repository(repository, source="GITHUB_REPOSITORY"),
            github_api_url=_url(given, "GITHUB_API_URL", _GITHUB),
            openai_api_key=_credential(given, "OPENAI_API_KEY"),
            openai_base_url=_url(given, "OPENAI_BASE_URL", _OPENAI),
            model=given.get("TRIAGEBOT_MODEL"),
            ledger=_ledger(given),
            step_summary=Path(summary) if summary else None,
            no_color="NO_COLOR" in given,
            ci=given.get("CI", "false").lower() not in ("false", "0"),
            secrets=secrets_in(given),
        )


def parse_repository(written: str, *, source: str) -> str:
    """Check a repository's name; `source` is the flag or variable that it came from, for the sentence."""
    if not _REPOSITORY.fullmatch(written):
        raise Misconfigured(f"{source} is {written[:80]!r}; write OWNER/NAME, as in octo-org/octo-repo.")
    return written


def state_folder(mapping: Mapping[str, str]) -> Path:
    """Where triagebot keeps its own files. A relative XDG_STATE_HOME counts as unset, as its specification asks."""
    given = Path(mapping.get("XDG_STATE_HOME", ""))
    if given.is_absolute():
        return given / "triagebot"
    return _home(mapping) / ".local" / "state" / "triagebot"


def _home(mapping: Mapping[str, str]) -> Path:
    try:
        return Path(mapping.get("HOME") or "~").expanduser()
    except RuntimeError as error:
        raise Misconfigured("no home folder is known; set TRIAGEBOT_LEDGER to a path.") from error


def _ledger(given: Mapping[str, str]) -> Path:
    written = given.get("TRIAGEBOT_LEDGER")
    if written is None:
        return state_folder(given) / "ledger.db"
    place = written.removeprefix("sqlite:///")
    if "://" in place:
        raise Misconfigured(
            "TRIAGEBOT_LEDGER must be a path or sqlite:///PATH; this version keeps its ledger in SQLite."
        )
    return _home(given) / place[2:] if place.startswith("~/") else Path(place)


def _credential(given: Mapping[str, str], name: str) -> str | None:
    """A credential becomes an HTTP header, where a line break or a blank can only be a slip of the clipboard."""
    value = given.get(name)
    if value and not all("!" <= character <= "~" for character in value):
        raise Misconfigured(f"{name} holds a blank, a line break or a character beyond ASCII; set it to the key alone.")
    return value


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


def secrets_in(mapping: Mapping[str, str]) -> tuple[str, ...]:
    """All secrets in `mapping`, longest first, whether they are well-formed or not: what is redacted everywhere."""
    found = {line for name in _CREDENTIALS for line in mapping.get(name, "").split()}
    found |= {password for name in _PROXIES if (password := _password(mapping.get(name, "")))}
    return tuple(sorted((s for s in found if len(s) >= _SHORTEST_SECRET), key=lambda s: (-len(s), s)))


def _password(address: str) -> str | None:
    try:
        return urlsplit(address).password
    except ValueError:
        return None


def redact(text: str, secrets: Iterable[str]) -> str:
    """Replace every secret in `text`."""
    for secret in secrets:
        text = text.replace(secret, "[secret]")
    return text


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
