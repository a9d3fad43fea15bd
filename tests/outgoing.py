"""Is a comment's body harmless? Judged on what a GitHub-flavoured renderer makes of it, not on how it was made."""

from __future__ import annotations

import html.parser
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import cmarkgfm
from cmarkgfm.cmark import Options

from triagebot.core import marker

LIMIT = 65_000  # code points; GitHub refuses 65,536
_TAGS = {"p", "ul", "li", "code", "sub"}  # a paragraph, the list of labels, data, the small line

# What GitHub turns into a link or a notification in a text node, and what other bots act on.
_LIVE = {
    "a mention": re.compile(r"(?<!\w)@(?=[\w-])"),
    "an e-mail address": re.compile(r"[\w.+-]+@[\w-]+\.\w"),
    "a reference": re.compile(r"(?<![\w&])(?:#\d|GH-\d)|[\w.-]+/[\w.-]+[#@]\w", re.IGNORECASE),
    "a commit": re.compile(r"\b(?=[0-9a-f]*\d)[0-9a-f]{7,40}\b", re.IGNORECASE),
    "an address": re.compile(r"\b(?:\w+://|www\.|mailto:|xmpp:)", re.IGNORECASE),
    "a closing keyword by a reference": re.compile(
        r"\b(?:clos(?:e|es|ed)|fix(?:es|ed)?|resolv(?:e|es|ed))\b:?\s+(?:#|GH-|\S+#|https?:)", re.IGNORECASE
    ),
}
# Bots read raw lines: prow's /close, bors' r+, homu's "@bors", probot's slash commands, copybara's "!".
_COMMAND = re.compile(r"^[ \t>]*(?:[/@!][a-z]|r[?+=]|(?:bors|bot|ci|dependabot|triagebot)[ :,])", re.IGNORECASE)
# For those that search the whole text, as workflows do with `contains(github.event.comment.body, '/deploy')`.
_RAW = re.compile(r"(?<!\w)@\w|#\d|<(?!!--|/?sub>)[/!?a-z]|(?<![\w<])/[a-z]", re.IGNORECASE)
SECRET_SHAPES = re.compile(
    r"gh[pousr]_[A-Za-z0-9]{16,}|github_pat_\w{20,}|\bsk-[\w-]{20,}|\bA[KS]IA[0-9A-Z]{16}\b|\bxox[abeprs]-[\w-]{10,}"
    r"|\bglpat-[\w-]{16,}|\bAIza[\w-]{30,}|\beyJ[\w-]{8,}\.eyJ[\w-]{8,}|-----BEGIN [A-Z ]*PRIVATE KEY"
    r"|\bhf_[A-Za-z0-9]{20,}|\bpypi-[\w-]{20,}|\bnpm_[A-Za-z0-9]{30,}",
)


@dataclass
class _Page(html.parser.HTMLParser):
    """The text nodes outside code, and every tag and comment."""

    texts: list[str] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    comments: list[str] = field(default_factory=list)
    _code: int = 0

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)

    def handle_starttag(self, tag: str, attrs: Sequence[tuple[str, str | None]]) -> None:
        self.tags.append(f"<{tag}{' ' if attrs else ''}{' '.join(name for name, _ in attrs)}>")
        self._code += tag in ("code", "pre")
        self.texts.append("\n" if tag in ("p", "li", "br") else "")

    def handle_endtag(self, tag: str) -> None:
        self._code -= tag in ("code", "pre")

    def handle_data(self, data: str) -> None:
        self.texts.append("\ufffc" if self._code else data)

    def handle_comment(self, data: str) -> None:
        self.comments.append(data)


def rendered(body: str) -> _Page:
    """Read a body as GitHub would show it: GitHub's Markdown with autolinks and tables, raw HTML left in."""
    page = _Page()
    page.feed(cmarkgfm.github_flavored_markdown_to_html(body, Options.CMARK_OPT_UNSAFE))
    page.close()
    return page


def dirt(body: str, secrets: Sequence[str] = ()) -> list[str]:
    """Name everything in the body of an own comment that could do harm; an empty list is a clean comment."""
    return [*_form(body), *_shown(rendered(body)), *_raw(body), *_secrets(body, secrets)]


def _form(body: str) -> Iterator[str]:
    if len(body) > LIMIT:
        yield f"{len(body)} code points"
    if not isinstance(marker.read(body), marker.Marker):
        yield "no marker on the first line"
    if body.count("<!--") != 1:
        yield "more than one marker"
    if any("\ud800" <= char <= "\udfff" or char == "\0" for char in body):
        yield "a character that cannot be sent"


def _shown(page: _Page) -> Iterator[str]:
    yield from (f"the tag {tag}" for tag in sorted({*page.tags} - {f"<{tag}>" for tag in _TAGS}))
    if len(page.comments) != 1:
        yield f"{len(page.comments)} hidden comments"
    text = "".join(page.texts)
    yield from (f"{name} in the text: {found[0]!r}" for name, live in _LIVE.items() if (found := live.search(text)))
    yield from (f"a command: {line[:40]!r}" for line in text.split("\n") if _COMMAND.match(line))


def _raw(body: str) -> Iterator[str]:
    lines = re.split(r"[\r\n\v\f\x85\u2028\u2029]", body)
    yield from (f"a command in the raw text: {line[:40]!r}" for line in lines if _COMMAND.match(line))
    if found := _RAW.search(body.split("\n", 1)[-1]):
        yield f"live in the raw text: {found[0]!r}"


def _secrets(body: str, secrets: Sequence[str]) -> Iterator[str]:
    bare = re.sub("[\u200b-\u200f\u2060-\u2064\ufeff]", "", body)
    if found := SECRET_SHAPES.search(bare):
        yield f"shaped like a secret: {found[0][:12]!r}"
    yield from ("a secret of this process" for secret in secrets if secret in bare)
