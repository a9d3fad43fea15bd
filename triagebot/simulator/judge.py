"""What must stand once a history has come to rest: the promise, word by word."""

from __future__ import annotations

from collections import Counter

from triagebot.core import key
from triagebot.core.marker import Marker
from triagebot.core.marker import read as read_marker
from triagebot.core.policy import Mode
from triagebot.core.rows import Memory, RowStatus
from triagebot.core.verdict import Outcome
from triagebot.sandbox.hub import BOT
from triagebot.sandbox.repository import Repository
from triagebot.sandbox.state import Comment, Issue
from triagebot.simulator.parts import fitting
from triagebot.simulator.script import DAY, Script
from triagebot.simulator.world import World


def at_rest(world: World, script: Script) -> None:
    """Judge every open issue, the ledger's word for what was sent, and the number of model calls."""
    for repo in world.repos:
        for issue in repo.issues():
            if issue.state == "open" and not issue.locked:
                _judge_issue(world, repo, issue)
            _judge_ledger(world, repo, issue)
    _judge_calls(world, script)


def buried(world: World, script: Script) -> None:
    """What is dead after days of fair weather must have had its reason: a write, a model or a process that failed.

    An issue that was archived, switched off or out of reach for a while is not given up for that.
    """
    harsh = {
        "3 nights without proof": script.weather.write or script.accidents,
        "422": script.weather.write,
        "failed on 3 days": script.poison or script.weather.model or script.accidents,
    }
    for repo, issue in ((each, issue) for each in world.repos for issue in each.issues()):
        memory = world.ledger("main").recall(repo.id, issue.number, key.digest(issue.title, issue.body))
        rows = [row.reason or "" for row in memory.rows if row.status is RowStatus.DEAD]
        for reason in filter(None, [*rows, memory.dead]):
            kind = next((known for known in harsh if reason.startswith(known)), None)
            world.counts[f"buried: {kind or reason}"] += 1
            if kind is None or not harsh[kind]:
                world.violate(f"{repo.full_name}#{issue.number} is given up for no reason of this history: {reason}")


def taken_back(world: World) -> None:
    """After an undo of everything at rest: no label that we set last, no comment of ours but what people edited.

    What the ledger does not know any more it cannot take back.
    """
    if world.windows & {"lose", "restore", "two ledgers"}:
        return
    for issue in (issue for repo in world.repos for issue in repo.issues()):
        ours = [name for name in issue.labels if _set_last(issue, name) == BOT]
        plain = [c for c in issue.comments if c.author.login == BOT and (c.editor is None or c.editor is c.author)]
        if ours or plain:
            world.violate(
                f"after an undo {issue.repo}#{issue.number} carries {ours} and comments {[c.id for c in plain]}"
            )


def _set_last(issue: Issue, name: str) -> str | None:
    return next((e.actor.login for e in reversed(issue.events) if e.kind == "labeled" and e.label == name), None)


def tell(world: World) -> None:
    """Count what every row and every run went through, and the windows that were open."""
    for opened in world.ledgers.values():
        with opened._database.read() as tx:
            for repo, issue in world.issues():
                for event in tx.all("events_of_issue", repo_id=repo.id, issue=issue):
                    world.counts[f"state: {event['what']}"] += 1
    for window in world.windows:
        world.counts[f"window: {window}"] += 1


def writes(counts: Counter[str]) -> int:
    return sum(number for name, number in counts.items() if name.startswith("send.") and ":" not in name)


def _judge_issue(world: World, repo: Repository, issue: Issue) -> None:
    where, own = f"{repo.full_name}#{issue.number} ({issue.title})", world.own(repo, issue.number)
    memory = world.ledger("main").recall(repo.id, issue.number, key.digest(issue.title, issue.body))
    if len(own) > 1:
        world.violate(f"{where} carries {len(own)} comments of ours")
    ours = [name for name in issue.labels if _set_last(issue, name) == BOT]
    if ours and world.settings.labels.mode is Mode.SUGGEST:
        world.violate(f"{where} carries the labels {ours}, which were only to be suggested")
    if not _has_verdict(world, repo, issue) and not _is_not_to_be_asked(world, memory):
        world.violate(f"{where} has no recorded outcome")
    for comment in own:
        _judge_comment(world, where, issue, comment)
    _judge_what_fits(world, repo, issue, memory, has_comment=bool(own))


def _has_verdict(world: World, repo: Repository, issue: Issue) -> bool:
    """Read from its own runs: what the night asks for could be another repository's word for the same text."""
    with world.ledger("main")._database.read() as tx:
        rows = tx.all("runs_of_issue", repo_id=repo.id, issue=issue.number)
    digest = key.digest(issue.title, issue.body)
    return any(row["digest"] == digest and row["status"] == "done" for row in rows)


def _is_not_to_be_asked(world: World, memory: Memory) -> bool:
    """Where a person deleted the comment and labels are only suggested, an answer could be put nowhere: skipped."""
    return memory.silence.silent and world.settings.labels.mode is Mode.SUGGEST


def _judge_comment(world: World, where: str, issue: Issue, comment: Comment) -> None:
    edited = comment.editor is not None and comment.editor is not comment.author
    if edited or issue.title.startswith("refuse"):
        return
    marker = read_marker(comment.body)
    if not isinstance(marker, Marker) or marker.digest != key.digest(issue.title, issue.body):
        world.violate(f"{where} carries a comment for another text")


def _judge_what_fits(world: World, repo: Repository, issue: Issue, memory: Memory, *, has_comment: bool) -> None:
    where = f"{repo.full_name}#{issue.number} ({issue.title})"
    voted = {vote.name for vote in memory.verdict.labels} if memory.verdict else set()
    # Judged while the repository was without a label, a text does without it.
    fits = [name for name in fitting(issue.title) if (repo.id, name) not in world.missed or name in voted]
    taken_off = {event.label for event in issue.events if event.kind == "unlabeled"}
    # A lost ledger knows that our comment stands, not what it says: its labels are not mended.
    known = memory.verdict is not None and memory.verdict.outcome is not Outcome.STANDING
    applies = world.settings.labels.mode is Mode.APPLY
    if applies and known and set(fits) - set(issue.labels) - taken_off:
        world.violate(f"{where} lacks the label {fits}")
    deleted = any(e.kind == "comment_deleted" and e.actor.login != BOT for e in issue.events)
    deleted = deleted or (repo.id, issue.number) in world.watch.undone
    said = [name for name in fits if name in issue.labels or name not in taken_off]
    if said and not has_comment and not deleted and world.settings.comments:
        world.violate(f"{where} has no comment although {fits} fits")


def _judge_ledger(world: World, repo: Repository, issue: Issue) -> None:
    """`sent` stands only for a comment that was stored."""
    for row in world.ledger("main").recall(repo.id, issue.number, "").rows:
        if row.status is RowStatus.SENT and row.remote_id and row.remote_id not in world.watch.comment_ids:
            world.violate(f"{repo.full_name}#{issue.number}: the ledger says that comment {row.remote_id} was sent")


def _judge_calls(world: World, script: Script) -> None:
    if script.windows - {"seen late"}:
        return
    killed = world.scheduler.killed
    agains = sum(e.again for e in script.events)
    bad = sum(number for what, number in world.counts.items() if what in {"model garbage", "model truncated"})
    # A night that is stopped, or whose ledger fails it, gives tries back and loses the answers that it waited for.
    lost = sum(number for what, number in world.counts.items() if what.startswith(("night stopped", "ledger failed")))
    for title, calls in world.model.asked.items():
        if calls > (bound := script.repos * (1 + killed + agains + lost + 2 * bad)):
            world.violate(f"{title!r} was answered {calls} times, more than {bound}")
    tries = 3 * script.repos * (1 + max((int(e.at // DAY) for e in script.events), default=0))
    for title, asked in world.model.questions.items():
        if script.poison and asked > tries + 1 + lost and title.split()[1] == str(script.poison):
            world.violate(f"{title!r}, which kills who asks it, was asked about {asked} times, more than {tries}")
