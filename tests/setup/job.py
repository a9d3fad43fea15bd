"""A job of GitHub's runner in small: the steps of our action, read from its YAML and carried out one by one.

The `run` steps are really run, by bash as GitHub calls it, in order, each with its own environment; a failed step skips
those that do not say `always()`. What the `uses` steps stand for is played: a cache whose entries are never
overwritten, of which an exact name or else the newest with a prefix comes back (docs.github.com, "Dependency caching
reference"). What is not known here is an error, and not skipped.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
ACTION = ROOT / ".github" / "actions" / "triage" / "action.yml"

_SUM = re.compile(r"\$\{\{ *(.*?) *\}\}")
_COMPARED = re.compile(r"(\S+) (==|!=) '([^']*)'")


@dataclass
class Cache:
    """What outlives a job, oldest first: key and files."""

    entries: dict[str, dict[str, bytes]] = field(default_factory=dict)

    def restore(self, key: str, prefixes: list[str], place: Path) -> None:
        for wanted in (key, *prefixes):
            for name in reversed(self.entries):
                if name.startswith(wanted):
                    place.mkdir(parents=True, exist_ok=True)
                    for file, content in self.entries[name].items():
                        (place / file).write_bytes(content)
                    return

    def save(self, key: str, place: Path) -> None:
        """A name that is taken is kept as it was; the real one says so in a warning and calls it a success."""
        files = {str(file.relative_to(place)): file.read_bytes() for file in place.rglob("*") if file.is_file()}
        self.entries.setdefault(key, files)


@dataclass
class Job:
    """One attempt of one run. `during` is called with the process of the night's step while it runs."""

    cache: Cache
    temp: Path
    env: Mapping[str, str]
    inputs: Mapping[str, str] = field(default_factory=dict)
    run_id: int = 1
    attempt: int = 1
    install: Callable[[Path], None] | None = None
    during: Callable[[subprocess.Popen[str]], None] | None = None
    outcomes: dict[str, str] = field(default_factory=dict)
    log: str = ""
    _outputs: dict[str, dict[str, str]] = field(default_factory=dict)

    @property
    def summary(self) -> str:
        return (self.temp / "summary").read_text()

    def run(self) -> Job:
        """All steps; `outcomes` then tells of each by name, and of the job by an empty name."""
        shutil.rmtree(self.temp, ignore_errors=True)
        self.temp.mkdir()
        action = yaml.safe_load(ACTION.read_text(encoding="utf-8"))
        self.outcomes[""] = "success"
        given = {name: str(told.get("default", "")) for name, told in action["inputs"].items()}
        unknown = self.inputs.keys() - given.keys()
        assert not unknown, f"the action has no input {unknown}"
        self.inputs = given | dict(self.inputs)
        for step in action["runs"]["steps"]:
            self._step(step)
        return self

    def _step(self, step: dict[str, Any]) -> None:
        if not self._wanted(step.get("if", "success()")):
            self.outcomes[step["name"]] = "skipped"
            return
        code = self._run(step) if "run" in step else self._use(step)
        self.outcomes[step["name"]] = "failure" if code else "success"
        if code:
            self.outcomes[""] = "failure"

    # --- steps

    def _run(self, step: dict[str, Any]) -> int:
        assert step["shell"] == "bash"
        if step.get("id") == "install" and self.install is not None:
            self.install(self.temp / "triagebot")
            return 0
        script, output = self.temp / "step.sh", self.temp / "output"
        script.write_text(self._text(step["run"]))  # as the runner does: an expression would become code here
        output.write_text("")
        process = subprocess.Popen(
            ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", str(script)],
            env=self._environment(output) | {name: self._text(told) for name, told in step.get("env", {}).items()},
            cwd=self.temp,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        if self.during is not None and step["name"] == "Run the night":
            self.during(process)
        self.log += process.communicate(timeout=600)[0]
        if "id" in step:
            self._outputs[step["id"]] = dict(line.split("=", 1) for line in output.read_text().splitlines())
        return process.returncode

    def _environment(self, output: Path) -> dict[str, str]:
        """What a runner sets, as far as a step of ours may rely on it."""
        return {
            **self.env,
            "CI": "true",
            "GITHUB_ACTIONS": "true",
            "GITHUB_ACTION_PATH": str(ACTION.parent),
            "GITHUB_OUTPUT": str(output),
            "GITHUB_STEP_SUMMARY": str(self.temp / "summary"),
            "RUNNER_TEMP": str(self.temp),
        }

    def _use(self, step: dict[str, Any]) -> int:
        told = {name: self._text(value) for name, value in step.get("with", {}).items()}
        match step["uses"].partition("@")[0]:
            case "actions/setup-python":
                assert told.keys() == {"python-version"}
            case "actions/cache/restore":
                self.cache.restore(told["key"], told["restore-keys"].split(), Path(told["path"]))
            case "actions/cache/save":
                self.cache.save(told["key"], Path(told["path"]))
            case other:
                raise AssertionError(f"a runner in small does not know {other}")
        return 0

    # --- expressions

    def _wanted(self, condition: str) -> bool:
        parts = condition.split(" && ")
        if "always()" not in parts and self.outcomes[""] != "success":
            return False
        return all(self._holds(part) for part in parts if part not in {"always()", "success()"})

    def _holds(self, part: str) -> bool:
        found = _COMPARED.fullmatch(part)
        assert found, f"a runner in small does not know the condition {part}"
        return (self._value(found[1]) == found[3]) is (found[2] == "==")

    def _text(self, told: object) -> str:
        return _SUM.sub(lambda found: self._value(found[1]), str(told))

    def _value(self, name: str) -> str:
        match name.split("."):
            case ["inputs", known]:
                return self.inputs[known] if "${{" not in self.inputs[known] else self._text(self.inputs[known])
            case ["steps", step, "outputs", output]:
                return self._outputs.get(step, {}).get(output, "")
            case ["github", known]:
                given = {"repository_id": "77", "run_id": self.run_id, "run_attempt": self.attempt}
                return str({**given, "token": self.env["GITHUB_TOKEN"]}[known])
        raise AssertionError(f"a runner in small does not know {name}")


def bare(env: Mapping[str, str], home: Path) -> dict[str, str]:
    """What a job starts with: the machine's own variables, and no secret among them but the token that it gets."""
    kept = {name: value for name, value in os.environ.items() if name == "PATH" or name.startswith("COV")}
    return {**kept, "HOME": str(home), **env}
