"""What a night knows of the repository it works on, found out once and never changed."""

from __future__ import annotations

from dataclasses import dataclass

from triagebot.core import policy
from triagebot.core.faults import Misconfigured, NotPermitted, ReadOnly
from triagebot.core.issue import Identity, Label, Repository
from triagebot.core.policy import LabelPolicy
from triagebot.nightly.ports import Tracker

_MAY_LABEL = frozenset({"ADMIN", "MAINTAIN", "WRITE", "TRIAGE"})
_A_TOKEN = "the token", "use a GITHUB_TOKEN with write access to issues"
_AN_APP = (
    "the GitHub App",
    'give it the permission "Issues: Read and write" in its settings, and accept the new permission where it is '
    "installed",
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """The repository, who we are in it, its label names, and those the policy leaves to the model."""

    repository: Repository
    identity: Identity
    known: tuple[str, ...]
    usable: tuple[Label, ...]


def find(tracker: Tracker, labels: LabelPolicy) -> Place:
    """Resolve the place, or end here: what surely cannot work must not cost a model call.

    Raises `Misconfigured` in one sentence that names the mend.
    """
    repository = tracker.repository()
    check(repository)
    known = tuple(tracker.labels())
    usable = policy.usable(labels, known)
    if not usable:
        raise Misconfigured(
            f"{repository.name} has {len(known)} labels and the policy allows none of them: "
            "create labels, or widen labels.allow or narrow labels.deny in the config"
        )
    names = tuple(label.name for label in known)
    return Place(repository=repository, identity=tracker.identity(), known=names, usable=usable)


def check(repository: Repository) -> None:
    """Raises `ReadOnly` or `NotPermitted`, in one sentence, where nothing can be written."""
    if repository.archived:
        raise ReadOnly(
            f"{repository.name} is archived, so nothing can be written there: unarchive it or choose another --repo"
        )
    if not repository.issues_enabled:
        raise ReadOnly(f"{repository.name} has its issues disabled: switch them on in the repository's settings")
    if repository.permission is not None and repository.permission not in _MAY_LABEL:
        who, mend = _AN_APP if repository.as_app else _A_TOKEN
        raise NotPermitted(f"{who} may only read {repository.name} (its permission is {repository.permission}): {mend}")
