"""Two nights at once, and nights that are only a part of one: which of them count as a good night."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest

from tests.world import World
from triagebot.core import key
from triagebot.core.key import Ref
from triagebot.core.rows import Claim
from triagebot.core.verdict import Outcome, Usage, Verdict
from triagebot.ledger.opening import open_ledger

TITLE, BODY = "It crashes first", "Error: it fails at start"


@pytest.mark.parametrize("answers", [True, False], ids=["answers it", "still asks"])
def test_of_nights_that_overlap_the_one_that_ends_last_is_a_good_one(world: World, answers: bool) -> None:
    """What another worker held is left over only as long as nobody has answered it when the night ends."""
    shared = world.crash(TITLE, BODY)
    world.crash("It crashes, too")
    with open_ledger(world.ledger) as other:
        night = other.open_night(repo_id=world.repo.id, repo="octo/demo", day=world.hub.now().date())
        ref = Ref(repo_id=world.repo.id, issue=shared, day=night.day, digest=key.digest(TITLE, BODY))
        claim = other.claim(ref, night, lease=900.0)
        assert isinstance(claim, Claim)

        def answered() -> None:
            other.finish(claim, Verdict(outcome=Outcome.NOTHING_FITS), [], Usage(requests=1))

        world.once(lambda call: call.operation == "LookAgain", answered if answers else lambda: None)
        ran = world.run("--format", "json")
        status = world.run("--max-age", "1h", command="status")
    assert ran.code == status.code == (0 if answers else 1)
    assert ran.json["counts"].get("answered_before" if answers else "held_by_another_worker") == 1
    assert world.stand.count == 1


def test_an_issue_asked_anew_that_another_worker_holds_is_left_over_whatever_was_answered_before(world: World) -> None:
    number = world.crash(TITLE, BODY)
    world.night()
    with open_ledger(world.ledger) as other:
        night = other.open_night(
            repo_id=world.repo.id, repo="octo/demo", day=world.hub.now().date() - timedelta(days=1)
        )
        ref = Ref(repo_id=world.repo.id, issue=number, day=night.day, digest=key.digest(TITLE, BODY))
        assert isinstance(other.claim(ref, night, lease=900.0, again=True), Claim)
        ran = world.run("--issue", str(number), "--again")
    assert ran.code == 1
    assert "held by another worker" in ran.out


@pytest.mark.parametrize("part", ["deliver", "issue"])
def test_a_part_of_a_night_does_not_silence_the_alarm(world: World, part: str) -> None:
    """Somebody looks by hand at a schedule that is dead: what they do is done, and the alarm still rings."""
    number = world.crash()
    runs: dict[str, Callable[[], int]] = {
        "deliver": lambda: world.run(command="deliver").code,
        "issue": lambda: world.run("--issue", str(number)).code,
    }
    assert runs[part]() == 0
    rings = world.run("--max-age", "1h", command="status")
    assert rings.code == 1
    assert "done: only what was asked for" in rings.out
    world.night()
    assert world.run("--max-age", "1h", command="status").code == 0


def test_a_night_that_ended_in_the_future_does_not_silence_the_alarm(world: World) -> None:
    """A clock that was wrong once would keep it silent for years."""
    world.crash()
    world.night()
    world.sql("UPDATE nights SET finished_at = '2199-01-01T00:00:00.000Z'")
    assert world.run("--max-age", "1h", command="status").code == 1
