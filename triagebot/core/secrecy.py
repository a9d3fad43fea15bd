"""What must not be kept or told: the secrets of this process in any form that a reader could undo, and foreign keys."""

from __future__ import annotations

import base64
import re
import unicodedata
from collections.abc import Iterator, Sequence

from triagebot.core import unseen

WITHHELD = "[withheld: it holds a secret of this process]"
"""Stands for words that said one."""

_SECRET = 8  # characters; a shorter secret would stop every comment that holds a common word

# The keys whose form their makers fix so that scanners find them. Authors paste them into issues by mistake;
# a comment would send them to everybody who watches the repository, and outlive the author's edit. What this process
# makes and no variable holds is among them: a token of an App's installation (long ones hold dots), what an App signs.
_KEY = re.compile(
    r"ghs_[A-Za-z0-9._-]{16,}|gh[pour]_[A-Za-z0-9]{16,}|github_pat_\w{16,}|glpat-[\w-]{16,}|\bsk-[\w-]{20,}"
    r"|\bA[KS]IA[0-9A-Z]{12,}|xox[abeprs]-[\w-]{10,}|AIza[\w-]{30,}|eyJ[\w-]{8,}\.eyJ[\w-]{8,}(?:\.[\w-]*)?"
    r"|\bhf_[A-Za-z0-9]{20,}|\bpypi-[\w-]{20,}|\bnpm_[A-Za-z0-9]{30,}"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY(?:[\s\S]*?-----END [A-Z ]*PRIVATE KEY-----|[\s\S]*)"
)


def fit_to_keep(words: str, secrets: Sequence[str]) -> str:
    """Return words of a model as they may be recorded and told: no key in them, and `WITHHELD` if they say a secret.

    They may have been cut to length before, so that the beginning of a secret at their very end counts as one.
    """
    plain = _squeezed(words)
    if any(form in plain or _begins_at_the_end(form, plain) for form in _all_forms(secrets)):
        return WITHHELD
    return without_keys(words)


def says_a_secret(words: str, secrets: Sequence[str]) -> bool:
    """Whether a secret stands in `words` in any form, or stood there before it was withheld."""
    plain = _squeezed(words)
    return WITHHELD in words or any(form in plain for form in _all_forms(secrets))


def without_keys(words: str) -> str:
    """Return `words` with "[a key]" in the place of whatever has the form of one."""
    bare = _bare(words)  # joiners and wide letters would hide a key from the pattern and not from a reader
    return _KEY.sub("[a key]", bare) if _KEY.search(bare) else words


def _begins_at_the_end(form: str, plain: str) -> bool:
    start = plain.rfind(form[:_SECRET], max(0, len(plain) - len(form)))
    return start >= 0 and form.startswith(plain[start:])


def _all_forms(secrets: Sequence[str]) -> Iterator[str]:
    for secret in secrets:
        if len(_squeezed(secret).strip()) >= _SECRET:
            yield from map(_squeezed, _forms(secret.strip()))


def _forms(secret: str) -> Iterator[str]:
    """Yield a secret as a model may write it: plain, hexadecimal, base64 at any offset within other text."""
    raw = secret.encode(errors="replace")
    yield secret
    yield raw.hex()
    for before, skipped in ((0, 0), (1, 2), (2, 3)):
        whole = base64.b64encode(b"\0" * before + raw).decode()[skipped : (before + len(raw)) * 8 // 6]
        yield whole
        yield whole.replace("+", "-").replace("/", "_")


def _squeezed(text: str) -> str:
    return _bare(unseen.visible(text)).casefold()


def _bare(seen: str) -> str:
    normal = unicodedata.normalize("NFKC", seen)
    return "".join(char for char in normal if unicodedata.category(char) != "Cf")
