"""The day of a night: one form, and none that nobody can mean."""

from __future__ import annotations

from datetime import date

import pytest

from triagebot.cli import days
from triagebot.cli.main import main
from triagebot.core.faults import Misconfigured

TODAY = date(2026, 12, 1)


@pytest.mark.parametrize("written", ["2026-12-01", "2026-12-02", "2026-11-30", "2000-01-01", "2024-02-29"])
def test_a_day_up_to_tomorrow_is_taken(written: str) -> None:
    assert days.parse(written, source="--day", today=TODAY) == date.fromisoformat(written)


@pytest.mark.parametrize(
    "written", ["20261201", "2026-W49-2", "2026-12-1", "2026-02-30", "", " 2026-12-01", "٢٠٢٦-12-01"]
)
def test_another_form_is_refused(written: str) -> None:
    with pytest.raises(Misconfigured, match=r"^--day is .*; write a day as in 2026-12-01\.$"):
        days.parse(written, source="--day", today=TODAY)


@pytest.mark.parametrize("written", ["2026-12-03", "9999-12-31", "0001-01-01", "1999-12-31"])
def test_a_day_that_nobody_can_mean_is_refused(written: str) -> None:
    """It would lead the list of days for good, and its keys with it."""
    with pytest.raises(Misconfigured, match="write a day from 2000-01-01 to 2026-12-02, which is tomorrow in UTC"):
        days.parse(written, source="--day", today=TODAY)


@pytest.mark.parametrize("written", ["9999-12-31", "20261201"])
def test_the_command_says_so(written: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--day", written, "--repo", "octo/demo"]) == 2
    assert capsys.readouterr().err.startswith("triagebot: --day is ")
