"""A failure carries the facts that the night decides by."""

from __future__ import annotations

import inspect

import pytest

from triagebot.core import faults


def test_a_limit_says_how_long_and_which() -> None:
    limited = faults.Limited("slow down", seconds=60.0, primary=True)
    assert (str(limited), limited.seconds, limited.primary) == ("slow down", 60.0, True)


def test_a_refused_question_says_what_is_recorded_and_what_it_cost() -> None:
    refused = faults.QuestionRefused("too long", outcome="too-long", requests=2)
    assert (refused.outcome, refused.requests) == ("too-long", 2)
    assert faults.ModelUnreachable("down").requests == 0


@pytest.mark.parametrize("fault", [kind for _, kind in inspect.getmembers(faults, inspect.isclass)])
def test_every_failure_has_the_one_root_and_a_docstring(fault: type) -> None:
    assert issubclass(fault, faults.Fault)
    assert fault.__doc__
