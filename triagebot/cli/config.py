"""The settings file: read once, checked whole, refused in one sentence. Nothing below the command line sees it."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from triagebot.cli import durations, environment, strict_yaml
from triagebot.core.faults import Misconfigured
from triagebot.core.policy import LabelPolicy, Mode

DEFAULT = Path(".github/triagebot.yml")
"""Where the file is looked for, under the current folder."""

_SWITCH = {"on": True, "off": False}


def _switch(value: object) -> object:
    """YAML 1.1 reads a bare `on` as true; somebody who quotes it means the same."""
    return _SWITCH.get(value, value) if isinstance(value, str) else value


def _unless_off(value: object) -> object:
    """`off` is no limit. A key without a value is refused: it could mean the default or no limit."""
    if value is None:
        raise ValueError("empty")
    return None if _switch(value) is False else value


def _duration(value: object) -> float:
    """A bare number is refused with the rest: `wait: 15` says neither seconds nor minutes."""
    if not isinstance(value, str):
        raise ValueError("not text")
    return durations.parse(value)


def _unless_auto(value: object) -> object:
    """`auto` leaves it to the program's own measure. A key without a value is refused, as with `off`."""
    if value is None:
        raise ValueError("empty")
    return None if value == "auto" else value


def _repository(value: object) -> object:
    if not isinstance(value, str) or not environment.is_repository(value):
        raise ValueError("no OWNER/NAME")
    return value


def _use(value: object) -> object:
    return {True: "on", False: "off"}.get(value, value) if isinstance(value, bool) else value


_OFF = BeforeValidator(_unless_off)
Word = Annotated[str, Field(min_length=1, max_length=200)]
Words = Annotated[tuple[Word, ...], Field(strict=False, description="a list of names or globs, each in quotes")]
Groups = Annotated[
    tuple[Words, ...], Field(strict=False, description='a list of lists, as in [["kind/*"], ["p1", "p2"]]')
]
Repos = Annotated[
    tuple[Annotated[str, BeforeValidator(_repository)], ...],
    Field(strict=False, description="a list of repositories, each as OWNER/NAME"),
]
SkipOrTake = Annotated[Literal["skip", "take"], Field(description="skip or take")]
OnOff = Annotated[bool, BeforeValidator(_switch), Field(description="on or off")]
Seconds = Annotated[
    float, BeforeValidator(_duration), Field(ge=0, description="a duration such as 20s, 15m, 26h or 30d")
]
SomeSeconds = Annotated[Seconds, Field(gt=0, description="a duration above zero, such as 20s, 15m, 26h or 30d")]
Count = Annotated[int | None, Field(ge=1, description="a whole number above zero, or off"), _OFF]


class _Section(BaseModel):
    """One section of the file. A section without a value (`labels:`) means its defaults."""

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid", allow_inf_nan=False)

    @model_validator(mode="before")
    @classmethod
    def _empty_means_default(cls, value: object) -> object:
        return {} if value is None else value


class Labels(_Section):
    """Which labels may be set. The defaults are those of the policy itself."""

    mode: Annotated[Literal["apply", "suggest"], Field(description="apply or suggest")] = "apply"
    allow: Words = LabelPolicy().allow
    deny: Words = LabelPolicy().deny
    groups: Groups = ()
    max: Annotated[int, Field(ge=1, le=20, description="a whole number from 1 to 20")] = 3
    min_confidence: Annotated[float, Field(ge=0, le=1, description="a number from 0 to 1")] = 0.6


class Identity(_Section):
    """Logins that wrote for this bot before."""

    also: Words = ()


class Selection(_Section):
    """Which issues are taken; `wait` and `horizon` in seconds, `horizon` `None` takes any age."""

    labelled: SkipOrTake = "skip"
    bots: SkipOrTake = "skip"
    wait: Seconds = 0.0
    horizon: Annotated[SomeSeconds | None, Field(description="a duration above zero, such as 30d, or off"), _OFF] = (
        30 * 86_400.0
    )


class Budget(_Section):
    """What one night may use; `None` is no limit."""

    issues: Count = 50
    calls: Count = 200
    tokens: Count = None
    usd: Annotated[float | None, Field(gt=0, description="an amount above zero, or off"), _OFF] = None
    per_author: Count = 5


class Delivery(_Section):
    """How writes go out. The upper bounds are GitHub's: 1 s between writes, 500 new contents an hour."""

    settle: Seconds = 60.0
    per_second: Annotated[float | None, Field(gt=0, le=1, description="a number above 0, at most 1, or off"), _OFF] = (
        1.0
    )
    per_hour: Annotated[int | None, Field(ge=1, lt=500, description="a whole number from 1 to 499, or off"), _OFF] = 400

    @model_validator(mode="before")
    @classmethod
    def _off_means_no_limits(cls, value: object) -> object:
        return {"per_second": False, "per_hour": False} if _switch(value) is False else value


class Price(_Section):
    """USD for a million tokens."""

    input: Annotated[float, Field(ge=0, description="USD for a million tokens, zero or more")] = 0.0
    output: Annotated[float, Field(ge=0, description="USD for a million tokens, zero or more")] = 0.0


class Model(_Section):
    """How the model is asked. `name` `None` leaves it to TRIAGEBOT_MODEL; durations are seconds.

    `first` lets the local classifier answer what it is sure of; `sure` `None` is its own measure of that.
    """

    name: Annotated[Word | None, Field(description="the model's name in quotes, or null")] = None
    first: Annotated[Literal["local"] | None, Field(description="local, or null")] = None
    sure: Annotated[
        float | None,
        Field(gt=0, le=1, description="auto, or a number above 0, at most 1"),
        BeforeValidator(_unless_auto),
    ] = None
    temperature: Annotated[float, Field(ge=0, le=2, description="a number from 0 to 2")] = 0.0
    timeout: SomeSeconds = 60.0
    deadline: SomeSeconds = 180.0
    attempts: Annotated[int, Field(ge=1, le=10, description="a whole number from 1 to 10")] = 3
    max_output_tokens: Annotated[int, Field(ge=16, le=100_000, description="a whole number from 16 to 100000")] = 500
    input_chars: Annotated[int, Field(ge=500, le=1_000_000, description="a whole number from 500 to 1000000")] = 12_000
    price: Price = Price()


class History(_Section):
    """Examples of how this repository labelled similar issues."""

    use: Annotated[Literal["auto", "on", "off"], BeforeValidator(_use), Field(description="auto, on or off")] = "auto"
    examples: Annotated[int, Field(ge=0, le=20, description="a whole number from 0 to 20")] = 4
    limit: Annotated[int, Field(ge=0, le=100_000, description="a whole number from 0 to 100000")] = 5000


class Config(_Section):
    """The whole file; every key has a default. All durations are seconds.

    Without any `repos` the night's one repository is the one that the environment names.
    """

    repos: Repos = ()
    labels: Labels = Labels()
    comment: OnOff = True
    identity: Identity = Identity()
    select: Selection = Selection()
    budget: Budget = Budget()
    workers: Annotated[int, Field(ge=1, le=64, description="a whole number from 1 to 64")] = 4
    deadline: SomeSeconds = 5 * 3600.0
    lease: SomeSeconds = 900.0
    delivery: Annotated[Delivery, Field(description="off, or a section with settle, per_second, per_hour")] = Delivery()
    model: Model = Model()
    history: History = History()

    @model_validator(mode="after")
    def _fits_together(self) -> Config:
        """A lease that ends while the model is still being asked would hand the issue to a second worker."""
        if self.lease < 2 * self.model.deadline:
            least = durations.format(2 * self.model.deadline)
            raise ValueError(
                f"lease is {durations.format(self.lease)}, but must be at least twice model.deadline: {least}"
            )
        if self.budget.usd is not None and not (self.model.price.input or self.model.price.output):
            raise ValueError("budget.usd needs model.price, since a price of zero never spends anything")
        return self

    def label_policy(self) -> LabelPolicy:
        section = self.labels
        return LabelPolicy(
            mode=Mode(section.mode),
            allow=section.allow,
            deny=section.deny,
            groups=section.groups,
            max=section.max,
            min_confidence=section.min_confidence,
        )


def load(path: Path | None = None, *, required: bool = False) -> Config:
    """Read and check the settings at `path`, or at `DEFAULT`; without a file, the defaults.

    Raises `Misconfigured` with one sentence: file and line for broken YAML, the dotted key for
    anything else, and where the file must exist (`required`) and does not.
    """
    place = path or DEFAULT
    try:
        return parse(strict_yaml.read(place), place)
    except FileNotFoundError as error:
        if required:
            raise Misconfigured(f"{place} does not exist; --config must name a file.") from error
    misspelt = place.with_suffix(".yaml" if place.suffix == ".yml" else ".yml")
    if misspelt.exists():
        raise Misconfigured(f"{misspelt} is not read; rename it to {place.name}, or name it with --config.")
    return Config()


def parse(content: dict[str, Any], place: Path) -> Config:
    """Check `content`, which came from `place`. Raises `Misconfigured` with one sentence."""
    try:
        return Config.model_validate(content)
    except ValidationError as error:
        raise Misconfigured(f"{place}: {_sentence(error)}.") from error


def _sentence(error: ValidationError) -> str:
    """Say the first thing that is wrong; an unknown key goes first, since it may explain the rest."""
    found = error.errors(include_url=False)
    first = next((e for e in found if e["type"] == "extra_forbidden"), found[0])
    where = _dotted(first["loc"])
    if first["type"] == "extra_forbidden":
        return f"{where} is not a setting; the nearest one is {_nearest(where)}"
    if not first["loc"]:
        return str(first["ctx"]["error"]) if "ctx" in first else "the settings must be keys and values"
    field, allowed = _allowed(first["loc"])
    subject = "" if field == where else f"{field} "
    return f"{where} is {_shown(first['input'])}, but {subject}must be {allowed}"


def _dotted(loc: tuple[int | str, ...]) -> str:
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in loc).lstrip(".")


def _nearest(key: str) -> str:
    """The known key that looks most like `key`: the same word in another section, else the closest spelling."""
    known = [*keys(Config)]
    same_word = [name for name in known if name.rpartition(".")[2] == key.rpartition(".")[2]]
    return (same_word or difflib.get_close_matches(key, known, n=1, cutoff=0.0))[0]


def keys(section: type[BaseModel], prefix: str = "") -> Iterator[str]:
    """All settings as dotted keys, sections and their members, in the order of the file."""
    for name, field in section.model_fields.items():
        yield prefix + name
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            yield from keys(field.annotation, f"{prefix}{name}.")


def _allowed(loc: tuple[int | str, ...]) -> tuple[str, str]:
    """The setting that `loc` lies in, and what may stand there."""
    section: type[BaseModel] = Config
    path: list[str] = []
    for part in loc:
        field = section.model_fields[str(part)]
        path.append(str(part))
        if not (isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel)):
            return ".".join(path), str(field.description)
        section = field.annotation
    return ".".join(path), field.description or f"a section with keys among {', '.join(section.model_fields)}"


def _shown(value: object) -> str:
    """A value as the file would show it; never the inside of a list, which aliases can make endless."""
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, list | dict):
        return "a list" if isinstance(value, list) else "a section"
    return "empty" if value is None else repr(value)[:60]
