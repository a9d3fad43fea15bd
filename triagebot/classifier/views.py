"""The views of an issue that are weighed apart: words and characters of title and body, its form, its shape.

Weights and n-gram lengths were chosen by leave-one-out on 1,200 issues of five
repositories (the training half of NLBSE'24); the best view alone lies 0.04 of macro-F1
under their sum. What did not pay there and is left out: taking away lines that many
issues share (which form was filled in says much: 0.07 less), reading hidden comments,
likeness that is not linear, longer n-grams. Trees beside it gave 0.005, which is
within chance.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy
from scipy import sparse
from sklearn.feature_extraction.text import HashingVectorizer, TfidfTransformer, TfidfVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from triagebot.classifier import shape
from triagebot.classifier.reading import Text

_WORD = re.compile(r"\w+(?:['\u2019]\w+)?|\?")
_TAG = re.compile(r"\s*[\[(]([^\])]{1,40})[\])]")
_PREFIX = re.compile(r"\s*([\w /.-]{1,30}):\s")
_HEADING = re.compile(r"(?:#{1,6}[ \t]+(.{1,200}?)#*|\*\*([^*]{2,80})\*\*:?|([A-Z][\w /()?-]{2,60}):)$")
_PAIR = re.compile(
    r"[-*]?\s*(?:\*\*|<b>)?([A-Za-z][\w /()?-]{1,50}?)(?:\*\*|</b>)?\s*:\s*(?:\*\*|<b>)?(.{1,40}?)(?:</b>|\*\*)?$"
)
_PRESENT = ""  # a token of every text, so that two empty texts are alike and no vocabulary is empty
_LONGEST = 40  # characters; what is longer is no word
_TERMS = 60_000  # for each view of words
_BUCKETS = 2**17  # for character n-grams, which no reason shows
_SPELT = 2_000  # characters of prose that are read character by character; more cost time and told nothing
_CLIP = 3.0  # standard deviations


def words(text: str, longest: int = 1) -> Iterator[str]:
    """Lower-case words and question marks of a text, with their n-grams up to `longest`."""
    single = [word for word in _WORD.findall(text.lower()) if len(word) <= _LONGEST]
    yield _PRESENT
    for size in range(1, longest + 1):
        for start in range(len(single) - size + 1):
            yield " ".join(single[start : start + size])


def start_of_title(text: Text) -> Iterator[str]:
    """The tag or prefix of a title, its first words one by one, and its last."""
    yield _PRESENT
    first = _WORD.findall(text.title.lower())
    yield from (f"starts {' '.join(first[:size])}" for size in range(1, min(len(first), 4) + 1))
    yield from (f"ends {word}" for word in first[-1:])
    for kind, pattern in (("tag", _TAG), ("prefix", _PREFIX)):
        if match := pattern.match(text.title):
            yield f"{kind} {_plain(match[1])}"


def form(text: Text) -> Iterator[str]:
    """Headings of a form with their short answers, and "key: value" lines."""
    yield _PRESENT
    heading = ""
    for line in filter(None, map(str.strip, text.body.split("\n"))):
        if match := _HEADING.match(line):
            heading = _plain(match[1] or match[2] or match[3])
            yield f"heading {heading}"
            continue
        if heading and len(line) <= 40:
            yield f"answer {heading} = {_plain(line)}"
        elif match := _PAIR.match(line):
            yield f"key {_plain(match[1])}"
            yield f"pair {_plain(match[1])} = {_plain(match[2])}"
        heading = ""


def _plain(words: str) -> str:
    return " ".join(_WORD.findall(words.lower()))


@dataclass(frozen=True, kw_only=True)
class View:
    """One way of looking. `of` gives tokens (or the text whose characters count), `weight` its part in the sum."""

    name: str
    weight: float
    of: Callable[[Text], Any]
    characters: tuple[int, int] | None = None
    spoken: bool = False  # its tokens are words that can be shown to people

    def learner(self) -> Any:
        if self.characters:
            hashed = HashingVectorizer(
                preprocessor=self.of,
                analyzer="char_wb",
                ngram_range=self.characters,
                n_features=_BUCKETS,
                norm=None,
                alternate_sign=False,
                dtype=numpy.float32,
            )
            return make_pipeline(hashed, TfidfTransformer(sublinear_tf=True))
        return TfidfVectorizer(analyzer=self.of, min_df=2, max_features=_TERMS, sublinear_tf=True, dtype=numpy.float32)


VIEWS = (
    View(name="title", weight=0.5, of=lambda text: words(text.subject, 2), spoken=True),
    View(name="title characters", weight=0.5, of=lambda text: text.title.lower(), characters=(3, 4)),
    View(name="start of title", weight=0.5, of=start_of_title),
    View(name="prose", weight=1.0, of=lambda text: words(text.prose, 2), spoken=True),
    View(name="prose characters", weight=1.0, of=lambda text: text.prose[:_SPELT].lower(), characters=(4, 4)),
    View(name="body", weight=1.0, of=lambda text: words(text.body, 2)),
    View(name="opening", weight=0.5, of=lambda text: words(text.opening, 2), spoken=True),
    View(name="form", weight=0.5, of=form),
)
_SHAPE = 0.6  # the weight of the numbers of shape.py, all together


class Views:
    """All views of one history, fitted to it."""

    def __init__(self, views: Sequence[View] = VIEWS) -> None:
        self._views = views
        self._learners = [view.learner() for view in views]
        self._scaler = StandardScaler()
        total = sum(view.weight for view in views) + _SHAPE
        self._scales = [numpy.float32((view.weight / total) ** 0.5) for view in views]
        self._shape_scale = (_SHAPE / total / shape.NUMBERS) ** 0.5

    def fit(self, texts: Sequence[Text]) -> sparse.csr_matrix:
        """Learn what is rare from `texts` and return their rows."""
        blocks = [learner.fit_transform(texts) for learner in self._learners]
        return self._joined(blocks, self._scaler.fit_transform(_shapes(texts)))

    def rows(self, texts: Sequence[Text]) -> sparse.csr_matrix:
        """Return a row for each text (features as columns), whose squared length is 1 on the average, or just below."""
        blocks = [learner.transform(texts) for learner in self._learners]
        return self._joined(blocks, self._scaler.transform(_shapes(texts)))

    def spoken(self) -> dict[int, str]:
        """Return the columns that stand for words or pairs of words that people can read."""
        named: dict[int, str] = {}
        start = 0
        for view, learner in zip(self._views, self._learners, strict=True):
            if view.spoken:
                named |= {start + column: term for term, column in learner.vocabulary_.items()}
            start += _BUCKETS if view.characters else len(learner.vocabulary_)
        return named

    def _joined(self, blocks: list[Any], numbers: Any) -> sparse.csr_matrix:
        scaled = [block * scale for block, scale in zip(blocks, self._scales, strict=True)]
        shapes = sparse.csr_matrix(numpy.clip(numbers, -_CLIP, _CLIP) * self._shape_scale)
        return sparse.hstack([*scaled, shapes], format="csr", dtype=numpy.float32)


def _shapes(texts: Sequence[Text]) -> numpy.typing.NDArray[numpy.float32]:
    return numpy.vstack([shape.measure(text) for text in texts])
