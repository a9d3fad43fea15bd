"""What a person writes in `TRIAGEBOT_LEDGER`: a file, or a schema on a PostgreSQL server. Opens nothing."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlencode

from triagebot.core.faults import Misconfigured

SCHEMA = "triagebot"
"""Where the tables lie unless the address says `?schema=NAME`."""

_POSTGRES = ("postgresql", "postgres")
_IDENTIFIER = re.compile(r"[a-z_][a-z0-9_]{0,62}")
_HOST = r"(?:[\w.%-]*|\[[0-9A-Fa-f:.%]+\])(?::\d{1,5})?"
_HOSTS = re.compile(rf"{_HOST}(?:,{_HOST})*")
_SHAPE = "postgresql://USER:PASSWORD@HOST:PORT/DATABASE"


@dataclass(frozen=True, kw_only=True, slots=True)
class Server:
    """A schema of a PostgreSQL database. `url` is for libpq, password and all; `called` is for people, without one."""

    url: str = field(repr=False)
    schema: str
    called: str

    def __str__(self) -> str:
        return self.called

    def beside(self, schema: str) -> str:
        """The address of another schema in the same database, password and all."""
        return f"{self.url}{'&' if '?' in self.url else '?'}schema={schema}"


def parse(address: str | Path, *, source: str = "ledger") -> Path | Server:
    """What `address` names: a path, `sqlite:///relative/path`, `sqlite:////absolute/path` or `postgresql://...`.

    `source` is the flag or variable that it came from, for the sentence. Raises `Misconfigured`; an address that
    is no path may hold a password and is not repeated.
    """
    text = str(address)
    scheme, separator, rest = text.partition("://")
    if separator and scheme in _POSTGRES:
        return _server(rest, source)
    if separator and (scheme != "sqlite" or not rest.startswith("/")):
        raise Misconfigured(f"ledger: the address must be a path, sqlite:///PATH, sqlite:////ABSOLUTE/PATH or {_SHAPE}")
    return _file(rest[1:] if separator else text)


def is_server(written: str) -> bool:
    return written.partition("://")[0] in _POSTGRES and "://" in written


def _file(path: str) -> Path:
    if not path:
        raise Misconfigured("ledger: no path is given; name a file for it")
    try:
        return Path(path).expanduser().resolve()
    except (OSError, RuntimeError) as error:
        raise Misconfigured(f"ledger: {path} leads nowhere ({error}); name another file") from error


def _server(rest: str, source: str) -> Server:
    # By hand: what urlsplit takes for a host or a port may be a piece of a password that was not encoded.
    main, asked, query = rest.partition("?")
    authority, _, database = main.partition("/")
    hosts = authority.rpartition("@")[2]
    options = parse_qsl(query, keep_blank_values=True)
    odd = asked and not options and query
    if not _HOSTS.fullmatch(hosts) or "@" in database or odd or any(c.isspace() for c in rest):
        raise Misconfigured(
            f"{source}: the address is not of the form {_SHAPE}; write every character of the password that is no "
            "letter or digit as %XX, or leave it out and set PGPASSWORD"
        )
    given = dict(options)
    schema = given.pop("schema", SCHEMA)
    if not _IDENTIFIER.fullmatch(schema) or schema.startswith("pg_"):
        raise Misconfigured(
            f"{source}: schema= in the address must be a name of small letters, digits and underscores, and not pg_..."
        )
    url = f"postgresql://{main}" + (f"?{urlencode(given)}" if given else "")
    # What tells one ledger from another, and nothing else: a user's name is nobody's business either.
    told = {name: value for name, value in (given | {"schema": schema}).items() if name in {"host", "port", "schema"}}
    told = {name: value for name, value in told.items() if (name, value) != ("schema", SCHEMA)}
    called = f"postgresql://{hosts}/{database}" + (f"?{urlencode(told, safe='/')}" if told else "")
    return Server(url=url, schema=schema, called=called)


def passwords(written: str) -> Iterable[str]:
    """Every form in which the password of an address could turn up in a text, well-formed or not."""
    if not is_server(written):
        return
    main, _, query = written.partition("://")[2].partition("?")
    secret = main.rpartition("@")[0].partition(":")[2]
    for each in (secret, *(value for name, value in parse_qsl(query) if name.endswith("password"))):
        yield from {each, unquote(each)} - {""}
