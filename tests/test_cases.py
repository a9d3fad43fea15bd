"""Every fault that bots of this kind met in the field is held by a test that exists."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from tests.cases import CASES, TRAPS

ROOT = Path(__file__).parents[1]
PAPER = ROOT / "../shared/cases.md"
SECTIONS = (
    "Duplicate bot comments",
    "Rate limits and retries",
    "Tracker oddities",
    "Schedulers",
    "SQLite ledger",
)
HELD = CASES | {name: tests for name, (_, tests) in TRAPS.items()}


@cache
def functions(file: str) -> frozenset[str]:
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    return frozenset(node.name for node in tree.body if isinstance(node, ast.FunctionDef))


def section(title: str) -> str:
    if not PAPER.is_file():
        pytest.skip("the list of cases is not beside this checkout")
    found = re.search(rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)", PAPER.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    assert found, f"no section {title!r}"
    return found[1]


@pytest.mark.parametrize("case", HELD)
def test_a_case_is_held_by_tests_that_exist(case: str) -> None:
    assert HELD[case]
    for named in HELD[case]:
        file, function = named.split("::")
        assert function in functions(file), named


@pytest.mark.parametrize("title", SECTIONS)
def test_no_case_of_the_list_is_left_out(title: str) -> None:
    listed = re.findall(r"^\| ([A-Z]\d+) \|", section(title), re.MULTILINE)
    assert listed
    assert [case for case in listed if case not in CASES] == []


def test_no_trap_of_the_list_is_left_out() -> None:
    listed = re.findall(r"^- (.+)$", section("Traps seen in the code of other bots"), re.MULTILINE)
    assert len(listed) == len(TRAPS)
    for bullet, (words, _) in zip(listed, TRAPS.values(), strict=True):
        assert words in bullet
