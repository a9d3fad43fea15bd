"""The shortlist is what one would get by sorting everything and cutting, without holding everything."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from triagebot.core.faults import LedgerUnusable, Limited, ModelUnusable, NotPermitted
from triagebot.core.issue import Actor, Snapshot
from triagebot.core.key import Ref
from triagebot.nightly import choice
from triagebot.nightly.choice import Shortlist, rank
from triagebot.nightly.reconcile import Item
from triagebot.nightly.settings import Budget
from triagebot.nightly.stop import Stop

NEW_YEAR = datetime(2026, 1, 1, tzinfo=UTC)


def item(number: int, *, hours: int = 0, author: str = "ada", tried: bool = False, repo: int = 1) -> Item:
    issue = Snapshot(
        repo_id=repo,
        number=number,
        node=f"I{number}",
        title=f"Issue {number}",
        body="x" * 20_000,
        author=Actor(login=author),
        association="NONE",
        created_at=NEW_YEAR + timedelta(hours=hours),
    )
    return Item(issue=issue, ref=Ref(repo_id=repo, issue=number, day=date(2026, 1, 1), digest="d"), tried=tried)


def cut(items: list[tuple[Item, bool]], budget: Budget) -> list[tuple[int, int]]:
    """The plain way: all of them in order, and then the first that the budget admits."""
    authors: Counter[str] = Counter()
    chosen: list[tuple[int, int]] = []
    for each, _ in sorted(items, key=lambda pair: rank(pair[0], newest_first=pair[1])):
        author = each.issue.author.login if each.issue.author else ""
        full = budget.issues is not None and len(chosen) >= budget.issues
        if not full and (budget.per_author is None or authors[author] < budget.per_author):
            chosen.append((each.ref.repo_id, each.ref.issue))
            authors[author] += 1
    return chosen


issues = st.lists(
    st.tuples(st.integers(0, 30), st.sampled_from("abc"), st.booleans(), st.integers(1, 3), st.booleans()), max_size=40
)
limits = st.one_of(st.none(), st.integers(1, 12))


@given(issues, limits, limits)
def test_it_is_what_sorting_and_cutting_gives_and_tells_each_that_is_left(
    drawn: list[tuple[int, str, bool, int, bool]], most: int | None, share: int | None
) -> None:
    budget = Budget(issues=most, per_author=share)
    shortlist, left = Shortlist(budget), set()
    offered = [
        (item(number, hours=hours, author=author, tried=tried, repo=repo), newest)
        for number, (hours, author, tried, repo, newest) in enumerate(drawn)
    ]
    for each, newest in offered:
        out = shortlist.offer(each, newest_first=newest)
        if out is not None:
            assert out[1] in {"budget.issues", "budget.per_author"}
            left.add((out[0].ref.repo_id, out[0].ref.issue))
    kept = [(each.ref.repo_id, each.ref.issue) for each in shortlist]
    assert kept == cut(offered, budget)
    assert left == {(each.ref.repo_id, each.ref.issue) for each, _ in offered} - set(kept)


@pytest.mark.parametrize("descending", [False, True])
def test_of_ten_thousand_issues_it_holds_the_text_of_those_that_come_first(descending: bool) -> None:
    shortlist = Shortlist(Budget(issues=None, per_author=None))
    for number in sorted(range(10_000), reverse=descending):
        shortlist.offer(item(number, hours=number))
    whole = [each.ref.issue for each in shortlist if not each.lean]
    assert whole == [*range(choice.TEXTS)]
    assert all(not each.issue.body for each in shortlist if each.lean)
    assert len(shortlist) == 10_000


def test_with_a_budget_it_holds_no_more_than_that() -> None:
    shortlist = Shortlist(Budget(issues=50, per_author=None))
    for number in range(1000):
        shortlist.offer(item(number, hours=-number))
        assert len(shortlist) <= 50


# --- how a repository stops


def test_what_is_the_matter_with_one_repository_stops_no_other() -> None:
    trunk = Stop()
    one, other = trunk.branch(), trunk.branch()
    one.by_fault(NotPermitted("no"))
    assert (one.asked, other.asked, trunk.asked) == (True, False, False)


@pytest.mark.parametrize("fault", [ModelUnusable("no"), LedgerUnusable("no")])
def test_what_concerns_all_stops_all(fault: ModelUnusable | LedgerUnusable) -> None:
    trunk = Stop()
    one, other = trunk.branch(), trunk.branch()
    one.by_fault(fault)
    assert [stop.fault for stop in (trunk, one, other, trunk.branch())] == [fault] * 4
    assert all(stop.asked for stop in (trunk, one, other, trunk.branch()))


def test_a_signal_and_a_bug_reach_every_repository() -> None:
    trunk = Stop()
    one = trunk.branch()
    trunk.by_signal(15)
    assert (one.signal, one.asked) == (15, True)
    crashed = Stop()
    one, other = crashed.branch(), crashed.branch()
    one.by_crash()
    assert (other.asked, crashed.asked) == (True, True)


def test_the_first_fault_of_a_repository_counts() -> None:
    trunk = Stop()
    one = trunk.branch()
    first = Limited("wait", seconds=1.0)
    one.by_fault(first)
    trunk.by_fault(ModelUnusable("no"))
    assert one.fault is first
