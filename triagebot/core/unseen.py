"""Characters that a reader of an issue does not see, but a model or a terminal would.

What carries hidden words goes; what human writing needs stays: the joiners of Persian,
Indic scripts and emoji families, direction marks, the flags of nations without a
country code, one variation selector after the character that it varies.
"""

from __future__ import annotations

import re
import unicodedata

from triagebot.core import text

_COLOURS = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")  # pasted terminal output: ECMA-48, 5.4
_LINE_ENDS = str.maketrans(dict.fromkeys("\x85\u2028\u2029", "\n"))

# Never part of a word that people read: controls, soft hyphen, zero-width space and word
# joiner, embeddings, overrides and isolates (Trojan Source), invisible operators, fillers,
# annotation and musical controls, tags and plane-14 code points without a meaning.
_JUNK = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u115f\u1160\u17b4\u17b5\u200b\u202a-\u202e\u2060-\u206f\u3164\ufeff\uffa0"
    "\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e001f\U000e0080-\U000e00ff\U000e01f0-\U000e0fff]"
)
# Part of writing in some places only, so that each run of them is judged by its neighbours.
_IN_CONTEXT = re.compile(
    "[\u061c\u180b-\u180f\u200c-\u200f\ufe00-\ufe0f\U000e0020-\U000e007f\U000e0100-\U000e01ef]+",
)
_BLACK_FLAG = "\U0001f3f4"
# A unicode_subdivision_id in tag characters and the cancel tag (UTS #51, annex C): England is "gbeng".
_SUBDIVISION = re.compile("[\U000e0061-\U000e007a]{2}[\U000e0030-\U000e0039\U000e0061-\U000e007a]{1,4}\U000e007f")
_JOINERS = "\u200c\u200d"
_MARKS = "\u061c\u200e\u200f"
_JOINING_SCRIPTS = (
    (0x0600, 0x109F),  # Arabic to Myanmar, with all Indic scripts between
    (0x1780, 0x18AF),  # Khmer, Mongolian
    (0x1A00, 0x1C4F),  # Tai Tham to Lepcha
    (0xA800, 0xABFF),  # Syloti Nagri to Meetei Mayek
    (0xFB50, 0xFDFF),
    (0xFE70, 0xFEFC),  # Arabic presentation forms
    (0x10A00, 0x11FFF),  # Brahmic scripts of plane 1
)
_MONGOLIAN = ((0x1800, 0x18AF),)
_IDEOGRAPHS = ((0x3400, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x3FFFF))
_EMOJI = ((0x2190, 0x21FF), (0x2300, 0x23FF), (0x2600, 0x27BF), (0x2B00, 0x2BFF), (0x1F000, 0x1FAFF))


def visible(words: str | None) -> str:
    """Return the canonical form of `words` without what nobody sees. Costs one pass, whatever the text."""
    plain = _COLOURS.sub("", text.canonical(words)).translate(_LINE_ENDS)
    return text.canonical(_IN_CONTEXT.sub(_keep, _JUNK.sub("", plain)))


def is_emoji(char: str) -> bool:
    """Whether a character may be part of an emoji sequence (a generous answer)."""
    return _within(char, _EMOJI)


def _keep(run: re.Match[str]) -> str:
    """Return the start of a run that belongs to the character before it; the rest is smuggled."""
    start, end = run.span()
    before, after = run.string[max(start - 1, 0) : start], run.string[end : end + 1]
    kept, rest = _base_suffix(before, run[0])
    if rest[:1] in _JOINERS and _joins(before, rest[:1], after):
        return kept + rest[:1]
    return kept + rest[:1] if rest[:1] in _MARKS else kept


def _base_suffix(before: str, run: str) -> tuple[str, str]:
    if before == _BLACK_FLAG and (flag := _SUBDIVISION.match(run)):
        return flag[0], run[flag.end() :]
    return (run[0], run[1:]) if _varies(before, run[0]) else ("", run)


def _varies(before: str, selector: str) -> bool:
    if not before:
        return False
    category = unicodedata.category(before)
    if "\u180b" <= selector <= "\u180f":
        return _within(before, _MONGOLIAN)
    if selector in "\ufe0e\ufe0f":  # keycaps and the letter-like i are emoji too
        return category[0] in "SP" or before in "0123456789\u2139"
    if "\ufe00" <= selector <= "\ufe0d":
        return category in {"Sm", "Lo"}
    return selector >= "\U000e0100" and _within(before, _IDEOGRAPHS)


def _joins(before: str, joiner: str, after: str) -> bool:
    if joiner == "\u200d" and is_emoji(before) and is_emoji(after):
        return True
    return _within(before, _JOINING_SCRIPTS) and unicodedata.category(before)[0] in "LM"


def _within(char: str, ranges: tuple[tuple[int, int], ...]) -> bool:
    return bool(char) and any(low <= ord(char) <= high for low, high in ranges)
