"""The parts of an issue's Markdown that say nothing: hidden comments and the empty sections of a form."""

from __future__ import annotations

import re
from dataclasses import dataclass

# A fence that opens, a code span on one line, or a comment that opens, whichever comes first.
# Possessive, so that a line of many backticks costs one pass.
_TOKEN = re.compile(r"^ {0,3}(?P<fence>`{3,}+(?!.*`)|~{3,}+)|`[^`\n]+`|(?P<comment><!--)", re.MULTILINE)
_COMMENT_END = re.compile(r"--!?>")  # both end a comment in HTML, and so in a browser
_EMPTY_COMMENT = re.compile(r"-?>")  # "<!-->" and "<!--->" are whole
# Where a comment stood within words: "<!" and "--" on both sides of it must not become a new one.
_SEAM = re.compile(r"(?<=[^\s\0])\0++(?=[^\s\0])")
_FENCE = re.compile(r" {0,3}(?P<fence>`{3,}+(?!.*`)|~{3,}+)")
_HEADING = re.compile(r" {0,3}(?P<level>#{1,6})(?:[ \t]|$)")
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
    """Return (what a reader sees, what the HTML comments say) of a canonical text.

    Code is seen; an unclosed comment counts as seen.
    """
    shown: list[str] = []
    hidden: list[str] = []
    position = copied = 0
    while token := _TOKEN.search(body, position):
        position = token.end()
        if token["fence"]:
            position = _fence_end(body, token["fence"], position)
        elif token["comment"]:
            end = _EMPTY_COMMENT.match(body, position) or _COMMENT_END.search(body, position)
            if end is None:
                break
            shown.append(body[copied : token.start()])
            hidden.append(body[position : end.start()].strip())
            position = copied = end.end()
    seen = _SEAM.sub(" ", "\0".join([*shown, body[copied:]])).replace("\0", "")
    return seen, tuple(words for words in hidden if words)


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
