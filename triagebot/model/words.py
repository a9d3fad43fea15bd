"""Sentences for people about what the endpoint did, and how to mend it."""

from __future__ import annotations

from triagebot.core import secrecy
from triagebot.model.endpoint import Endpoint
from triagebot.model.wire import Form, Problem, out_of_money

_LONGEST = 200


def plain(text: str, *, secret: str = "") -> str:
    """Foreign text as one short line without control characters, and without the keys that a server may echo."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    if len(secret) >= 8:
        line = line.replace(secret, "***")
    line = secrecy.without_keys(line)
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"


def said(problem: Problem, endpoint: Endpoint) -> str:
    """What came back, short: the status and the server's own words."""
    if problem.form is not Form.JSON:
        return f"{problem.status} with {problem.form.value}"
    message = plain(problem.message or problem.code, secret=endpoint.api_key)
    status = str(problem.status) if problem.status else "an error inside a 200"
    return f"{status}: {message!r}" if message else status


def unusable(problem: Problem, endpoint: Endpoint) -> str:
    """Why no question can be answered, naming the setting that mends it."""
    return f"The model endpoint {endpoint.shown} answered {said(problem, endpoint)}. {_mend(problem, endpoint)}"


def _mend(problem: Problem, endpoint: Endpoint) -> str:
    if problem.form is Form.HTML:
        return f"That is no API: check OPENAI_BASE_URL.{endpoint.hint}"
    if 300 <= problem.status < 400:
        target = plain(problem.location) or "another address"
        return f"It redirects to {target}, which is not followed: set OPENAI_BASE_URL to where the API is."
    key = "Check OPENAI_API_KEY" if endpoint.api_key else "No key was sent: set OPENAI_API_KEY"
    missing = f"Check that the model {endpoint.name!r} exists there (TRIAGEBOT_MODEL), and OPENAI_BASE_URL."
    broke = "The account has no quota or credit left: raise it, or use another key in OPENAI_API_KEY."
    mends = {
        401: f"{key}, and what it may use.",
        402: broke,
        403: f"{key}, and what it may use.",
        404: missing + endpoint.hint,
        405: missing + endpoint.hint,
        407: "The proxy wants credentials: check HTTPS_PROXY and NO_PROXY.",
        410: missing + endpoint.hint,
    }
    if out_of_money(problem):
        return broke
    other = f"Check the settings under `model:` in the config, and OPENAI_BASE_URL.{endpoint.hint}"
    return mends.get(problem.status, other)


def insecure(reason: str, endpoint: Endpoint) -> str:
    return (
        f"No trusted TLS connection to the model endpoint {endpoint.shown} ({plain(reason)}). "
        "Name your own certificate authority in SSL_CERT_FILE, or check the scheme in OPENAI_BASE_URL."
    )


def dead(reason: str, limit: int, endpoint: Endpoint) -> str:
    return (
        f"The model endpoint {endpoint.shown} failed {limit} times in a row, last with: {reason}. "
        "Check that it runs and that OPENAI_BASE_URL (and HTTPS_PROXY, NO_PROXY) are right."
    )
