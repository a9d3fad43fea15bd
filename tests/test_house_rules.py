"""The project's own rules: sizes, and papers that say what the program does."""

from __future__ import annotations

import ast
import re
import statistics
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from triagebot.cli import config
from triagebot.cli.boundary import ExitCode

ROOT = Path(__file__).parents[1]
SOURCES = sorted((ROOT / "triagebot").rglob("*.py"))
README = (ROOT / "README.md").read_text(encoding="utf-8")


# --- sizes


def _functions() -> Iterator[tuple[str, int]]:
    for source in SOURCES:
        for node in ast.walk(ast.parse(source.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield f"{source.relative_to(ROOT)}:{node.lineno} {node.name}", (node.end_lineno or 0) - node.lineno + 1


def test_no_function_is_longer_than_a_screen() -> None:
    assert [name for name, lines in _functions() if lines > 60] == []


def test_functions_are_short_as_a_rule() -> None:
    assert statistics.median(lines for _, lines in _functions()) < 10


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_long_file_says_why(source: Path) -> None:
    text = source.read_text(encoding="utf-8")
    assert text.count("\n") <= 300 or "Long because" in (ast.get_docstring(ast.parse(text)) or "")


@pytest.mark.parametrize("folder", sorted({source.parent for source in SOURCES}), ids=lambda path: path.name)
def test_a_folder_has_its_reason_in_its_docstring(folder: Path) -> None:
    assert ast.get_docstring(ast.parse((folder / "__init__.py").read_text(encoding="utf-8")))


# --- words

_NOT_OURS = [
    "/" + "work/",
    "/" + "root/",
    "/tmp/" + "venv",
    "pypi" + ".org",
    "python" + "hosted",
    "TO" + "DO",
    "FIX" + "ME",
    "XX" + "X:",
]


def _texts() -> Iterator[Path]:
    for folder in ("triagebot", "prompts", "tests", "cassettes", ".github", ".ci"):
        yield from (p for p in (ROOT / folder).rglob("*") if p.is_file() and "__pycache__" not in p.parts)
    yield from (ROOT / "README.md", ROOT / "pyproject.toml")


def test_nothing_names_a_machine_or_puts_work_off() -> None:
    found = [
        (str(path.relative_to(ROOT)), word)
        for path in _texts()
        for word in _NOT_OURS
        if word in path.read_text(encoding="utf-8", errors="replace")
    ]
    assert found == []


def test_nothing_holds_a_key() -> None:
    """A cassette that was recorded without its filters would."""
    key = re.compile(r"gh[pousr]_[A-Za-z0-9]{36}|github_pat_[A-Za-z0-9_]{60,}|\bsk-[A-Za-z0-9-]{32,}")
    assert [str(p.relative_to(ROOT)) for p in _texts() if key.search(p.read_text("utf-8", errors="replace"))] == []


def test_the_comment_mentions_nobody_and_refers_to_nothing() -> None:
    """A fixed example in a template pings the same person, or links the same issue, every night."""
    template = (ROOT / "prompts" / "comment.md.j2").read_text(encoding="utf-8")
    assert not set("@#") & set(template)


# --- the README


def _section(title: str) -> str:
    found = re.search(rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)", README, re.MULTILINE | re.DOTALL)
    assert found, f"README.md has no section {title!r}"
    return found[1]


def _block(title: str, language: str) -> str:
    """The first fenced block of a section, which must be in `language`."""
    found = re.search(r"^```(\w*)\n(.*?)^```$", _section(title), re.MULTILINE | re.DOTALL)
    assert found, f"the section {title!r} has no fenced block"
    assert found[1] == language
    return found[2]


def _table(title: str, first: str) -> list[list[str]]:
    """The rows of the table whose first heading is `first`; an escaped bar belongs to its cell."""
    rows = [re.split(r"(?<!\\)\|", line)[1:-1] for line in _section(title).splitlines() if line.startswith("|")]
    cells = [[cell.strip() for cell in row] for row in rows]
    start = next(n for n, row in enumerate(cells) if row[0] == first)
    end = next((n for n, row in enumerate(cells) if n > start + 1 and set(row[0]) == {"-"}), len(cells) + 1)
    return cells[start + 2 : end - 1]


@pytest.mark.parametrize(("title", "extra"), [("Try it", "sandbox"), ("Test it", "test")])
def test_one_line_is_enough_on_a_bare_machine(title: str, extra: str) -> None:
    """It makes the environment, installs and runs, by paths that need no activation."""
    [line] = _block(title, "sh").splitlines()
    steps = line.split(" && ")
    assert steps[:2] == ["python3 -m venv .venv", f".venv/bin/pip install -q -e '.[{extra}]'"]
    assert all(step.startswith(".venv/bin/") for step in steps[1:])


def test_the_settings_in_the_readme_are_the_settings() -> None:
    """Every key, with its default, in the order of the program."""
    shown = yaml.safe_load(_block("Settings", "yaml"))
    assert config.parse(shown, Path("README.md")) == config.Config()
    assert list(_keys(shown)) == list(config.keys(config.Config))


def _keys(section: dict[str, object], prefix: str = "") -> Iterator[str]:
    for key, value in section.items():
        yield prefix + key
        if isinstance(value, dict):
            yield from _keys(value, f"{prefix}{key}.")


def _commands(group: object, path: tuple[str, ...] = ()) -> Iterator[tuple[str, set[str]]]:
    """Every command with its long flags, from the program itself."""
    for name, command in group.commands.items():  # type: ignore[attr-defined]
        if hasattr(command, "commands"):
            yield from _commands(command, (*path, name))
        else:
            flags = {flag for param in command.params for flag in (*param.opts, *param.secondary_opts)}
            yield " ".join((*path, name)), {flag for flag in flags if flag.startswith("--") and flag != "--help"}


def test_the_commands_in_the_readme_are_the_commands() -> None:
    import typer.main

    from triagebot.cli import main

    shown = {
        " ".join(word for word in row[0].strip("`").split()[1:] if word.islower()): set(
            re.findall(r"`(--[a-z-]+)", row[2])
        )
        for row in _table("Commands", "command")
    }
    assert shown == dict(_commands(typer.main.get_command(main.app)))


def test_the_exit_codes_in_the_readme_are_the_exit_codes() -> None:
    shown = {int(code) for row in _table("Commands", "exit code") for code in row[0].split(",")}
    assert shown == {*ExitCode, 129, 130, 143}


def test_the_readme_promises_no_name_on_a_package_index() -> None:
    assert not re.search(r"pip install (?:-\S+ )*['\"]?triagebot", README)


def test_the_links_in_the_papers_lead_somewhere() -> None:
    for paper in (ROOT / "README.md", *(ROOT / ".github").glob("*.md")):
        for target in re.findall(r"\]\(([^)#:]+)\)", paper.read_text(encoding="utf-8")):
            assert (paper.parent / target).exists(), f"{paper.name} links to {target}"
