"""What an issue looks like, as numbers: lengths, Markdown, and the turns of phrase of reports, wishes and questions.

The phrases are English, as are the trackers that were measured; an issue in another
language keeps its lengths, marks and Markdown here, and its words in the other views.
"""

from __future__ import annotations

import math
import re

import numpy

from triagebot.classifier.reading import Text

# Counted in the body as it stands.
_MARKS = (
    r"^ {0,3}```",
    r"traceback|exception|error",
    r'^\s+at |^\s*File "|^#\d+ |stack',
    r"https?://",
    r"!\[|<img",
    r"^#{1,6} ",
    r"- \[[ x]\]",
    r"- \[x\]",
    r"#\d+",
    r"@\w",
    r"`[^`\n]+`",
    r"^\s*\d+\. ",
    r"^\s*[-*] ",
    r"\d+\.\d+",
    r"\d",
    r"(?:fix(?:es|ed)?|resolves?|closes?)\b",
    r"/blob/",
    r"/pull/",
    r"/issues/",
    r"stackoverflow|forum|discuss",
    r"\n",
)
# Counted in the prose.
_PHRASES = (
    r"\?",
    r"\b(?:we|our)\b",
    r"\byou\b",
    r"\b(?:my|me)\b",
    r"\bwould\b",
    r"\bshould\b",
    r"\bcould\b",
    r"\b(?:nice|propos\w*|suggest\w*)\b",
    r"\b(?:add|allow|support|implement|introduce|provide)\w*",
    r"\b(?:please|help)\b",
    r"\b(?:thanks|thank you|thx|regards)\b",
    r"^(?:hi|hello|hey|dear)\b",
    r"\bhow (?:to|do|can|should)\b",
    r"\b(?:can't|cannot|can not|unable|doesn't|does not|not work\w*|won't)",
    r"\b(?:error|exception|traceback|fail\w*|crash\w*)\b",
    r"\b(?:expect\w*|actual\w*|instead)\b",
    r"\b(?:reproduc\w*|steps|broken|wrong)\b",
    r"\b(?:feature|enhancement|request|proposal|suggestion)\b",
    r"\b(?:bug|issue|problem)\b",
    r"\b(?:question|wonder\w*|understand|confus\w*|know)\b",
    r"\b(?:the|an?)\b",
    r"\b(?:not|no)\b",
    r"[,;]",
)
# Counted in the prose, where capitals tell.
_CASED = (r"\bi\b", r"\bI\b")
# Counted in the title.
_SUBJECT = (
    r"\?",
    r"^(?:how|why|what|is|can|does|when|where|which|should|do|could)\b",
    r"\b(?:error|fail\w*|crash\w*|not work\w*|broken|bug|wrong|incorrect)\b",
    r"\b(?:add|allow|support|feature|request|proposal|implement|make|use|remove|update)\b",
    r"\b(?:how|why|what|is|can|help|question)\b",
    r"`",
    r":",
    r"^\[",
)


def _compiled(patterns: tuple[str, ...], flags: int = re.IGNORECASE) -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(pattern, re.MULTILINE | flags) for pattern in patterns)


_COUNTED = (
    ("body", _compiled(_MARKS)),
    ("prose", _compiled(_PHRASES)),
    ("prose", _compiled(_CASED, 0)),
    ("title", _compiled(_SUBJECT)),
)


_SENTENCE_END = re.compile(r"[.!?]\s|\n+")
NUMBERS = sum(len(patterns) for _, patterns in _COUNTED) + 5 + 6  # with lengths and habits


def measure(text: Text) -> numpy.typing.NDArray[numpy.float32]:
    """Return one row of numbers, each on a scale on which doubling is a step (log1p)."""
    counts = [
        math.log1p(sum(1 for _ in pattern.finditer(getattr(text, part))))
        for part, patterns in _COUNTED
        for pattern in patterns
    ]
    return numpy.array([*counts, *_lengths(text), *_habits(text)], dtype=numpy.float32)


def _lengths(text: Text) -> list[float]:
    words = len(text.prose.split())
    sizes = (len(text.title), len(text.title.split()), len(text.body), words, text.code)
    return [math.log1p(size) for size in sizes]


def _habits(text: Text) -> list[float]:
    """Shares in 0..1: how the words are written, and how dense the questions are."""
    words, sentences = len(text.prose.split()), 1 + sum(1 for _ in _SENTENCE_END.finditer(text.prose))
    return [
        sum(map(str.isupper, text.title)) / (len(text.title) or 1),
        float(text.title[:1].islower()),
        1 - len(text.body.encode("ascii", "ignore")) / (len(text.body) or 1),
        text.prose.count("?") / (words + 5),
        min(1.0, words / sentences / 50),
        float(not text.body.strip()),
    ]
