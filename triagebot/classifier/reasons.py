"""The few words that spoke most for a label, fit to be shown to people."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping

from triagebot.classifier.reading import STAND_INS

_MOST = 5  # words
_ROOM = 85  # characters
_NO_WORDS = "form and layout"  # what decided where no word did
_WORD = re.compile(r"[^\W\d_]{2,20}(?:['\u2019][^\W\d_]{1,3})?")
# Words that hold sentences together: they may tip the scales, but tell a reader nothing.
_SMALL_WORDS = """
a about after all also am an and any are as at be been but by for from get had has have he her his if in into is
it its just me more my no of off on one only or other our out over she so some than that the their them then
there these they this those to too up us very was we were which who will with you your
"""
_SMALL = frozenset(_SMALL_WORDS.split())


def told(spoke: Mapping[str, float]) -> str:
    """Return the reason for a label, given what each word and each pair of words added to its margin."""
    chosen: list[str] = []
    for word in _loudest(spoke):
        quoted = ", ".join(f'"{each}"' for each in (*chosen, word))
        if len(chosen) == _MOST or len(quoted) > _ROOM:
            break
        chosen.append(word)
    return "words: " + ", ".join(f'"{word}"' for word in chosen) if chosen else _NO_WORDS


def _loudest(spoke: Mapping[str, float]) -> list[str]:
    """Words that spoke for the label, the one that added most first; a pair counts half for each of its words."""
    added: defaultdict[str, float] = defaultdict(float)
    for term, amount in spoke.items():
        parts = term.split()
        for part in parts:
            added[part] += amount / len(parts)
    return sorted((word for word in added if added[word] > 0 and _tells(word)), key=lambda word: (-added[word], word))


def _tells(word: str) -> bool:
    return bool(_WORD.fullmatch(word)) and word not in STAND_INS and word not in _SMALL
