"""The words of a text as the index knows them, and which of them to look for. Pure."""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Mapping

_MOST_WORDS = 3000
"""Words of one body that are indexed or looked for: beyond them come logs."""

_MOST_CANDIDATES = 600
_MOST_TERMS = 128
"""Words in one search. Of 500 real issues the likest one had the same label for .52 with 12 words, .56 with 32,
.61 with 64 and .62 with 128, and for no more with 600."""

_LONGEST = 40
"""Characters of a word; longer ones are hashes, keys and encoded data."""

# Scripts that put no blank between words: Thai, Lao, Burmese, Khmer, kana, Han, and Hangul, whose
# particles stick to the words. Pairs of characters stand in for words there.
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff"
    "\U00020000-\U0003ffff]+"
)


class _Folded(dict[int, str | None]):
    """For `str.translate`: each letter without its marks, and a blank for what is no letter or number."""

    def __missing__(self, code: int) -> str | None:
        self[code] = folded = _fold(chr(code))
        return folded


def _fold(char: str) -> str | None:
    if unicodedata.category(char).startswith("M"):
        return None
    if not char.isalnum():
        return " "
    if _UNSPACED.fullmatch(char):
        return char
    return "".join(part for part in unicodedata.normalize("NFKD", char) if part.isalnum()) or " "


_FOLDED = _Folded()


def words(text: str) -> list[str]:
    """The words of `text`, folded: no case, no marks, nothing but letters and numbers; bare numbers say nothing.

    Text without blanks becomes overlapping pairs of characters. The same for the index and for a search.
    """
    folded = text.casefold().translate(_FOLDED)
    spaced = _UNSPACED.sub(_in_pairs, folded) if _UNSPACED.search(folded) else folded
    return [word for word in spaced.split() if len(word) <= _LONGEST and not word.isnumeric()][:_MOST_WORDS]


def _in_pairs(run: re.Match[str]) -> str:
    text = run[0]
    pairs = (text[start : start + 2] for start in range(max(1, len(text) - 1)))
    return f" {' '.join(pairs)} "


def candidates(title: str, body: str) -> dict[str, float]:
    """Words that may be looked for, with how much each says by how often it occurs; the title's count for more."""
    counted = Counter(words(body))
    weights = {word: 1.0 + math.log(number) for word, number in counted.items()}
    for word in words(title):
        weights[word] = weights.get(word, 0.0) + 2.0
    best = sorted(weights, key=lambda word: -weights[word])[:_MOST_CANDIDATES]
    return {word: weights[word] for word in best}


def query(weights: Mapping[str, float], common: Mapping[str, int], rows: int) -> str | None:
    """The search for the words that tell most: weight times inverse document frequency, as BM25 weighs them.

    `common` tells in how many of `rows` rows a word occurs; a word that occurs in none finds nothing.
    `None` where no word is left. Every word is a quoted string of letters and numbers, so no text can
    put an operator or a column of FTS5 into the search.
    """

    def telling(word: str) -> float:
        return weights[word] * math.log((rows - common[word] + 0.5) / (common[word] + 0.5))

    known = (word for word in weights if common.get(word))
    chosen = sorted(known, key=lambda word: (-telling(word), word))[:_MOST_TERMS]
    return " OR ".join(f'"{word}"' for word in chosen) or None
