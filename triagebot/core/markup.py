"""The parts of an issue's Markdown that say nothing: hidden comments and the empty sections of a form."""

from __future__ import annotations

import re
from dataclasses import dataclass

# A fence that opens, a code span on one line, or words that GitHub does not show, whichever comes first: a comment;
# an instruction, a declaration or character data (cmark-gfm hands these on as HTML, and a browser takes them for
# comments); a definition of a link to nowhere, which people write for a comment ("[//]: # (words)").
# Possessive, so that a line of many backticks costs one pass.
_TOKEN = re.compile(
    r"^ {0,3}(?P<fence>`{3,}+(?!.*`)|~{3,}+)|`[^`\n]+`|(?P<opening><!--|<\?|<!\[CDATA\[|<![A-Z]+\s)"
    r"|^ {0,3}\[[^\][\n]{1,99}\]:[ \t]*(?:#|<#?>)[ \t]+(?P<title>"
    r"\((?:[^()\\\n]|\\.|\n(?![ \t]*\n))*+\)"
    r"|\"(?:[^\"\\\n]|\\.|\n(?![ \t]*\n))*+\"|'(?:[^'\\\n]|\\.|\n(?![ \t]*\n))*+')[ \t]*$",
    re.MULTILINE,
)
_COMMENT_END = re.compile(r"--!?>")  # both end a comment in HTML, and so in a browser
_EMPTY_COMMENT = re.compile(r"-?>")  # "<!-->" and "<!--->" are whole
_OTHER_ENDS = {"<?": re.compile(r"\?>"), "<![CDATA[": re.compile(r"\]\]>")}
_DECLARATION_END = re.compile(">")
_BREAK = re.compile(r"\n[ \t]*\n|\Z")
# Where a comment stood within words: "<!" and "--" on both sides of it must not become a new one.
_SEAM = re.compile(r"(?<=[^\s\0])\0++(?=[^\s\0])")
_FENCE = re.compile(r" {0,3}(?P<fence>`{3,}+(?!.*`)|~{3,}+)")
_HEADING = re.compile(r" {0,3}(?P<level>#{1,6})(?:[ \t]|$)")
_RULE = re.compile(r" {0,3}(?:={1,}|-{2,}|\*{3,}|_{3,})\s*\Z")
_BOX = re.compile(r"^[ \t]*[-*+] \[[ xX]\].*$", re.MULTILINE)
# What GitHub's issue forms write for a field that was left empty.
_NO_RESPONSE = re.compile(r"[_*]{0,2}no response[_*]{0,2}", re.IGNORECASE)


def without_noise(body: str) -> str:
    """Return a body without hidden comments and empty sections, unless nothing else was said.

    People type their report inside the template's comment: where nothing is left but boxes
    to tick, what the comments say is kept with them. Without such words, headings are kept
    for being all there is.
    """
    shown, hidden = split_comments(body)
    filled = _filled(_sections(shown))
    said = "\n".join(section.text for section in filled).rstrip().lstrip("\n")
    if any(_BOX.sub("", section.answer).strip() for section in filled):
        return said
    if said or hidden:
        return "\n\n".join(words for words in (said, *hidden) if words)
    return "\n".join(s.text for s in _sections(shown) if not s.unanswered)


def split_comments(body: str) -> tuple[str, tuple[str, ...]]:
    """Return (what a reader sees, what HTML comments and their like say) of a canonical text.

    Code is seen; an unclosed comment counts as seen.
    """
    text = _Text(body)
    shown: list[str] = []
    hidden: list[str] = []
    position = copied = 0
    while token := _TOKEN.search(body, position):
        position = token.end()
        if token["fence"]:
            position = _fence_end(body, token["fence"], position)
        elif span := text.hidden(token):
            shown.append(body[copied : token.start()])
            hidden.append(body[slice(*span)].strip())
            position = copied = text.seen_from
    seen = _SEAM.sub(" ", "\0".join([*shown, body[copied:]])).replace("\0", "")
    return seen, tuple(words for words in hidden if words)


class _Text:
    """A body that is read from its start, with what is known of what lies ahead."""

    def __init__(self, body: str) -> None:
        self.body = body
        self.seen_from = 0  # behind what was hidden last
        self._block = 0  # behind the last hidden block
        self._ahead: dict[re.Pattern[str], re.Match[str] | None] = {}

    def hidden(self, token: re.Match[str]) -> tuple[int, int] | None:
        """Return where the words stand that a reader does not see, or `None` where all of it is seen."""
        span, after = self._note(token) if token["title"] else self._html(token)
        if span is not None:
            self.seen_from = after
            self._block = after if self._at_line_start(token) else self._block
        return span

    def _note(self, token: re.Match[str]) -> tuple[tuple[int, int] | None, int]:
        start, end = token.span("title")
        return ((start + 1, end - 1) if self._begins_block(token.start()) else None), token.end()

    def _html(self, token: re.Match[str]) -> tuple[tuple[int, int] | None, int]:
        """A comment up to its end; all else that has one up to the first ">", where a browser ends it."""
        opening, start = token["opening"], token.end()
        if opening == "<!--":
            end = _EMPTY_COMMENT.match(self.body, start) or self._next(_COMMENT_END, start)
            return ((start, end.start()), end.end()) if end else (None, start)
        end = self._next(_OTHER_ENDS.get(opening, _DECLARATION_END), start) if opening else None
        whole = end and (self._at_line_start(token) or end.start() <= self._next_break(start))
        if not end or not whole:
            return None, start
        first = self.body.index(">", start)
        return (start, min(first, end.start())), first + 1

    def _next(self, pattern: re.Pattern[str], start: int) -> re.Match[str] | None:
        """Search ahead, once for all openings before what is found: a megabyte of them costs one pass."""
        known = self._ahead.get(pattern)
        if pattern not in self._ahead or (known and known.start() < start):
            self._ahead[pattern] = pattern.search(self.body, start)
        return self._ahead[pattern]

    def _next_break(self, start: int) -> int:
        found = self._next(_BREAK, start)
        return found.start() if found else len(self.body)

    def _at_line_start(self, token: re.Match[str]) -> bool:
        line = self.body[max(0, token.start() - 4) : token.start()].rpartition("\n")[2]
        return len(line) < 4 and not line.strip(" ")

    def _begins_block(self, start: int) -> bool:
        """Whether a line cannot go on a paragraph, judged by the line before it."""
        before = self.body[self.body.rfind("\n", 0, max(start - 1, 0)) + 1 : start]
        behind = self._block > 0 and self.body.find("\n", self._block, start - 1) < 0
        return behind or not before.strip() or any(p.match(before) for p in (_HEADING, _RULE, _FENCE))


def _fence_end(body: str, fence: str, position: int) -> int:
    end = re.compile(rf"^ {{0,3}}{fence[0]}{{{len(fence)},}}[ \t]*$", re.MULTILINE).search(body, position)
    return end.end() if end else len(body)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Section:
    """A heading (level 0: none) with the lines up to the next heading of any level."""

    level: int
    lines: tuple[str, ...]

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    @property
    def answer(self) -> str:
        return "\n".join(self.lines[1 if self.level else 0 :]).strip()

    @property
    def unanswered(self) -> bool:
        return bool(self.level and _NO_RESPONSE.fullmatch(self.answer))


def _sections(body: str) -> list[_Section]:
    starts: list[tuple[int, int]] = [(0, 0)]
    lines = body.split("\n")
    fence = ""
    for number, line in enumerate(lines):
        mark = _FENCE.match(line)
        if fence:
            fence = "" if _closes(fence, line) else fence
        elif mark:
            fence = mark["fence"]
        elif heading := _HEADING.match(line):
            starts.append((number, len(heading["level"])))
    ends = [number for number, _ in starts[1:]] + [len(lines)]
    return [
        _Section(level=level, lines=tuple(lines[start:end])) for (start, level), end in zip(starts, ends, strict=True)
    ]


def _closes(fence: str, line: str) -> bool:
    mark = line.strip(" \t")
    return len(mark) >= len(fence) and not mark.strip(fence[0])


def _filled(sections: list[_Section]) -> list[_Section]:
    """Leave out headings with nothing under them; one with a filled section a level below says something."""
    kept: list[_Section] = []
    for section in reversed(sections):
        parent = bool(kept and kept[-1].level > section.level > 0)
        if (section.answer and not section.unanswered) or parent:
            kept.append(section)
    return kept[::-1]
