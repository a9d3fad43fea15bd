"""What an answer of GitHub means before its content counts: its status, its limits, its words. No I/O.

Sources: docs.github.com "Rate limits for the REST API" and "Best practices for using the
REST API"; the wordings that no recording holds are known from threads (see the table below).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from triagebot.core import secrecy
from triagebot.core.faults import (
    Gone,
    Limited,
    Locked,
    NotPermitted,
    ReadOnly,
    Refused,
    TrackerFault,
    Unauthorized,
    Unclear,
)

_LIMIT = re.compile(
    r"rate limit|abuse detection|submitted too quickly|too many requests"
    r"|retry your request again later|wait a few minutes before you try again",
    re.IGNORECASE,
)
_SECONDARY = re.compile(r"secondary|abuse|too quickly|again later|wait a few minutes", re.IGNORECASE)

_NO_RIGHT = "Give GITHUB_TOKEN the right to write issues (in a workflow: `permissions: issues: write`)."
_NO_WRITE = "Point triagebot at a repository that takes issues, or take this one off the schedule."

# The words of a 403 (or 410) are all that tells these apart.
_REFUSALS: tuple[tuple[re.Pattern[str], type[TrackerFault], str], ...] = (
    (re.compile(r"\b(issue|conversation)\b.*\blocked\b|\blocked\b.*\b(issue|conversation)\b", re.I), Locked, ""),
    (re.compile(r"\barchived\b|\bread-only\b", re.I), ReadOnly, _NO_WRITE),
    (re.compile(r"\bissues (has|have|is|are) (been )?disabled\b", re.I), ReadOnly, _NO_WRITE),
    (
        re.compile(
            r"resource not accessible by|\bmust have\b|\brequires?\b.*\b(permission|scope|access|rights|authentication)"
            r"|has not been granted|organization saml|ip allow list|not authorized|correct authorization credentials",
            re.IGNORECASE,
        ),
        NotPermitted,
        _NO_RIGHT,
    ),
)
_LONGEST_QUOTE = 300


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """One answer as it came: `headers` by lower-case name, `received` in seconds since the epoch by our own clock."""

    request: str
    status: int
    headers: Mapping[str, str]
    text: str
    received: float

    def __str__(self) -> str:
        words = said(self)
        return f"GitHub answered {self.status} to {self.request}" + (f": {words}" if words else "")

    @property
    def now(self) -> float:
        """The moment of the answer by the server's clock (its resets are told by that), else by ours."""
        date = _http_date(self.headers.get("date", ""))
        return self.received if date is None else date

    def json(self) -> Any:
        """The decoded body. Raises `Unclear` for HTML, for nothing, and for JSON that was cut off."""
        try:
            return json.loads(self.text)
        except ValueError as error:
            raise Unclear(f"{self}, with a body that is no whole JSON; nothing in it was believed.") from error


def fault(answer: Answer) -> TrackerFault:
    """Name what a status that is not the hoped-for one means."""
    words = said(answer)
    if answer.status in {403, 410, 422, 429, 451} and (worded := _worded(answer, words)):
        return worded
    if answer.status == 401:
        return Unauthorized(f"{answer}. The token is not valid (any more): set a new GITHUB_TOKEN.")
    if answer.status in {404, 410}:
        return Gone(f"{answer}.")
    if 400 <= answer.status < 500 and answer.status != 408:
        return Refused(f"{answer}.")
    return Unclear(f"{answer}; nothing in it was believed.")


def _worded(answer: Answer, words: str) -> TrackerFault | None:
    # One status, 403, stands for limits, locks, archives and rights. What the words name goes first:
    # the last request of an hour may be refused for a missing right and say "0 remaining" as well.
    if speaks_of_limit(words):
        return limited(answer, words)
    refusal = None if answer.status == 422 else refused(answer, words)
    told = answer.status == 429 or (answer.status == 403 and ("retry-after" in answer.headers or _spent(answer)))
    return refusal or (limited(answer, words) if told else None)


def refused(answer: Answer, words: str) -> TrackerFault | None:
    """What the words of a refusal name: a lock, a read-only repository or a missing right; else `None`."""
    for pattern, kind, mend in _REFUSALS:
        if pattern.search(words):
            return kind(f"{answer}. {mend}".rstrip())
    return None


def speaks_of_limit(words: str) -> bool:
    return _LIMIT.search(words) is not None


def limited(answer: Answer, words: str, *, primary: bool = False) -> Limited:
    """A rate limit with the seconds it lasts: `Retry-After`, else for the hourly quota its reset, else unknown."""
    secondary = _SECONDARY.search(words) is not None
    spent = _spent(answer)
    primary = not secondary and (primary or spent or _LIMIT.search(words) is not None)
    seconds = retry_after(answer)
    if seconds is None and (primary or spent):
        seconds = _until_reset(answer)
    wait = "for a time that it does not tell" if seconds is None else f"for {seconds:.0f} s"
    return Limited(f"{answer}. Nothing may be written {wait}.", seconds=seconds, primary=primary)


def retry_after(answer: Answer) -> float | None:
    """Seconds by `Retry-After`, which is a whole number or a date to come (RFC 9110, 10.2.3); else absent."""
    told = answer.headers.get("retry-after", "").strip()
    if re.fullmatch(r"[0-9]{1,9}", told):
        return float(told)
    date = _http_date(told)
    return None if date is None or date <= answer.now else date - answer.now


def next_page(answer: Answer) -> str | None:
    """The address with `rel="next"` in the `Link` header (RFC 8288); a deprecation note is no page."""
    for target, parameters in re.findall(r"<([^<>]*)>((?:\s*;[^,<]*)*)", answer.headers.get("link", "")):
        if re.search(r';\s*rel\s*=\s*"?[^";]*\bnext\b', parameters, re.IGNORECASE):
            return str(target)
    return None


def said(answer: Answer) -> str:
    """The server's own words about a failure, on one line, cut to length."""
    try:
        body = json.loads(answer.text)
    except ValueError:
        return "no JSON" if answer.text.strip() else ""
    return quote("; ".join(_sentences(body))) if isinstance(body, dict) else ""


def quote(words: str) -> str:
    """Foreign words made fit for a sentence of ours: one line, and no key that a server may echo."""
    line = secrecy.without_keys(" ".join("".join(c if c.isprintable() else " " for c in words).split()))
    return line[:_LONGEST_QUOTE].rstrip(". ")


def _sentences(body: Mapping[str, Any]) -> Iterator[str]:
    if isinstance(body.get("message"), str):
        yield body["message"]
    errors = body.get("errors")
    for error in errors if isinstance(errors, list) else []:
        if isinstance(error, str):
            yield error
        elif isinstance(error, dict):
            yield " ".join(str(error[k]) for k in ("field", "code", "message") if isinstance(error.get(k), str))


def _spent(answer: Answer) -> bool:
    return answer.headers.get("x-ratelimit-remaining", "").strip() == "0"


def _until_reset(answer: Answer) -> float | None:
    # Floats have been seen where whole numbers are documented (PyGithub#2697).
    reset = answer.headers.get("x-ratelimit-reset", "").strip()
    if not re.fullmatch(r"[0-9]{1,12}(\.[0-9]*)?", reset):
        return None
    return float(reset) - answer.now if float(reset) > answer.now else None


def _http_date(told: str) -> float | None:
    try:
        date = parsedate_to_datetime(told)
    except (TypeError, ValueError):
        return None
    return (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp()


def moment(told: str) -> datetime:
    """An ISO-8601 time of GitHub as an aware UTC datetime. Raises `ValueError` for a naive one."""
    parsed = datetime.fromisoformat(told)
    if parsed.tzinfo is None:
        raise ValueError(f"{told!r} has no time zone")
    return parsed.astimezone(UTC)
