"""From a bare folder to files that work as they are; nothing is overwritten, and no key can be committed."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import shlex
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.world import Ran, World
from triagebot.cli import config, inits, origins, setups
from triagebot.cli.presets import SERVINGS, Preset
from triagebot.core.faults import Misconfigured
from triagebot.sandbox.hub import TOKEN

SETTINGS, WORKFLOW = Path(".github/triagebot.yml"), Path(".github/workflows/triagebot.yml")
KEY = "sk-of-the-endpoint-0123456789"
NEEDED = {Preset.OTHER: ("--url", "https://models.example/v1", "--model", "some/model:1b")}

Init = Callable[..., Ran]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    bare = tmp_path / "bare folder"
    bare.mkdir()
    monkeypatch.chdir(bare)
    return bare


@pytest.fixture
def init(folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Init:
    """The command in this process, without a terminal."""
    from triagebot.cli.main import main

    def run(*flags: str, **env: str) -> Ran:
        for name, value in env.items():
            monkeypatch.setenv(name, value)
        code = main(["init", *flags])
        told = capsys.readouterr()
        return Ran(code=code, out=told.out, err=told.err)

    return run


def files(folder: Path) -> dict[str, str]:
    return {str(file.relative_to(folder)): file.read_text() for file in folder.rglob("*") if file.is_file()}


def job(folder: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """The workflow's only job, and what its last step is given."""
    [found] = yaml.safe_load((folder / WORKFLOW).read_text())["jobs"].values()
    return found, found["steps"][-1]


def each_preset() -> pytest.MarkDecorator:
    return pytest.mark.parametrize("preset", [*Preset])


# --- settings and workflow


@each_preset()
def test_the_settings_are_the_defaults_and_a_model(init: Init, folder: Path, preset: Preset) -> None:
    assert init("--preset", preset, "--repo", "octo/demo", "--yes", *NEEDED.get(preset, ())).code == 0
    assert files(folder).keys() == {str(SETTINGS), str(WORKFLOW)}
    written = config.load()
    name = "some/model:1b" if preset is Preset.OTHER else SERVINGS[preset].model
    assert written == config.Config(model=config.Model(name=name))
    assert stat.S_IMODE(SETTINGS.stat().st_mode) & 0o444 == 0o444


@each_preset()
def test_the_workflow_fits_the_preset_and_the_repository(init: Init, folder: Path, preset: Preset) -> None:
    init("--preset", preset, "--repo", "octo/demo", "--yes", *NEEDED.get(preset, ()))
    told = yaml.safe_load((folder / WORKFLOW).read_text())
    found, step = job(folder)
    assert told["permissions"] == {}
    assert told["concurrency"]["cancel-in-progress"] is False
    assert found["permissions"] == {"contents": "read", "issues": "write"}
    assert found["if"].startswith("github.repository == 'octo/demo' && vars.TRIAGEBOT != 'off'")
    assert all(slot["cron"].split()[0] not in {"0", "30"} for slot in told[True]["schedule"])
    given = step["with"]
    assert ("openai-api-key" in given) is (preset in {Preset.OPENAI, Preset.OTHER})
    assert given.get("openai-base-url", "") == (NEEDED.get(preset, ("", SERVINGS[preset].url))[1] or "")
    assert given.get("extras", "") == ("local" if preset is Preset.LOCAL else "")
    assert found["runs-on"] == ("self-hosted" if preset is Preset.OLLAMA else "ubuntu-latest")


def test_the_workflow_gives_the_action_what_the_action_takes(init: Init, folder: Path) -> None:
    from tests.setup.job import ACTION

    takes = yaml.safe_load(ACTION.read_text())["inputs"].keys()
    for preset in Preset:
        init("--preset", preset, "--repo", "octo/demo", "--yes", *NEEDED.get(preset, ()))
        assert job(folder)[1]["with"].keys() <= takes
        SETTINGS.unlink()
        WORKFLOW.unlink()


def test_triagebot_is_taken_from_the_commit_that_is_named(init: Init, folder: Path) -> None:
    commit = "0123456789" * 4
    ran = init("--preset", "local", "--repo", "octo/demo", "--source", f"some/fork@{commit}", "--yes")
    assert job(folder)[1]["uses"] == f"some/fork/.github/actions/triage@{commit}"
    assert "OWNER/triagebot" not in ran.out + (folder / WORKFLOW).read_text()


def test_where_nobody_knows_the_source_a_blank_is_left_and_said(
    init: Init, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(origins, "program", lambda: None)
    ran = init("--preset", "local", "--repo", "octo/demo", "--yes")
    assert ran.code == 0
    assert job(folder)[1]["uses"] == f"OWNER/triagebot/.github/actions/triage@{'0' * 40}"
    assert "in place of OWNER/triagebot" in ran.out


# --- labels


def test_the_labels_of_the_repository_stand_in_the_settings_with_what_they_mean(
    init: Init, world: World, folder: Path
) -> None:
    """As comments, each on a line of its own, whatever is in a description."""
    world.repo.add_label("wontfix", "This will not be worked on")
    world.repo.add_label("odd", "one\nmodel: {name: other}\u2028two")
    ran = init("--preset", "ollama", "--repo", "octo/demo", "--yes", **world.env | {"TRIAGEBOT_MODEL": ""})
    text = SETTINGS.read_text()
    assert re.search(r"^#   \+ bug +Something is broken$", text, re.MULTILINE)
    assert re.search(r"^#   - wontfix +This will not be worked on$", text, re.MULTILINE)
    assert re.search(r"^#   \+ odd +one model", text, re.MULTILINE)
    assert config.load() == config.Config(model=config.Model(name=SERVINGS[Preset.OLLAMA].model))
    assert "labels: 8 in octo/demo" in ran.out


def test_a_token_that_leads_nowhere_stops_nothing(init: Init, world: World, folder: Path) -> None:
    ran = init("--preset", "ollama", "--repo", "octo/other", "--yes", **world.env)
    assert ran.code == 0
    assert "labels: not looked at." in ran.out
    assert (folder / SETTINGS).exists()


# --- what is told, and what is not there


def test_the_model_and_the_repository_come_from_the_environment_too(init: Init, folder: Path) -> None:
    env = {"GITHUB_REPOSITORY": "octo/demo", "TRIAGEBOT_MODEL": "from-env"}
    assert init("--preset", "openai", **env).code == 0
    assert config.load().model.name == "from-env"
    assert "octo/demo" in WORKFLOW.read_text()


def test_the_repository_comes_from_the_clone(init: Init, folder: Path) -> None:
    git = ["git", "-C", str(folder)]
    subprocess.run([*git, "init", "-q"], check=True)
    subprocess.run([*git, "remote", "add", "origin", "git@github.com:octo/from-git.git"], check=True)
    assert init("--preset", "local").code == 0
    assert "'octo/from-git'" in WORKFLOW.read_text()


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        ((), "--preset (one of openai, ollama, local, other) is missing, and there is no terminal to ask on"),
        (("--preset", "local"), "--repo is missing, and there is no terminal to ask on"),
        (("--yes",), "--repo is missing, and --yes asks nothing"),
        (("--preset", "other", "--repo", "o/r", "--yes"), "--url is missing"),
        (("--url", "https://m.example/v1", "--repo", "o/r", "--yes"), "--model is missing"),
        (("--url", "models", "--repo", "o/r", "--yes"), "--url is not an address"),
        (("--url", "https://a:b@m.example", "--repo", "o/r", "--yes"), "--url holds a user name or password"),
        (("--preset", "openai", "--repo", "o/r", "--model", "a\nb"), "--model must be a name"),
        (("--preset", "openai", "--repo", "o r"), "--repo is 'o r'"),
        (("--preset", "openai", "--repo", "o/r", "--source", "o/t@v1"), "with all 40 digits of the commit"),
    ],
)
def test_what_is_missing_or_wrong_is_said_in_one_sentence(
    init: Init, folder: Path, flags: tuple[str, ...], said: str
) -> None:
    ran = init(*flags)
    assert ran.code == 2
    assert said in ran.err
    assert ran.err.count("\n") == 1
    assert files(folder) == {}


@pytest.mark.parametrize("way", [(), ("--cron",)])
def test_a_dry_run_shows_the_files_and_writes_none(init: Init, folder: Path, way: tuple[str, ...]) -> None:
    env = {"OPENAI_API_KEY": KEY}
    shown = init("--preset", "openai", "--repo", "o/r", "--yes", "--dry-run", *way, **env).out
    assert files(folder) == {}
    assert KEY not in shown
    init("--preset", "openai", "--repo", "o/r", "--yes", *way, **env)
    for name, text in files(folder).items():
        assert f"--- {name} (mode 0{'600' if name.endswith('.env') else '644'})" in shown
        assert set(text.replace(KEY, "[secret]").splitlines()) <= set(shown.splitlines())


def test_a_dry_run_says_what_would_become_of_the_files_that_are_there(init: Init, folder: Path) -> None:
    SETTINGS.parent.mkdir()
    SETTINGS.write_text("model: {name: 'qwen3:8b'}\n")
    shown = init("--preset", "ollama", "--repo", "o/r", "--yes", "--dry-run")
    assert (shown.code, files(folder)) == (0, {str(SETTINGS): "model: {name: 'qwen3:8b'}\n"})
    assert f"--- {SETTINGS} (mode 0644); there is one already, which would stay as it is\n" in shown.out
    assert f"--- {WORKFLOW} (mode 0644)\n" in shown.out
    WORKFLOW.parent.mkdir()
    WORKFLOW.write_text("of somebody else")
    shown = init("--preset", "ollama", "--repo", "o/r", "--yes", "--dry-run")
    assert shown.code == 0
    assert f"(mode 0644); init would end here: {WORKFLOW} exists already, and init overwrites nothing" in shown.out


@pytest.mark.parametrize(("preset", "told"), [("ollama", True), ("openai", False), ("local", False)])
def test_who_runs_it_by_hand_is_told_the_address_that_only_the_workflow_holds(
    init: Init, folder: Path, preset: str, told: bool
) -> None:
    ran = init("--preset", preset, "--repo", "o/r", "--yes")
    assert ("- for runs by hand, export OPENAI_BASE_URL=http://127.0.0.1:11434/v1: " in ran.out) is told
    assert "OPENAI_BASE_URL" not in init("--preset", preset, "--repo", "o/r", "--yes", "--cron").out


# --- nothing is overwritten


@pytest.mark.parametrize("link", [True, False])
def test_a_file_where_a_folder_has_to_be_is_named(init: Init, folder: Path, link: bool) -> None:
    if link:
        (folder / ".github").symlink_to("nowhere")
    else:
        (folder / ".github").write_text("of somebody else")
    ran = init("--preset", "ollama", "--repo", "o/r", "--yes")
    assert ran.code == 2
    assert f".github is a file, and {SETTINGS} needs a folder of that name; move it away" in ran.err
    assert [file.name for file in folder.iterdir()] == [".github"]


@pytest.mark.parametrize("name", [WORKFLOW, Path("triagebot.env"), Path("triagebot.crontab")])
def test_a_file_in_the_way_is_left_and_nothing_else_is_written(init: Init, folder: Path, name: Path) -> None:
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text("of somebody else")
    way = () if name == WORKFLOW else ("--cron",)
    ran = init("--preset", "ollama", "--repo", "o/r", "--yes", *way)
    assert ran.code == 2
    assert f"{name} exists already, and init overwrites nothing" in ran.err
    assert files(folder) == {str(name): "of somebody else"}


def test_a_file_that_comes_up_at_the_last_moment_is_not_overwritten(folder: Path) -> None:
    (folder / "triagebot.env").write_text("of somebody else")
    with pytest.raises(Misconfigured, match="File exists"):
        inits._write([setups.File(path=setups.ENVIRONMENT, text="ours", mode=0o600)])
    assert files(folder) == {"triagebot.env": "of somebody else"}


def test_settings_that_name_the_model_stay_as_they_are(init: Init, folder: Path) -> None:
    """So a folder that is set up for Actions can be set up for cron as well."""
    SETTINGS.parent.mkdir()
    SETTINGS.write_text("model: {name: 'qwen3:8b'}\nlabels: {max: 1}\n")
    ran = init("--preset", "ollama", "--repo", "o/r", "--yes")
    assert ran.code == 0
    assert f"kept  {SETTINGS}" in ran.out
    assert config.load().labels.max == 1


def test_settings_for_another_model_are_neither_changed_nor_passed_over(init: Init, folder: Path) -> None:
    SETTINGS.parent.mkdir()
    SETTINGS.write_text("model: {name: other}\n")
    ran = init("--preset", "ollama", "--repo", "o/r", "--yes")
    assert ran.code == 2
    assert "names the model other" in ran.err
    assert files(folder) == {str(SETTINGS): "model: {name: other}\n"}


# --- for cron


def test_the_environment_is_private_and_holds_what_the_shell_holds(init: Init, folder: Path) -> None:
    mask = os.umask(0)
    try:
        ran = init("--preset", "openai", "--repo", "o/r", "--yes", "--cron", GITHUB_TOKEN=TOKEN, OPENAI_API_KEY=KEY)
    finally:
        os.umask(mask)
    variables = folder / "triagebot.env"
    assert stat.S_IMODE(variables.stat().st_mode) == 0o600
    assert f"GITHUB_TOKEN={TOKEN}" in variables.read_text()
    assert f"OPENAI_API_KEY={KEY}" in variables.read_text()
    assert KEY not in ran.out
    assert all(KEY not in text for name, text in files(folder).items() if name != "triagebot.env")


def test_an_app_a_proxy_and_a_private_authority_go_along(init: Init, folder: Path) -> None:
    """As a shell then reads them: the text of a key has lines."""
    key = "-----BEGIN RSA PRIVATE KEY-----\nit's\n-----END RSA PRIVATE KEY-----"
    given = {
        "TRIAGEBOT_APP_ID": "77",
        "TRIAGEBOT_APP_PRIVATE_KEY": key,
        "HTTPS_PROXY": "http://127.0.0.1:9",
        "NO_PROXY": "ghe.example",
        "SSL_CERT_FILE": "/nowhere/all.pem",
    }
    ran = init("--preset", "ollama", "--repo", "o/r", "--yes", "--cron", GITHUB_API_URL="http://127.0.0.1:9", **given)
    assert ran.code == 0, ran.err
    assert "put a token into" not in ran.out
    shown = " ".join(f'"${name}|"' for name in (*given, "GITHUB_TOKEN"))
    read = ["sh", "-c", f"set -a; . ./triagebot.env; printf %s {shown}"]
    done = subprocess.run(read, env={"PATH": os.defpath}, cwd=folder, capture_output=True, text=True, check=True)
    assert done.stdout == "|".join([*given.values(), "", ""])
    assert key not in ran.out


def test_no_key_is_written_where_it_could_be_committed(init: Init, folder: Path) -> None:
    (folder.parent / ".git").mkdir()
    ran = init("--preset", "ollama", "--repo", "o/r", "--yes", "--cron")
    assert ran.code == 2
    assert "belongs to a git repository" in ran.err
    assert files(folder) == {}


def test_the_crontab_loads_the_environment_and_is_readable_by_cron(
    init: Init, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the folder is called: a `%` would end the command, a blank or a quote would cut it."""
    odd = folder / "100% it's $HOME"
    odd.mkdir()
    monkeypatch.chdir(odd)
    ran = init("--preset", "ollama", "--repo", "o/r", "--yes", "--cron", OPENAI_BASE_URL="", GITHUB_TOKEN="a'b$c;d")
    text = (odd / "triagebot.crontab").read_text()
    assert text.endswith("\n")
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    assert set(lines) <= set(ran.out.splitlines())
    assert len({line.split()[1] for line in lines}) == 3
    assert not re.search(r"(?<!\\)%", text)
    for line in lines:
        command = line.split(maxsplit=5)[5].replace("\\%", "%")  # as crontab(5) has it
        shown = re.sub(
            r"exec .*", """exec printf '%s|' "$PWD" "$GITHUB_TOKEN" "$OPENAI_BASE_URL" "$(umask)\"""", command
        )
        done = subprocess.run(["sh", "-c", shown], env={"PATH": os.defpath}, capture_output=True, text=True, check=True)
        assert done.stdout == f"{odd}|a'b$c;d|http://127.0.0.1:11434/v1|0077|"


# --- asked on a terminal


def test_on_a_terminal_it_asks_and_takes_no_nonsense(folder: Path) -> None:
    said = _talk(["--repo", "o/r"], ["nix", "other", "nowhere", "https://models.example/v1", "my-model"])
    assert "'nix' is none of openai, ollama, local, other." in said
    assert "--url is not an address" in said
    assert config.load().model.name == "my-model"
    assert job(folder)[1]["with"]["openai-base-url"] == "https://models.example/v1"


def test_on_a_terminal_return_takes_the_default(folder: Path) -> None:
    _talk(["--repo", "o/r"], ["", ""])
    assert config.load().model.name == SERVINGS[Preset.OPENAI].model


def _talk(flags: list[str], answers: list[str]) -> str:
    """Give the answers, one for each question, on a terminal of its own; returns what was said."""
    ours, theirs = pty.openpty()
    words = [sys.executable, "-m", "triagebot", "init", *flags]
    process = subprocess.Popen(words, stdin=theirs, stdout=theirs, stderr=theirs, close_fds=True)
    os.close(theirs)
    said, until = "", time.monotonic() + 60
    while process.poll() is None or select.select([ours], [], [], 0)[0]:
        assert time.monotonic() < until, said
        if not select.select([ours], [], [], 0.2)[0]:
            continue
        try:
            said += os.read(ours, 4096).decode()
        except OSError:  # Linux: the other end is closed
            break
        if re.search(r"(\?|\]): ?\Z", said) and answers:
            os.write(ours, f"{answers.pop(0)}\n".encode())
    os.close(ours)
    assert process.wait(10) == 0, said
    assert answers == [], said
    return said


# --- where it comes from


@pytest.mark.parametrize(
    ("address", "name"),
    [
        ("https://github.com/o/r", "o/r"),
        ("https://github.com/o/r.git", "o/r"),
        ("https://user@github.com/o/r.js/", "o/r.js"),
        ("git@github.com:o/r.git", "o/r"),
        ("ssh://git@github.com/o/r", "o/r"),
        ("https://example.com/o/r", None),
        ("https://github.com.example.com/o/r", None),
        ("/srv/git/o/r", None),
        ("", None),
    ],
)
def test_a_remote_tells_the_repository(address: str, name: str | None) -> None:
    assert origins.named(address) == name


@pytest.mark.parametrize(
    ("paper", "source"),
    [
        (
            '{"url": "https://github.com/o/t", "vcs_info": {"vcs": "git", "commit_id": "%s"}}' % ("ab" * 20),
            ("o/t", "ab" * 20),
        ),
        ('{"url": "https://github.com/o/t", "vcs_info": {"vcs": "git", "commit_id": "main"}}', None),
        ('{"url": "https://example.com/t.whl", "archive_info": {}}', None),
        (None, None),
    ],
)
def test_pip_tells_where_the_program_came_from(
    monkeypatch: pytest.MonkeyPatch, paper: str | None, source: tuple[str, str] | None
) -> None:
    class Installed:
        def read_text(self, name: str) -> str | None:
            return paper if name == "direct_url.json" else None

    monkeypatch.setattr(origins.metadata, "distribution", lambda name: Installed())
    assert origins.program() == source


def test_a_clone_tells_where_the_program_came_from(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    git = ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run([*git, "init", "-q"], check=True)
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "one"], check=True)
    subprocess.run([*git, "remote", "add", "origin", "https://github.com/o/t"], check=True)
    head = subprocess.run([*git, "rev-parse", "HEAD"], capture_output=True, text=True, check=True).stdout.strip()

    class Installed:
        def read_text(self, name: str) -> str | None:
            return json.dumps({"url": tmp_path.as_uri(), "dir_info": {"editable": True}})

    monkeypatch.setattr(origins.metadata, "distribution", lambda name: Installed())
    assert origins.program() == ("o/t", head)


# --- and it works


@pytest.mark.slow
def test_from_a_bare_folder_to_a_night_without_an_edit(world: World, folder: Path) -> None:
    """The words of the README, on a GitHub with issues, with the settle time and the pace that are the defaults."""
    world.crash("One")
    world.crash("Two")
    env = {name: world.env[name] for name in ("GITHUB_API_URL", "GITHUB_TOKEN", "OPENAI_BASE_URL")}
    clean = {"PATH": os.environ["PATH"], "HOME": str(folder.parent), **env}
    program = shlex.quote(str(Path(sys.executable).with_name("triagebot")))
    for words in ("init --preset ollama --repo octo/demo --yes", "run --repo octo/demo"):
        done = subprocess.run(f"{program} {words}", shell=True, env=clean, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    assert world.own_per_issue() == [1, 1]
    assert {asked["model"] for asked in world.stand.requests} == {SERVINGS[Preset.OLLAMA].model}
