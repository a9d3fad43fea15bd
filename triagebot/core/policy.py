"""Which labels the bot may set, and which of the model's votes pass."""

from __future__ import annotations

import enum
import hashlib
import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

from triagebot.core import unseen
from triagebot.core.issue import Label
from triagebot.core.verdict import Vote

_SHOWN = 50  # characters of a name in a report; GitHub's label names end there
_SHORTCODES = re.compile(r"(?:\s*:[\w+-]+:)+\s*\Z|\A\s*(?::[\w+-]+:\s*)+")
_EMOJI_GLUE = "\u200d\u20e3\ufe0e\ufe0f"
_KEYCAPS = re.compile(r"\A\s*[0-9#*]\ufe0f?\u20e3|[0-9#*]\ufe0f?\u20e3\s*\Z")


class Mode(enum.StrEnum):
    """Whether labels are set, or only named in the comment."""

    APPLY = "apply"
    SUGGEST = "suggest"


@dataclass(frozen=True, kw_only=True, slots=True)
class LabelPolicy:
    """The `labels` section of the config. `allow`, `deny` and the members of `groups` are globs."""

    mode: Mode = Mode.APPLY
    allow: tuple[str, ...] = ("*",)
    deny: tuple[str, ...] = ("duplicate", "wontfix", "invalid", "security", "automerge", "release*", "*-approved")
    groups: tuple[tuple[str, ...], ...] = ()
    max: int = 3
    min_confidence: float = 0.6


@dataclass(frozen=True, slots=True)
class Choice:
    """The votes that pass, surest first, under the repository's names; and "name: why" for each that does not."""

    votes: tuple[Vote, ...]
    dropped: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Addable:
    """What of a verdict can still go on an issue, what stands there already, and "name: why" for the rest."""

    add: tuple[str, ...]
    standing: tuple[str, ...]
    dropped: tuple[str, ...]


def usable(policy: LabelPolicy, labels: Sequence[Label]) -> tuple[Label, ...]:
    """Return the labels within `allow` and outside `deny`. An emoji before or after a name hides it from neither.

    They come in one order, however the repository lists them, so that the same is asked and answered. It is that of
    a hash, for models lean to what stands first (arXiv:2308.11483), which by name or by age is "bug" as a rule.
    """
    able = (label for label in labels if _matches(policy.allow, label.name) and not _matches(policy.deny, label.name))
    return tuple(sorted(able, key=lambda label: hashlib.sha256(label.name.encode(errors="replace")).digest()))


def choose(policy: LabelPolicy, usable: Sequence[Label], votes: Sequence[Vote]) -> Choice:
    """Hold the votes against the policy. Only names of `usable` come out, spelt as there."""
    named: list[Vote] = []
    dropped: list[str] = []
    names = _Names(usable)
    for vote in votes:
        found = names.find(vote.name)
        if len(found) == 1 and vote.confidence >= policy.min_confidence:
            named.append(replace(vote, name=found[0]))
        else:
            dropped.append(_dropped(vote.name, _why_not(found, vote, policy)))
    chosen: list[Vote] = []
    for vote in sorted(named, key=lambda vote: -vote.confidence):
        why = _no_room(policy, vote, chosen)
        if why is None:
            chosen.append(vote)
        else:
            dropped.append(_dropped(vote.name, why))
    return Choice(tuple(chosen), tuple(dropped))


def addable(
    policy: LabelPolicy,
    chosen: Sequence[str],
    *,
    on_issue: Sequence[str],
    taken_off: frozenset[str],
    known: Sequence[str],
) -> Addable:
    """Decide which chosen names are to be added to an issue as it is now. Names compare casefolded, as on GitHub.

    A label that stands on the issue stands, whoever put it there and whatever became of it before.
    """
    spelling = {name.casefold(): name for name in known}
    present = {name.casefold(): name for name in on_issue}
    wanted = list({name.casefold(): name for name in chosen}.items())
    standing = tuple(spelling.get(folded, present[folded]) for folded, _ in wanted if folded in present)
    taken_groups = {group: name for name in on_issue for group in _groups(policy, name)}
    add: list[str] = []
    dropped: list[str] = []
    for folded, name in wanted:
        rivals = [taken_groups[group] for group in _groups(policy, name) if group in taken_groups]
        if folded in present:
            continue
        if folded in taken_off:
            dropped.append(_dropped(name, "taken off by a person"))
        elif folded not in spelling:
            dropped.append(_dropped(name, "no longer a label of the repository"))
        elif rivals:
            dropped.append(_dropped(name, f"{_shown(rivals[0])} stands for its group"))
        else:
            add.append(spelling[folded])
            taken_groups |= dict.fromkeys(_groups(policy, name), name)
    return Addable(tuple(add), standing, tuple(dropped))


def plain(name: str) -> str:
    """Return a name as people say it: casefolded NFC, without emoji and `:shortcodes:` at its ends.

    A name that is nothing but those is left as it is.
    """
    folded = unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold()).strip()
    bare, before = folded, None
    while bare != before:
        before = bare
        bare = _KEYCAPS.sub("", _SHORTCODES.sub("", bare)).strip()
        while bare and _is_ornament(bare[0]):
            bare = bare[1:]
        while bare and _is_ornament(bare[-1]):
            bare = bare[:-1]
    return bare or folded


class _Names:
    """The repository's usable labels by exact and by plain name."""

    def __init__(self, labels: Sequence[Label]) -> None:
        self.exact = {label.name for label in labels}
        self.plain: dict[str, list[str]] = {}
        for label in labels:
            self.plain.setdefault(plain(label.name), []).append(label.name)

    def find(self, name: str) -> Sequence[str]:
        return [name] if name in self.exact else self.plain.get(plain(name), [])


def _is_ornament(char: str) -> bool:
    return char.isspace() or char in _EMOJI_GLUE or unicodedata.category(char) == "So" or _is_part(char)


def _is_part(char: str) -> bool:
    """Whether a character only occurs within emoji: skin tones, tags, arrows written as emoji."""
    return "\U0001f3fb" <= char <= "\U0001f3ff" or "\U000e0020" <= char <= "\U000e007f" or char in "\u2194\u203c\u2049"


def _matches(globs: Sequence[str], name: str) -> bool:
    """Whether any glob names the label; "[" and "]" are common in names, so equality counts too."""
    forms = {unicodedata.normalize("NFC", name).casefold(), plain(name)}
    return any(form == glob or fnmatchcase(form, glob) for glob in map(_folded, globs) for form in forms)


def _folded(glob: str) -> str:
    return unicodedata.normalize("NFC", glob).casefold()


def members(groups: Sequence[Sequence[str]], names: Sequence[str]) -> list[list[str]]:
    """The groups of the settings, which are globs, as the names that they mean among `names`."""
    return [[name for name in names if _matches(globs, name)] for globs in groups]


def _groups(policy: LabelPolicy, name: str) -> Iterator[int]:
    return (number for number, globs in enumerate(policy.groups) if _matches(globs, name))


def _why_not(found: Sequence[str], vote: Vote, policy: LabelPolicy) -> str:
    if not found:
        return "no such label"
    if len(found) > 1:
        return f"could be any of {len(found)} labels"
    return f"confidence {vote.confidence:.2f} is below {policy.min_confidence:.2f}"


def _no_room(policy: LabelPolicy, vote: Vote, chosen: Sequence[Vote]) -> str | None:
    """Return why a vote does not fit beside surer ones, or `None`."""
    if any(other.name == vote.name for other in chosen):
        return "named more than once"
    groups = set(_groups(policy, vote.name))
    rivals = (other.name for other in chosen if groups & set(_groups(policy, other.name)))
    if rival := next(rivals, None):
        return f"{_shown(rival)} is surer in its group"
    return f"more than {policy.max} labels" if len(chosen) >= policy.max else None


def _dropped(name: str, why: str) -> str:
    return f"{_shown(name)}: {why}"


def _shown(name: str) -> str:
    return " ".join(unseen.visible(name).split())[:_SHOWN]
