"""A GitHub App as the account: one token for all, no wider than needed, renewed in time, and each refusal mended."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import jwt
import pytest

from tests.keys import rsa_pair
from triagebot.core.actions import PostComment
from triagebot.core.faults import Limited, Misconfigured, NotPermitted, Undelivered
from triagebot.github.app import AppKey, Installation
from triagebot.github.tracker import GitHubTracker
from triagebot.sandbox import faults
from triagebot.sandbox.apps import App
from triagebot.sandbox.arming import On
from triagebot.sandbox.hub import BOT, Hub
from triagebot.sandbox.repository import Repository

FIND = On(method="GET", path="/repos/*/installation")
MINT = On(method="POST", path="/app/installations/*/access_tokens")


class Clock:
    """A clock that stands until it is moved; GitHub's goes with it."""

    def __init__(self, hub: Hub) -> None:
        self.seconds = 0.0
        start = datetime.now(UTC)
        hub.now = lambda: start + timedelta(seconds=self.seconds)

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def app(hub: Hub, repo: Repository) -> App:
    return hub.apps.add(BOT, rsa_pair().public, "octo/demo")


@pytest.fixture
def clock(hub: Hub) -> Clock:
    return Clock(hub)


Make = Callable[..., Installation]


@pytest.fixture
def make(app: App, github_url: str, clock: Clock) -> Make:
    """An installation of the App on octo/demo, or of another one, or elsewhere."""

    def made(*, id: str = "", key: str = "", repo: str = "octo/demo") -> Installation:
        return Installation(
            AppKey(id=id or str(app.id), private_key=key or rsa_pair().private),
            github_url,
            repo,
            timeout=2,
            clock=clock,
        )

    return made


@pytest.fixture
def tracker(make: Make, github_url: str) -> Iterator[GitHubTracker]:
    made = GitHubTracker(github_url, make(), "octo/demo", timeout=2)
    yield made
    made.close()


def asked(hub: Hub, path: str) -> list[bytes]:
    return [seen.body for seen in hub.requests if path in seen.path]


def test_the_app_reads_and_writes_as_its_bot(tracker: GitHubTracker, repo: Repository) -> None:
    repo.open_issue(title="x")
    assert tracker.repository().permission == "WRITE"
    assert tracker.identity().login == BOT
    tracker.send(PostComment(issue=1, body="hello"))
    assert [comment.author.login for comment in repo.comments(1)] == [BOT]


def test_the_token_is_for_the_issues_of_one_repository(make: Make, hub: Hub) -> None:
    make().token()
    [body] = asked(hub, "access_tokens")
    assert json.loads(body) == {"repositories": ["demo"], "permissions": {"issues": "write", "metadata": "read"}}


def test_what_an_app_signs_is_its_own_and_short(make: Make, hub: Hub, app: App) -> None:
    sent: list[str] = []
    hub.on_request = lambda call: sent.append(call.headers["authorization"])
    make().token()
    for header in sent:
        scheme, _, signed = header.partition(" ")
        claims = jwt.decode(signed, rsa_pair().public, algorithms=["RS256"])
        assert (scheme, claims["iss"], claims["exp"] - claims["iat"]) == ("Bearer", str(app.id), 540)


def test_one_token_serves_all_threads_for_its_time(make: Make, hub: Hub, clock: Clock) -> None:
    made = make()
    with ThreadPoolExecutor(4) as pool:
        first = set(pool.map(lambda _: made.token(), range(16)))
    clock.seconds = 3299
    assert first == {made.token()}
    assert hub.apps.minted == 1


def test_it_is_renewed_before_its_end(make: Make, hub: Hub, clock: Clock) -> None:
    made = make()
    first = made.token()
    clock.seconds = 3301
    assert made.token() != first
    assert len(asked(hub, "/demo/installation")) == 1, "the installation itself is looked for once"


def test_a_night_of_five_hours_goes_on_under_new_tokens(
    tracker: GitHubTracker, repo: Repository, hub: Hub, clock: Clock
) -> None:
    repo.open_issue(title="x")
    for hour in range(5):
        clock.seconds = hour * 3600.0
        tracker.look(1, ())
        tracker.send(PostComment(issue=1, body=f"hour {hour}"))
    assert len(repo.comments(1)) == 5
    assert hub.apps.minted == 5
    assert [seen.path for seen in hub.requests if seen.status == 401 and "/app/" not in seen.path] == []


def test_a_token_that_ended_unnoticed_is_renewed_by_the_next_read(
    tracker: GitHubTracker, repo: Repository, hub: Hub
) -> None:
    """A machine that slept: its monotonic clock stood still meanwhile."""
    repo.open_issue(title="x")
    tracker.look(1, ())
    later = hub.now() + timedelta(hours=9)
    hub.now = lambda: later
    assert tracker.look(1, ()).number == 1
    assert hub.apps.minted == 2


def test_a_write_with_an_ended_token_is_not_repeated(tracker: GitHubTracker, repo: Repository, hub: Hub) -> None:
    repo.open_issue(title="x")
    tracker.look(1, ())
    later = hub.now() + timedelta(hours=9)
    hub.now = lambda: later
    with pytest.raises(NotPermitted):
        tracker.send(PostComment(issue=1, body="hello"))
    assert len(asked(hub, "/comments")) == 1


def test_a_token_that_is_refused_again_and_again_is_not_minted_for_ever(
    tracker: GitHubTracker, hub: Hub, repo: Repository
) -> None:
    hub.apps.lifetime = 0
    with pytest.raises((NotPermitted, Misconfigured)):
        tracker.repository()
    assert hub.apps.minted <= 4


# --- GitHub at odds


def test_a_bad_gateway_is_asked_again(make: Make, hub: Hub) -> None:
    for on in (FIND, MINT):
        hub.faults.add(faults.answers(on, 502))
    assert make().token()


def test_without_a_token_nothing_is_sent(tracker: GitHubTracker, repo: Repository, hub: Hub, clock: Clock) -> None:
    repo.open_issue(title="x")
    tracker.look(1, ())
    hub.faults.add(faults.answers(MINT, 502), times=None)
    clock.seconds = 3700
    with pytest.raises(Undelivered, match="no token to sign with"):
        tracker.send(PostComment(issue=1, body="hello"))
    assert hub.writes() == []


def test_an_old_token_goes_on_while_it_lasts(make: Make, hub: Hub, clock: Clock) -> None:
    made = make()
    first = made.token()
    hub.faults.add(faults.answers(MINT, 502), times=None)
    clock.seconds = 3400
    assert [made.token(), made.token()] == [first, first]
    assert len(asked(hub, "access_tokens")) == 1 + 3, "and the next try is not made at once"
    clock.seconds = 3601
    with pytest.raises(Undelivered):
        made.token()


def test_a_limit_is_told_as_one(make: Make, hub: Hub) -> None:
    hub.faults.add(faults.secondary_limit(MINT, retry_after="7"))
    with pytest.raises(Limited) as told:
        make().token()
    assert told.value.seconds == 7
    assert len(asked(hub, "access_tokens")) == 1


@pytest.mark.parametrize("ahead", [-7200, -240, 240, 7200])
def test_a_wrong_clock_of_ours_does_not_keep_the_app_out(
    app: App, hub: Hub, github_url: str, clock: Clock, ahead: float
) -> None:
    theirs = datetime.now(UTC) - timedelta(seconds=ahead)
    hub.now = lambda: theirs
    made = Installation(
        AppKey(id=str(app.id), private_key=rsa_pair().private), github_url, "octo/demo", timeout=2, clock=clock
    )
    assert made.token()
    clock.seconds = 3299
    assert made.token()
    assert hub.apps.minted == 1, "how long it lasts is told by GitHub's clock"


def test_a_renamed_repository_is_found(make: Make, hub: Hub, repo: Repository, github_url: str) -> None:
    repo.rename("octo/new")
    tracker = GitHubTracker(github_url, make(), "octo/demo", timeout=2)
    assert tracker.repository().name == "octo/new"
    assert json.loads(asked(hub, "access_tokens")[0])["repository_ids"] == [repo.id]


# --- refusals, each with its mend


def _suspend(app: App) -> None:
    app.suspended = True


def _no_issues(app: App) -> None:
    app.issues = None


def _uninstall(app: App) -> None:
    app.repositories.clear()


@pytest.mark.parametrize(
    ("spoil", "kind", "mend"),
    [
        (_suspend, NotPermitted, "suspended"),
        (_no_issues, NotPermitted, '"Issues: Read and write"'),
        (_uninstall, Misconfigured, "install it there"),
    ],
)
def test_an_installation_that_gives_no_token_says_why(
    make: Make, app: App, spoil: Callable[[App], None], kind: type[Exception], mend: str
) -> None:
    spoil(app)
    with pytest.raises(kind, match=mend):
        make().token()


def test_an_app_that_may_only_read_says_so_before_a_night(tracker: GitHubTracker, app: App) -> None:
    app.issues = "read"
    assert tracker.repository().permission == "READ"


def test_an_app_that_is_removed_in_the_night_ends_it(tracker: GitHubTracker, app: App, hub: Hub, clock: Clock) -> None:
    tracker.repository()
    app.installation += 1  # removed, and installed again: the old one gives nothing
    clock.seconds = 3400
    with pytest.raises(Misconfigured, match="is installed on octo/demo"):
        tracker.identity()
    assert tracker.identity().login == BOT, "the next try finds the new one"


@pytest.mark.parametrize(
    ("words", "mend"),
    [
        ({"id": "1"}, "check TRIAGEBOT_APP_ID"),
        ({"id": "somebody"}, "a key of the App somebody"),
        ({"key": rsa_pair("another").private}, "give a key of the App"),
        ({"repo": "octo/nowhere"}, "not installed on octo/nowhere"),
    ],
)
def test_a_wrong_id_key_or_place_is_told(make: Make, words: dict[str, str], mend: str) -> None:
    with pytest.raises(Misconfigured, match=mend):
        make(**words).token()


@pytest.mark.parametrize(
    "key", ["nonsense", rsa_pair().public, rsa_pair().private[:200]], ids=["nonsense", "public", "cut"]
)
def test_a_key_that_cannot_sign_is_told_at_once_and_not_repeated(make: Make, key: str) -> None:
    with pytest.raises(Misconfigured, match="TRIAGEBOT_APP_PRIVATE_KEY holds no RSA private key") as told:
        make(key=key)
    assert key[:30] not in str(told.value)


@pytest.fixture
def elsewhere(plug, clock: Clock) -> Callable[[], Installation]:
    """An installation on a server that says whatever the test wants."""
    key = AppKey(id="7", private_key=rsa_pair().private)
    return lambda: Installation(key, plug.url, "o/n", timeout=1, clock=clock)


IN_AN_HOUR = datetime.fromtimestamp(time.time() + 3600, UTC).isoformat()


@pytest.mark.parametrize(
    "body", [{}, {"token": "a b", "expires_at": IN_AN_HOUR}, {"token": "x", "expires_at": "soon"}, [], "<html>"]
)
def test_an_answer_that_is_no_token_is_not_believed(plug, elsewhere, body: object) -> None:
    found = {"id": 1, "app_slug": "x", "permissions": {"issues": "write"}}
    plug.script = [plug.says(200, found), plug.says(201, body)]
    with pytest.raises(Undelivered, match="nothing was sent"):
        elsewhere().token()
    assert len(plug.asked) == 2


def test_an_answer_that_is_no_installation_is_a_wrong_address(plug, elsewhere) -> None:
    plug.script = [plug.says(200, {"hello": "world"})]
    with pytest.raises(Misconfigured, match="GITHUB_API_URL"):
        elsewhere().token()


@pytest.mark.parametrize("place", ["https://elsewhere.example/repositories/1/installation", "HERE/login"])
def test_a_signature_goes_nowhere_else(plug, elsewhere, place: str) -> None:
    plug.script = [plug.says(301, "", location=place)]
    with pytest.raises(Misconfigured, match="not followed"):
        elsewhere().token()
    assert plug.asked == ["GET /repos/o/n/installation"]


def test_no_secret_is_in_any_repr(make: Make) -> None:
    made = make()
    token = made.token()
    told = f"{made!r} {vars(made)!r} {AppKey(id='1', private_key=rsa_pair().private)!r}"
    assert token not in told
    assert rsa_pair().private.splitlines()[1] not in told


def test_two_threads_that_meet_an_ended_token_do_not_undo_each_other(make: Make, clock: Clock) -> None:
    """What the first has renewed, the second must not throw away."""
    made = make()
    old = made.token()
    meet = threading.Barrier(2)

    def renew(_: int) -> str:
        meet.wait(5)
        made.renew(old, None)  # type: ignore[arg-type]
        return made.token()

    with ThreadPoolExecutor(2) as pool:
        assert len({*pool.map(renew, range(2))}) == 1
