"""The account and what it may do: token, identity, repository, labels, limits, and who else writes as triagebot."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import chain

from triagebot.checkup.finding import Finding, broken, doubtful, failed, fine
from triagebot.core import policy
from triagebot.core.faults import Misconfigured
from triagebot.core.issue import Identity, Label, Repository
from triagebot.core.policy import LabelPolicy
from triagebot.github.survey import OURS, Account, Posted, Quota
from triagebot.nightly import place

_KINDS = {
    "ghp_": "classic personal access token",
    "github_pat_": "fine-grained personal access token",
    "gho_": "OAuth token",
    "ghu_": "token of a person, through a GitHub App",
    "ghs_": "token of an App's installation, as workflows have it",
}
_SOON = timedelta(days=7)
_LOW = 0.2  # of the hourly quota: a night reads as much as it needs, then writes one or two requests an issue
_SHOWN = 8
_GLOB = frozenset("*?[")


def kind(token: str) -> str:
    """What a token is, by its first letters (docs.github.com "About authentication to GitHub")."""
    if len(token) == 40 and set(token) <= set("0123456789abcdef"):
        return "classic personal access token"  # as they were until 2021
    return next((told for prefix, told in _KINDS.items() if token.startswith(prefix)), "token of an unknown kind")


def token(what: str, account: Account, *, granted: str | None, repository: Repository | None, now: datetime) -> Finding:
    """Kind, scopes, last day. `granted` is what an App may do with issues; a classic token tells its scopes.

    Of any other kind a first write tells.
    """
    scopes = account.scopes
    if scopes is not None and not scopes & _wanted(repository):
        had = ", ".join(sorted(scopes)) or "none"
        mend = "give it the scope repo (public_repo is enough for a public repository), or use a fine-grained one"
        return broken("token", f"{what}, whose scopes ({had}) do not let it write issues", mend)
    told = f"may {granted.lower()} issues" if granted else "what it may do shows at the first write"
    told = f"scopes {', '.join(sorted(scopes))}" if scopes else told
    until = account.expires
    if until is not None and until - now < _SOON:
        return doubtful("token", f"{what}, which ends on {until:%Y-%m-%d %H:%M}Z", "make a new GITHUB_TOKEN before")
    return fine("token", f"{what}, {told}" + (f", good until {until:%Y-%m-%d}" if until else ""))


def _wanted(repository: Repository | None) -> frozenset[str]:
    private = repository is not None and repository.private
    return frozenset({"repo"}) if private else frozenset({"repo", "public_repo"})


def identity(found: Identity) -> Finding:
    also = f"; before: {', '.join(sorted(found.also))}" if found.also else ""
    return fine("identity", f"writes as {found.login} (id {found.id}){also}")


def repository(found: Repository, asked: str) -> Finding:
    """Raises nothing: what ends a night at its start is `broken` here, in the same words."""
    try:
        place.check(found)
    except Misconfigured as fault:
        return failed("repository", fault)
    role = f"role {found.permission}" if found.permission else "role not told"
    told = f"{found.name} (id {found.id}), {'private' if found.private else 'public'}, {role}"
    if found.name.casefold() != asked.casefold():
        return doubtful("repository", f"{asked} is called {told} now", "put the new name into --repo and the schedule")
    return fine("repository", told)


def labels(config: LabelPolicy, known: Sequence[Label]) -> Finding:
    """What the policy leaves, and the names in it that are no labels (a default's absence is no slip)."""
    left = [label.name for label in policy.usable(config, known)]
    missing = [*_missing(config, known)]
    told = f"{len(left)} of {len(known)} may be set" + (f": {_some(left)}" if left else "")
    named = f"; named but not there: {', '.join(repr(name) for name, _ in missing)}" if missing else ""
    mend = (
        "; ".join(f"write {near!r} for {name!r}" for name, near in missing if near) or "create them, or take them out"
    )
    if not left:
        create = "create labels, or widen labels.allow or narrow labels.deny in the config"
        return broken("labels", told + named, mend if any(near for _, near in missing) else create)
    return doubtful("labels", told + named, mend) if missing else fine("labels", told)


def _missing(config: LabelPolicy, known: Sequence[Label]) -> Iterator[tuple[str, str | None]]:
    """Names without a glob that no label has, each with the nearest one that there is."""
    usual = LabelPolicy()
    written = chain(config.allow, config.deny, *config.groups)
    names = dict.fromkeys(name for name in written if not _GLOB & set(name) and name not in usual.deny)
    for name in names:
        if not policy.usable(LabelPolicy(allow=(name,), deny=()), known):
            plain = {policy.plain(label.name): label.name for label in known}
            near = difflib.get_close_matches(policy.plain(name), plain, n=1)
            yield name, plain[near[0]] if near else None


def limits(quotas: Mapping[str, Quota], gate: float, now: float) -> Finding:
    """`gate` is for how many seconds writing rests, by a limit that was met; `now` is GitHub's clock."""
    rows = {name: quotas[name] for name in OURS if name in quotas}
    if not rows:
        return fine("limits", "this server tells of none")
    told = ", ".join(f"{name} {quota.remaining} of {quota.limit} left this hour" for name, quota in rows.items())
    until = max(quota.reset for quota in rows.values())
    full = f"{datetime.fromtimestamp(until, UTC):%H:%M}Z, in {max(0.0, until - now) / 60:.0f} min"
    if any(quota.remaining == 0 for quota in rows.values()):
        return broken("limits", told, f"wait until {full}, and let nothing else use this account")
    if any(quota.remaining < quota.limit * _LOW for quota in rows.values()):
        return doubtful("limits", told, f"it is full again at {full}: see what else uses this account")
    if gate > 0:
        return doubtful(
            "limits", f"{told}; writing rests for {gate / 60:.0f} min more", "nothing: it goes on by itself"
        )
    return fine("limits", told)


def nights(posted: Sequence[Posted], known: Sequence[Posted], strangers: Mapping[str, int]) -> Finding:
    """Who else writes as triagebot here. `known` is what the ledger has recorded of the comments on the newest issues.

    A stranger's marker proves nothing, for anybody may write one.
    """
    lost = [one for one in posted if one.comment.marker is not None and one not in known]
    if lost:
        some = _some([str(number) for number in dict.fromkeys(one.issue for one in lost)])
        return doubtful(
            "nights",
            f"{len(lost)} of our {len(posted)} comments on the newest issues are unknown to this ledger (issue {some})",
            "let one ledger serve this repository: point TRIAGEBOT_LEDGER at the one that wrote them, or end the other "
            "schedule; if it is lost, the next night goes on from the comments",
        )
    if strangers:
        some = ", ".join(f"{login} ({number})" for login, number in sorted(strangers.items()))
        return doubtful(
            "nights",
            f"comments with a triagebot marker stand on the newest issues, by {some}",
            "put an account that wrote for this bot before into identity.also; end a second triagebot",
        )
    told = f"the ledger knows each of our {len(posted)} comments" if posted else "no comment of ours stands"
    return fine("nights", f"{told} on the newest issues")


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more
