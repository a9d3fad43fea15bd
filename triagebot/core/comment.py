"""The words of the one comment. The model's words are data in it: shown, never acted on by GitHub or another bot.

What GitHub does with text in a comment was measured by others: a backslash or an
entity does not stop a mention (github/cmark-gfm#181), a code span does. So all words
that are not the template's stand in code spans.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from triagebot.core import marker as markers
from triagebot.core import secrecy, unseen
from triagebot.core.faults import Fault
from triagebot.core.marker import Marker
from triagebot.core.verdict import Vote

Template = Callable[[Mapping[str, object]], str]

_LIMIT = 65_000  # code points; GitHub's limit is 65,536 of them or 262,144 bytes, whichever it counts
_REASON = 200  # characters of a reason
_NAME = 100  # characters of a label's or a model's name
_READ = 2_000  # characters looked at for keys: one that a cut would halve is seen whole, a megabyte costs little
_ACTIVE = re.compile(r"[@#<&]|(?<!\w)/(?=\w)")
_TICKS = re.compile("`+")
_RUN = 10  # backticks in a row that are shown; in cmark-gfm (inlines.c) no more than 80 can begin a code span


class CannotRender(Fault):
    """The comment must not be posted as it would read; the sentence says why, and never quotes a secret."""


def render(
    template: Template,
    *,
    marker: Marker,
    applied: Sequence[Vote],
    suggested: Sequence[Vote],
    model: str,
    secrets: Sequence[str] = (),
) -> str:
    """Return the comment's body. Raises `CannotRender` where it would not be recognised, fit, or keep a secret.

    Secrets are looked for in the whole of what the model said, so that a cut cannot
    hide that a part of one is shown.
    """
    for limit in (_REASON, 0):
        body = template(_values(marker, applied, suggested, model, limit)).rstrip()
        if len(body) <= _LIMIT:
            break
    said = [body, model, *(words for vote in (*applied, *suggested) for words in (vote.name, vote.reason))]
    _require_secrecy("\n".join(said), secrets)
    _require_form(body, marker)
    return body


def neutral(template: Template, *, marker: Marker, model: str) -> str:
    """Return the body for a text of which nothing stands any more: the template's one neutral line."""
    return render(template, marker=marker, applied=(), suggested=(), model=model)


def as_data(text: str, limit: int = _REASON) -> str:
    """Return `text` as one inert code span of at most `limit` characters of it; empty text is an empty string.

    The span is longer than any run of backticks in the text, so nothing can end it; long runs are shortened. The
    characters that begin mentions, references, HTML, entities and commands ("/close") are
    followed by a zero-width space as well, for other bots search the raw text, some of it
    anywhere. What has the form of a key is left out.
    """
    words = secrecy.without_keys(" ".join(unseen.visible(text).split())[:_READ])
    if len(words) > limit:
        words = words[: limit - 1].rstrip() + "…" if limit > 0 else ""
    if not words:
        return ""
    inert = _ACTIVE.sub("\\g<0>\u200b", _TICKS.sub(lambda run: run[0][:_RUN], words))
    ticks = "`" * (1 + max(map(len, _TICKS.findall(inert)), default=0))
    pad = " " if "`" in (inert[0], inert[-1]) else ""
    return f"{ticks}{pad}{inert}{pad}{ticks}"


def _values(
    marker: Marker, applied: Sequence[Vote], suggested: Sequence[Vote], model: str, limit: int
) -> Mapping[str, object]:
    sure = [vote.confidence for vote in (*applied, *suggested)]
    return {
        "marker": str(marker),
        "applied": [_shown(vote, limit) for vote in applied],
        "suggested": [_shown(vote, limit) for vote in suggested],
        "model": as_data(model, _NAME),
        "confidence": _span(min(sure), max(sure)) if sure else "",
    }


def _shown(vote: Vote, limit: int) -> Mapping[str, str]:
    return {
        "name": as_data(vote.name, _NAME),
        "confidence": f"{vote.confidence:.0%}",
        "reason": as_data(vote.reason, limit),
    }


def _span(low: float, high: float) -> str:
    first, last = f"{low:.0%}", f"{high:.0%}"
    return last if first == last else f"{first} to {last}"


def _require_form(body: str, marker: Marker) -> None:
    if body.split("\n", 1)[0] != str(marker) or body.count("<!--") != 1 or markers.read(body) != marker:
        raise CannotRender(
            "The comment must begin with the marker's line and hold no other hidden text: mend prompts/comment.md.j2."
        )
    if len(body) > _LIMIT:
        raise CannotRender(f"The comment has {len(body)} characters, more than {_LIMIT}: lower labels.max.")


def _require_secrecy(said: str, secrets: Sequence[str]) -> None:
    if secrecy.says_a_secret(said, secrets):
        raise CannotRender("The comment would show a secret of this process: it is not posted.")
