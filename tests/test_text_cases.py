"""Every fault that text and models caused in the field is held by a test that exists."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from tests.text_cases import CASES

ROOT = Path(__file__).parents[1]
PAPER = ROOT / "../shared/cases.md"
SECTIONS = {
    "Model answers and model requests": "M",
    "Prompt injection through issue text": "P",
    "Noise": "N",
    "Odd input": "I",
    "Model client and transport": "O",
}


@cache
def functions(file: str) -> frozenset[str]:
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    return frozenset(node.name for node in tree.body if isinstance(node, ast.FunctionDef))


@pytest.mark.parametrize("case", CASES)
def test_a_case_is_held_by_tests_that_exist(case: str) -> None:
    assert CASES[case]
    for named in CASES[case]:
        file, function = named.split("::")
        assert function.startswith("test_")
        assert function in functions(file), named


@pytest.mark.parametrize(("title", "letter"), SECTIONS.items())
def test_the_table_and_the_list_of_cases_name_the_same_cases(title: str, letter: str) -> None:
    if not PAPER.is_file():
        pytest.skip("the list of cases is not beside this checkout")
    found = re.search(rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)", PAPER.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    assert found, f"no section {title!r}"
    listed = re.findall(r"^\| ([A-Z]\d+) \|", found[1], re.MULTILINE)
    assert listed
    assert set(listed) == {case for case in CASES if case[0] == letter}
