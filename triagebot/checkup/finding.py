"""A finding: what was looked at, how it stands, and what to do about it."""

from __future__ import annotations

import enum
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from triagebot.core.faults import Fault, Misconfigured, ModelFault, TrackerFault

T = TypeVar("T")


class State(enum.StrEnum):
    """`BROKEN` means that nothing will work before it is mended; a warning lets a night go on."""

    OK = "ok"
    WARNING = "warning"
    BROKEN = "broken"


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """One line of the report. `mend` is "" where there is nothing to do, or where the fact itself says what."""

    check: str
    state: State
    fact: str
    mend: str = ""


def fine(check: str, fact: str) -> Finding:
    return Finding(check=check, state=State.OK, fact=fact)


def doubtful(check: str, fact: str, mend: str) -> Finding:
    return Finding(check=check, state=State.WARNING, fact=fact, mend=mend)


def broken(check: str, fact: str, mend: str) -> Finding:
    return Finding(check=check, state=State.BROKEN, fact=fact, mend=mend)


def unseen(check: str, first: str) -> Finding:
    """Not looked at, since `first` is broken."""
    return doubtful(check, "not looked at", f'mend "{first}" first')


def failed(check: str, fault: Fault, mend: str = "") -> Finding:
    """The fault's own sentence, taken apart; `mend` where it knows better.

    Who set something up wrongly is told the mend in that sentence, by the contract of `core.faults`, in whatever
    words. What a server answers may come without one, and pass.
    """
    fact, told = parted(str(fault))
    if isinstance(fault, TrackerFault | ModelFault) and not isinstance(fault, Misconfigured):
        return broken(check, fact, mend or told or "it may pass: run doctor again in a while")
    if not told:
        fact, told = _last_part(fact)
    return broken(check, fact, mend or told)


def judged(check: str, seen: T | Fault | None, judge: Callable[[T], Finding], *, first: str) -> Finding:
    """The judgement on what was seen; `None` was not looked at, since `first` is broken."""
    if seen is None:
        return unseen(check, first)
    return failed(check, seen) if isinstance(seen, Fault) else judge(seen)


# The sentences of `core.faults` say what is wrong first and how to mend it last; this is how the last part begins.
_MENDS = re.compile(
    r"[.:;]\s+(?=(?:check|choose|create|free|give|install|is https?://|let|make|move|name|point|put|raise|rename|run|"
    r"set|switch|the nearest one|unarchive|upgrade|use|wait|widen|write)\b)",
    re.IGNORECASE,
)


def parted(sentence: str) -> tuple[str, str]:
    """What is wrong, and how to mend it ("" where the sentence does not say)."""
    fact, _, mend = _MENDS.sub("\0", sentence.strip(), count=1).partition("\0")
    return fact.rstrip(". "), mend.rstrip(". ")


def _last_part(sentence: str) -> tuple[str, str]:
    fact, separator, mend = sentence.rpartition("; ")
    return (fact, mend) if separator else (sentence, "")
