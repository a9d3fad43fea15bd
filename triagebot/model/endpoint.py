"""Where the model is and how patiently it is asked: the few values that this edge is given."""

from __future__ import annotations

from dataclasses import dataclass, field
from urllib.parse import SplitResult, urlsplit

from triagebot.core.faults import Misconfigured


@dataclass(frozen=True, kw_only=True, slots=True)
class Endpoint:
    """An OpenAI-compatible endpoint and the model `name` on it.

    `timeout` bounds one request, `deadline` everything that is done for one question, waits included
    (seconds). `attempts` bounds the requests for one question, apart from those that only taught us which
    parameters the server refuses. An empty `api_key` sends none; `temperature=None` leaves it to the server.

    Raises `Misconfigured` for a URL or a key that no request could be made with.
    """

    name: str
    base_url: str = "https://api.openai.com/v1"
    api_key: str = field(default="", repr=False)
    temperature: float | None = 0.0
    timeout: float = 60.0
    deadline: float = 180.0
    attempts: int = 3
    max_output_tokens: int = 500

    def __post_init__(self) -> None:
        url = _split(self.base_url)
        if url is None or url.scheme not in ("http", "https") or not url.hostname:
            raise Misconfigured(
                "OPENAI_BASE_URL is not a URL that can be asked: it must look like https://api.openai.com/v1."
            )
        if url.username is not None or url.password is not None:
            # It would show up in logs and error messages.
            raise Misconfigured(
                "OPENAI_BASE_URL holds a user name or password: take it out, and put the key into OPENAI_API_KEY."
            )
        if not (self.api_key.isascii() and self.api_key.isprintable()) or " " in self.api_key:
            # A header cannot carry it; a line break at the end of a stored secret is the usual cause.
            raise Misconfigured(
                "OPENAI_API_KEY holds a blank, a line break or a character outside ASCII: store it again, alone."
            )

    @property
    def host(self) -> str:
        return urlsplit(self.base_url).hostname or ""

    @property
    def shown(self) -> str:
        """The URL as people may see it: without a query, which may hold a key."""
        url = urlsplit(self.base_url)
        return f"{url.scheme}://{url.netloc}{url.path}"

    @property
    def hint(self) -> str:
        """What is usually wrong with a base URL like this one; empty when it looks right."""
        path = urlsplit(self.base_url).path.rstrip("/")
        if path.endswith("/chat/completions"):
            return " Give only the part before /chat/completions."
        return "" if path.endswith("/v1") else " It usually ends in /v1."


def _split(url: str) -> SplitResult | None:
    try:
        parts = urlsplit(url)
        _ = parts.port  # a port that is no number raises only here
    except ValueError:
        return None
    return parts
