"""What the model costs over thirty nights of a real repository, and which part of that triagebot does not ask for.

The issues are those of one repository as they were opened, in its busiest month; texts and dates are real. What the
data does not tell is set so: a closed issue was closed when it was last touched, people put their labels on as they
closed it, nobody edits a text, and each author opens one issue. The model answers what people answered.

The program is the shipped one, its command line included, against the embedded GitHub over HTTP; only its clock and
GitHub's are the month's. Tokens are estimated as the embedded model counts them: the characters of the messages by 4.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import Any
from unittest import mock

from tests.bench.frame import Line, Setting, at_least, at_most, benchmark

DATA = Path(__file__).parents[2] / "../shared/data/hf-datasets-issues.jsonl.gz"
FIRST_NIGHT = datetime(2022, 3, 2, 2, 17, tzinfo=UTC)
REPO = "octo/demo"

CONFIG = "delivery: {settle: 0s, per_second: off, per_hour: off}\nhistory: {use: 'off'}\n"
FIRST = CONFIG + "model: {first: local}\n"


@dataclass(frozen=True, kw_only=True)
class Past:
    """One issue of the data: when it was opened and closed, and the labels that people gave it."""

    number: int
    title: str
    body: str
    labels: tuple[str, ...]
    association: str
    opened: datetime
    closed: datetime | None

    def is_open(self, at: datetime) -> bool:
        return self.opened <= at and (self.closed is None or self.closed > at)


@dataclass(frozen=True, kw_only=True)
class Told:
    """One night: how many open issues it took into consideration, what it asked, and what it was spared."""

    at: datetime
    taken: int
    asked: int
    saved: int
    tokens: int


@benchmark("money", "calls and tokens over thirty nights of a real repository")
def money(setting: Setting) -> Iterator[Line]:
    if not DATA.exists():
        yield Line("skipped", "", ours=[0.0], note=f"{DATA.name} is not beside this checkout")
        return
    nights = setting.size(30, small=3)
    issues = read(since=datetime(2022, 1, 1, tzinfo=UTC) if setting.small else None)
    plain, cascade = Month(issues), Month(issues)
    with plain.staged(setting.folder / "plain", CONFIG) as night:
        told = [night(FIRST_NIGHT + timedelta(days=day)) for day in range(nights)]
        plain.lose_the_ledger()
        lost = night(told[-1].at)
    yield from _tokens(plain, told)
    yield from _spared(told, lost, plain)
    with cascade.staged(setting.folder / "cascade", FIRST) as night:
        yield from _cascade(cascade, [night(FIRST_NIGHT + timedelta(days=day)) for day in range(nights)])


def _tokens(month: Month, told: Sequence[Told]) -> Iterator[Line]:
    asked, tokens = sum(night.asked for night in told), sum(night.tokens for night in told)
    yield Line(
        f"tokens for each of {asked} issues asked about",
        "tokens",
        ours=[night.tokens / night.asked for night in told if night.asked],
        limit_by="the instruction with the labels, sent each time, and the issue itself, cut to 12,000 characters",
        note="spread over the nights; estimated as characters of the messages / 4",
    )
    naive, selective = (sum(month.tokens_of(night.at, taken) for night in told) for taken in (_surely_open, _selected))
    yield Line(
        f"tokens in {len(told)} nights",
        "tokens",
        ours=[float(tokens)],
        against={"every issue surely open, each night": [naive], "the same selection without a memory": [selective]},
        target=at_most(0.1),
        limit_by="each text is asked about once",
        note="a bot that remembers by the labels it set would ask again about what got none",
    )


def _spared(told: Sequence[Told], lost: Told, month: Month) -> Iterator[Line]:
    later = told[1:]
    yield Line(
        "calls avoided since the text was answered before, from the second night on",
        "%",
        ours=[100 * (1 - sum(n.asked for n in later) / max(1, sum(n.taken for n in later)))],
        limit_by="issues that are new",
        note="of the issues that a night takes by its settings: open, not labelled by people, not older than 30 days",
    )
    without = month.unmarked
    yield Line(
        f"calls avoided by markers when the ledger is lost after night {len(told)}",
        "%",
        ours=[100 * (1 - lost.asked / max(1, lost.taken))],
        against={"answers that leave a comment": [100 * (1 - without / max(1, lost.taken))]},
        target=at_least(1.0),
        limit_by="answers that leave no comment: nothing fits, or no label that may be set",
    )


def _cascade(month: Month, told: Sequence[Told]) -> Iterator[Line]:
    saved, asked = sum(night.saved for night in told), sum(night.asked for night in told)
    right, judged = month.local_answers()
    yield Line(
        "calls avoided by the classifier, which answers first what it is sure of",
        "%",
        ours=[100 * saved / max(1, saved + asked)],
        limit_by="how much of the stream the classifier is sure of, by its own measure of nine in ten",
        note=f"of {saved + asked} issues; people gave the label, too, in {right} of {judged} that they labelled",
    )


# --- the month


@dataclass
class Month:
    """The issues of the data on an embedded GitHub whose clock says `now`."""

    issues: Sequence[Past]
    now: datetime = FIRST_NIGHT
    folder: Path = Path()
    _shown: set[int] = field(default_factory=set)
    _closed: set[int] = field(default_factory=set)

    @contextmanager
    def staged(self, folder: Path, config: str) -> Iterator[Callable[[datetime], Told]]:
        """Serve it, and yield what plays one night."""
        from triagebot.nightly.stop import SystemClock
        from triagebot.sandbox import github, model, server
        from triagebot.sandbox.hub import Hub

        folder.mkdir()
        (folder / "config.yml").write_text(config, encoding="utf-8")
        self.folder, hub, stand = folder, Hub(now=lambda: self.now), model.Stand(answer=self._answer)
        self.repo = hub.create_repository(REPO, labels=sorted({n for past in self.issues for n in past.labels}))
        with (
            server.serve(github.app(hub)) as github_url,
            server.serve(model.app(stand)) as model_url,
            mock.patch.dict(os.environ, self._environ(github_url, f"{model_url}/v1"), clear=True),
            mock.patch.object(SystemClock, "now", side_effect=lambda: self.now),
        ):
            yield self._night

    def _night(self, at: datetime) -> Told:
        from triagebot.cli.main import main

        self._until(at)
        out, err = io.StringIO(), io.StringIO()
        with redirect_stdout(out), redirect_stderr(err):
            code = main(["run", "--format", "json", "--config", str(self.folder / "config.yml")])
        if code:
            raise RuntimeError(f"the night of {at:%d %B} ended with code {code}: {err.getvalue()}")
        counts: Mapping[str, int] = json.loads(out.getvalue())["counts"]
        new = sum(counts.get(name, 0) for name in ("labelled", "nothing_fits", "not_answerable"))
        return Told(
            at=at,
            taken=counts.get("answered_before", 0) + new,
            asked=counts["model_requests"],
            saved=counts.get("calls_saved", 0),
            tokens=counts["tokens_in"] + counts["tokens_out"],
        )

    def _until(self, at: datetime) -> None:
        """Let happen what people did by then."""
        for past in self.issues:
            if past.opened <= at and past.number not in self._shown:
                self._shown.add(past.number)
                self._open(past)
            if past.closed and past.closed <= at and past.number not in self._closed:
                self._closed.add(past.number)
                self._label(past, past.closed)
                self.repo.close(past.number)
        self.now = at

    def _open(self, past: Past) -> None:
        self.now = past.opened
        self.repo.open_issue(
            title=past.title,
            body=past.body,
            author=f"author-{past.number}",
            association=past.association,
            created_at=past.opened,
            number=past.number,
        )
        if past.closed is None and past.opened < FIRST_NIGHT - timedelta(days=30):
            self._label(past, past.opened + timedelta(days=1))  # nobody knows when; the bot would not take it anyway

    def _label(self, past: Past, at: datetime) -> None:
        self.now = at
        for name in past.labels:
            self.repo.label(past.number, name, by="maintainer", at=at)

    def lose_the_ledger(self) -> None:
        for file in self.folder.glob("ledger.db*"):
            file.unlink()

    # --- what it would have cost

    @cached_property
    def _answers(self) -> dict[str, tuple[str, ...]]:
        return {_asked_as(past): past.labels for past in self.issues}

    def _answer(self, names: Any, title: str, body: str) -> dict[str, Any]:
        wanted, known = {*names}, self._answers.get(title, ())
        return {"labels": [{"name": n, "confidence": 0.9, "reason": "As people said."} for n in known if n in wanted]}

    @cached_property
    def _cost(self) -> dict[int, int]:
        """Tokens of a question about each issue and its answer, as the program would put it."""
        from triagebot.cli import texts
        from triagebot.core import policy, prompt
        from triagebot.core.issue import Label
        from triagebot.core.policy import LabelPolicy

        names = [Label(name=label.name) for label in self.repo.labels()]
        template, usable = texts.system_prompt(), policy.usable(LabelPolicy(), names)
        cost = {}
        for past in self.issues:
            question = prompt.compose(template, usable, past.title, past.body, input_chars=12_000)
            answer = json.dumps(self._answer(question.labels, _asked_as(past), ""), ensure_ascii=False)
            cost[past.number] = (len(question.system) + len(question.user)) // 4 + len(answer) // 4
        return cost

    def tokens_of(self, at: datetime, taken: Callable[[Past, datetime], bool]) -> float:
        """Tokens of a night that asks about every open issue that `taken` admits."""
        return float(sum(self._cost[past.number] for past in self.issues if past.is_open(at) and taken(past, at)))

    @property
    def unmarked(self) -> int:
        """Open issues that were answered, and carry no comment that says so."""
        answered = {issue for (issue,) in self._ledger("SELECT DISTINCT issue FROM runs WHERE status = 'done'")}
        marked = {issue.number for issue in self.repo.issues() if issue.comments}
        return sum(p.is_open(self.now) for p in self.issues if p.number in answered - marked)

    def local_answers(self) -> tuple[int, int]:
        """How many answers of the classifier hold a label that people gave, and to how many issues they gave any."""
        labels = {past.number: {*past.labels} for past in self.issues}
        rows = self._ledger("SELECT issue, verdict FROM runs WHERE status = 'done' AND model = 'local'")
        judged = [({v["name"] for v in json.loads(told)["labels"]}, labels[n]) for n, told in rows if labels[n]]
        return sum(bool(ours & theirs) for ours, theirs in judged), len(judged)

    def _ledger(self, statement: str) -> list[tuple[Any, ...]]:
        with closing(sqlite3.connect(self.folder / "ledger.db")) as ledger:
            return ledger.execute(statement).fetchall()

    def _environ(self, github_url: str, model_url: str) -> dict[str, str]:
        from triagebot.sandbox.hub import TOKEN

        kept = {name: os.environ[name] for name in ("PATH", "HOME", "TMPDIR") if name in os.environ}
        return kept | {
            "GITHUB_API_URL": github_url,
            "GITHUB_TOKEN": TOKEN,
            "GITHUB_REPOSITORY": REPO,
            "OPENAI_BASE_URL": model_url,
            "TRIAGEBOT_MODEL": "stand-in",
            "TRIAGEBOT_LEDGER": str(self.folder / "ledger.db"),
            "XDG_STATE_HOME": str(self.folder),
        }


def _surely_open(past: Past, at: datetime) -> bool:
    """Open to this day. What was closed since may have been closed earlier than it was last touched."""
    return past.closed is None


def _selected(past: Past, at: datetime) -> bool:
    """What the program's own settings take: not older than 30 days."""
    return past.opened > at - timedelta(days=30)


def _asked_as(past: Past) -> str:
    """The title as the model is shown it, by which it knows an issue again."""
    from triagebot.core import prompt

    return prompt.clean(past.title, markdown=False)


def read(since: datetime | None = None) -> list[Past]:
    """The issues of the data, pull requests left out, oldest first; only those opened at or after `since`."""
    with gzip.open(DATA, "rt", encoding="utf-8") as file:
        rows = [row for row in map(json.loads, file) if not row["is_pr"]]
    found = [
        Past(
            number=row["number"],
            title=row["title"],
            body=row["body"] or "",
            labels=tuple(row["labels"]),
            association=row["author_association"],
            opened=datetime.fromisoformat(row["created_at"]),
            closed=datetime.fromisoformat(row["updated_at"]) if row["state"] == "closed" else None,
        )
        for row in rows
    ]
    return sorted((past for past in found if since is None or past.opened >= since), key=lambda past: past.opened)
