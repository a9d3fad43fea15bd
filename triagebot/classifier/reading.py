"""An issue as the classifier reads it: bounded, cleaned, and with what names one thing only made alike.

Nothing of a user name, an address or a number survives in `prose`, so no word that is
shown as a reason can name one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from triagebot.core import prompt

_RAW = 65_536  # characters; GitHub's own limit, so that only a file can bring more
_HEAD, _TAIL = 6_000, 1_500  # characters; reports say what is wrong first, and forms end with their boxes
_TITLE = 300  # characters; GitHub's titles end at 256
_OPENING = 400  # characters of prose that say what it is about

_FENCE = re.compile(r"^ {0,3}(`{3,}+|~{3,}+).*?(?:^ {0,3}\1[`~]*[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)
_ADDRESS = r"https?://\S{1,2000}"
_ALIKE = (
    (_FENCE, " codeblock "),
    (re.compile(r"`[^`\n]+`"), " codespan "),
    (re.compile(_ADDRESS), " url "),
    (re.compile(r"!\[[^\]\n]{0,200}\]\([^)\n]{0,200}\)|<img[^>]{0,500}>"), " image "),
    (re.compile(r"</?[a-zA-Z][^<>\n]{0,200}>"), " "),
    (re.compile(r"^>.*$", re.MULTILINE), " quoted "),
    (re.compile(r"(?<!\w)@[\w/-]+"), " mention "),
    (re.compile(r"(?<!\w)#\d+"), " ref "),
    (re.compile(r"\b[0-9a-f]{7,40}\b"), " hex "),
    (re.compile(r"\d+"), " num "),
)
STAND_INS = frozenset(name.strip() for _, name in _ALIKE if name.strip())


@dataclass(frozen=True, kw_only=True, slots=True)
class Text:
    """One issue, ready for the views. `body` is cut in the middle, `prose` is the body without code and names."""

    title: str
    body: str
    subject: str  # the title as prose
    prose: str
    code: int  # characters within fences

    @property
    def opening(self) -> str:
        return self.prose[:_OPENING]


def read(title: str, body: str) -> Text:
    """Read an issue in time that its length does not decide: what lies between head and tail is not looked at."""
    clean_title = prompt.clean(title[:_RAW], markdown=False)[:_TITLE]
    clean_body = _cut(prompt.clean(body[:_RAW]))
    return Text(
        title=clean_title,
        body=clean_body,
        subject=_alike(clean_title),
        prose=_alike(clean_body),
        code=sum(len(match[0]) for match in _FENCE.finditer(clean_body)),
    )


def _cut(body: str) -> str:
    return body if len(body) <= _HEAD + _TAIL else f"{body[:_HEAD]}\n{body[-_TAIL:]}"


def _alike(words: str) -> str:
    for pattern, name in _ALIKE:
        words = pattern.sub(name, words)
    return words
