"""As whom GitHub is asked, and whose word for a server is taken: a token or an App, and the authorities to trust."""

from __future__ import annotations

import functools
import ssl
from pathlib import Path
from typing import TYPE_CHECKING

from triagebot.cli import environment
from triagebot.cli.environment import Environment
from triagebot.core.faults import Misconfigured

if TYPE_CHECKING:
    from triagebot.github.credentials import Credential


def credential(env: Environment, repo: str, *, timeout: int) -> str | Credential:
    """What requests are signed with: the App where there is one, else the token. Raises `Misconfigured`."""
    if env.app_id is not None and env.app_private_key is not None:
        from triagebot.github.app import AppKey, Installation

        key = AppKey(id=env.app_id, private_key=_private_key(env.app_private_key))
        return Installation(key, env.github_api_url, repo, timeout=timeout, ca=trusted(env))
    if env.github_token is None:
        raise Misconfigured(
            "GITHUB_TOKEN is not set: give a token that may write issues (in Actions: secrets.GITHUB_TOKEN)."
        )
    return env.github_token


def of_owner(env: Environment, owner: str, *, timeout: int) -> list[str]:
    """The repositories of an organisation or user that take issues and that we may write to, as OWNER/NAME.

    Raises `Misconfigured` where there are none.
    """
    from triagebot.github import owners

    token: str | Credential
    if env.app_id is not None and env.app_private_key is not None:
        from triagebot.github.app import AppKey, OwnersInstallation

        key = AppKey(id=env.app_id, private_key=_private_key(env.app_private_key))
        token = OwnersInstallation(key, env.github_api_url, owner, timeout=timeout, ca=trusted(env))
    else:
        token = credential(env, owner, timeout=timeout)
    return owners.repositories(env.github_api_url, token, owner, timeout=timeout, ca=trusted(env))


def _private_key(written: str) -> str:
    try:
        return environment.private_key(written)
    except (OSError, RuntimeError, ValueError) as error:
        named = f" {written}" if len(written) <= environment.LONGEST_PATH else ""
        why = getattr(error, "strerror", None) or "it is neither a path nor a key"
        raise Misconfigured(
            f"TRIAGEBOT_APP_PRIVATE_KEY{named} cannot be read ({why}): give the path of the .pem file, or its text."
        ) from error


def trusted(env: Environment) -> str | None:
    """The file or folder of authorities, checked once: each request would only say that it failed.

    Raises `Misconfigured` where it cannot be read or holds none. `None` leaves it to the libraries.
    """
    if env.ca is not None:
        _check_authorities(env.ca)
    return env.ca


@functools.cache  # a system's bundle takes 45 ms to read, and each of several repositories asks
def _check_authorities(ca: str) -> None:
    folder = Path(ca).is_dir()
    try:
        ssl.create_default_context(cafile=None if folder else ca, capath=ca if folder else None)
    except OSError as error:  # an SSLError is one
        why = "it holds no certificate" if isinstance(error, ssl.SSLError) else error.strerror
        raise Misconfigured(
            f"{ca} (SSL_CERT_FILE or SSL_CERT_DIR) cannot be used ({why}): "
            "name a PEM file with the authorities to trust, or unset it."
        ) from error
