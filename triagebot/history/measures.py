"""What examples proved to be worth to a model: `history.use: auto` shows them only where a measure says so."""

from __future__ import annotations

from datetime import UTC, datetime

from triagebot.history.database import Database

_LEAST_ISSUES = 50
"""A measure on fewer issues says nothing: one issue of 50 is two points of accuracy."""

_LEAST_GAIN = 0.02
"""Of macro-F1, where the measure tells no interval: below it, the difference is noise at any size that people run."""


class Measures:
    """Measures by model and prompt. They live with the index and get lost with it: then examples are off again."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def close(self) -> None:
        self._database.close()

    def record(
        self,
        *,
        model: str,
        prompt: str,
        n: int,
        without: float,
        with_examples: float,
        gain_low: float | None = None,
        at: datetime | None = None,
    ) -> None:
        """Note a measure on `n` issues: macro-F1 (0..1) of `model` without and with examples.

        `prompt` is the version of the template (`core.prompt.version`), or another word that changes
        with it; `gain_low` the lower end of a confidence interval of the gain, where one was
        worked out. `at` is now if it is not given.
        """
        when = (at or datetime.now(UTC)).timestamp()
        with self._database.write() as write:
            write.all(
                "add_measure",
                at=when,
                model=model,
                prompt=prompt,
                n=n,
                without=without,
                with_examples=with_examples,
                gain_low=gain_low,
            )

    def pay(self, *, model: str, prompt: str | None = None) -> bool:
        """Whether examples make this model better, by the last measure of it (with this `prompt`, if one is named).

        Without a measure, or by one on fewer than 50 issues: no. They can harm: a model of 0.5 billion
        parameters fell from a macro-F1 of .501 to .360 with four of them.
        """
        found = self._database.read("measures", model=model, prompt=prompt)
        if not found or found[-1]["n"] < _LEAST_ISSUES:
            return False
        last = found[-1]
        if last["gain_low"] is not None:
            return bool(last["gain_low"] > 0)
        return bool(last["with_examples"] - last["without"] >= _LEAST_GAIN)
