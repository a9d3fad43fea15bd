"""What signs the requests: a token that somebody gave us, or one that is made and renewed (see `app`)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

import github

from triagebot.github.wire import Answer


class Credential(Protocol):
    """One account's way to sign. Used from several threads at once."""

    @property
    def scheme(self) -> str:
        """The first word of the Authorization header."""

    @property
    def granted(self) -> str | None:
        """What it may do with issues, `WRITE` or `READ`, where that is known for sure; else `None`."""

    def token(self) -> str:
        """The secret to sign the next request with. May ask GitHub for it, and raise what that raises."""

    def renew(self, refused: str, answer: Answer) -> bool:
        """`refused` was answered with a 401: whether the same request makes sense with another token."""


@dataclass(frozen=True)
class Given:
    """A token that stays the same for the life of the process."""

    secret: str = field(repr=False)
    scheme: str = "token"
    granted: str | None = None

    def token(self) -> str:
        return self.secret

    def renew(self, refused: str, answer: Answer) -> bool:
        del refused, answer
        return False


class Signed(github.Auth.Auth):
    """A credential as PyGithub asks for it; one object for each thread. Its log masks what this signs with."""

    def __init__(self, credential: Credential) -> None:
        self._credential = credential
        self._last = ""

    @property
    def token_type(self) -> str:
        return self._credential.scheme

    @property
    def token(self) -> str:
        self._last = self._credential.token()
        return self._last

    def renewed(self, answer: Answer) -> bool:
        """Whether the request that got this answer should be signed anew and sent once more."""
        return answer.status == 401 and self._credential.renew(self._last, answer)
