"""The one form in which issue text is hashed, stored and asked about."""

from __future__ import annotations

import unicodedata

_REPLACED = {0: "\ufffd"} | dict.fromkeys(range(55296, 57344), "�")


def canonical(text: str | None) -> str:
    """Return `text` in canonical form; `None` is the empty text.

    CRLF and CR become LF (the web form saves CRLF, the API saves LF), NUL and lone
    surrogates become U+FFFD (no database or encoder downstream can choke on them),
    the text is NFC, and white space at line ends and at the end is gone. Idempotent.
    """
    lines = (text or "").replace("\r\n", "\n").replace("\r", "\n").translate(_REPLACED)
    normal = unicodedata.normalize("NFC", lines)
    return "\n".join(line.rstrip() for line in normal.split("\n")).rstrip()
