"""How a night is put on a cassette and played from it.

A cassette is YAML for people: addresses are the public ones wherever it was recorded, JSON bodies are
written out, and of the headers only those are kept that triagebot sends or reads. So no key, cookie,
request id or organisation can come along, whatever a server adds to its answers one day.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

import httpx2
import requests
import vcr
import yaml
from vcr.cassette import Cassette
from vcr.request import Request

from triagebot.cli import environment

FOLDER = Path(__file__).parents[2] / "cassettes"

GITHUB = "https://api.github.com"
OPENAI = "https://api.openai.com/v1"

SENT = frozenset({"accept", "content-type", "x-github-api-version"})
"""Headers of a request that are kept."""

ANSWERED = frozenset(
    {
        "content-type",
        "date",
        "link",
        "location",
        "retry-after",
        "x-ratelimit-limit",
        "x-ratelimit-remaining",
        "x-ratelimit-reset",
        "x-ratelimit-resource",
        "x-ratelimit-used",
    }
)
"""Headers of an answer that are kept."""


class Edited(ValueError):
    """A cassette was changed by hand. It is evidence of what was said only as long as it was not: record it anew."""


class SecretOnTape(RuntimeError):
    """What was recorded holds one of the keys that it was recorded with; nothing was written."""


def play(path: Path) -> Any:
    """Play a cassette, as a context: each interaction once, nothing else, nothing from the network. Raises `Edited`."""
    load(path.read_text(encoding="utf-8"))  # here, since vcrpy takes a cassette that it cannot load for an empty one
    return _recorder(Format()).use_cassette(str(path), record_mode="none", allow_playback_repeats=False)


@contextmanager
def record(path: Path, addresses: Mapping[str, str], secrets: Iterable[str]) -> Iterator[Cassette]:
    """Record a cassette. `addresses` maps what was asked to what is written down.

    Raises `SecretOnTape` at its end where one of `secrets` came along.
    """
    path.unlink(missing_ok=True)
    form = Format(tuple(filter(None, secrets)))
    recorder = _recorder(form, before_save_interaction=Scrub(addresses))
    with _one_at_a_time(), recorder.use_cassette(str(path), record_mode="all") as recording:
        yield recording


@contextmanager
def _one_at_a_time() -> Iterator[None]:
    """No two requests at once: while it connects, vcrpy 9.4 puts the true classes back, for all threads.

    What another thread asks in that moment is not recorded (1 of 10 was lost in 1 of 3 recordings).
    """
    lock = threading.RLock()

    def alone(send: Callable[..., Any]) -> Callable[..., Any]:
        def locked(*args: Any, **kwargs: Any) -> Any:
            with lock:
                return send(*args, **kwargs)

        return locked

    with (
        mock.patch.object(requests.Session, "send", alone(requests.Session.send)),
        mock.patch.object(httpx2.Client, "send", alone(httpx2.Client.send)),
    ):
        yield


def _recorder(form: Format, **options: Any) -> vcr.VCR:
    recorder = vcr.VCR(match_on=["method", "uri", "json"], decode_compressed_response=True, **options)
    recorder.register_matcher("json", same_json)
    recorder.register_serializer("readable", form)
    recorder.serializer = "readable"
    return recorder


def same_json(asked: Request, recorded: Request) -> None:
    """JSON bodies are equal as data, all others as bytes. vcrpy by itself does not look at bodies."""
    one, other = (json.dumps(_data(each.body), sort_keys=True, default=repr) for each in (asked, recorded))
    assert one == other, f"{one} is not {other}"


def dump(told: Mapping[str, Any]) -> str:
    """The text of a cassette, under the sum of all that it tells."""
    summed = {"sum": _sum(told)} | {name: value for name, value in told.items() if name != "sum"}
    return yaml.dump(summed, Dumper=_Dumper, allow_unicode=True, sort_keys=False, width=2**16)


def load(text: str) -> dict[str, Any]:
    """A cassette as it is written: `night`, `told`, and `interactions`. Raises `Edited`."""
    told: dict[str, Any] = yaml.load(text, Loader=yaml.CSafeLoader)
    if told.pop("sum", None) != _sum(told):
        raise Edited("The cassette was changed by hand: record it anew with `python -m tests.cassettes.record`.")
    return told


def _sum(told: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()[:16]


def left_over(tape: Cassette) -> list[str]:
    """The interactions that were not played exactly once."""
    return [
        f"{request.method} {request.uri} was played {tape.play_counts[number]} times"
        for number, request in enumerate(tape.requests)
        if tape.play_counts[number] != 1
    ]


def _data(body: bytes | str | None) -> Any:
    try:
        return json.loads(body) if body else None
    except ValueError:
        return body


@dataclass(frozen=True)
class Scrub:
    """Makes an interaction fit to be published."""

    addresses: Mapping[str, str]

    def __call__(self, request: Request, response: dict[str, Any]) -> tuple[Request, dict[str, Any]]:
        request.uri = self._public(request.uri)
        request.headers = {name: value for name, value in sorted(request.headers.items()) if name.lower() in SENT}
        response["headers"] = {
            name.lower(): [self._public(value) for value in ([values] if isinstance(values, str) else values)]
            for name, values in sorted(response["headers"].items())
            if name.lower() in ANSWERED
        }
        response["body"]["string"] = self._public(response["body"]["string"].decode()).encode()
        return request, response

    def _public(self, text: str) -> str:
        for asked, written in self.addresses.items():
            text = text.replace(asked, written)
        return text


class _Dumper(yaml.SafeDumper):
    """Text of several lines is written as such."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Dumper.add_representer(str, _text)


@dataclass(frozen=True)
class Format:
    """The serializer that vcrpy is given: a body that is JSON stands under `json`, any other under `body`."""

    secrets: tuple[str, ...] = field(default=(), repr=False)

    def serialize(self, cassette: dict[str, Any]) -> str:
        told = {**cassette.get("metadata", {}), "interactions": [_written(**each) for each in cassette["interactions"]]}
        text = dump(told)
        if environment.redact(text, self.secrets) != text:
            raise SecretOnTape("The recording holds a key that it was made with; it was not kept.")
        return text

    def deserialize(self, text: str) -> dict[str, Any]:
        told = load(text)
        interactions = [_read(**each) for each in told.pop("interactions")]
        return {"version": 1, "interactions": interactions, "metadata": told}


def _written(request: dict[str, Any], response: dict[str, Any]) -> dict[str, Any]:
    asked = {"method": request["method"], "uri": request["uri"], "headers": _plain(request["headers"])}
    answer = {"status": response["status"], "headers": _plain(response["headers"])}
    return {
        "request": asked | _form(request["body"]),
        "response": answer | _form(response["body"]["string"]),
    }


def _read(request: dict[str, Any], response: dict[str, Any]) -> dict[str, Any]:
    asked = {name: request[name] for name in ("method", "uri")}
    return {
        "request": asked | {"headers": _lists(request["headers"]), "body": _body(request)},
        "response": {
            "status": response["status"],
            "headers": _lists(response["headers"]),
            "body": {"string": _body(response) or ""},
        },
    }


def _form(body: str | None) -> dict[str, Any]:
    found = _data(body)
    return {} if not body else {"json": found} if isinstance(found, dict | list) else {"body": body}


def _body(part: Mapping[str, Any]) -> str | None:
    return json.dumps(part["json"], ensure_ascii=False) if "json" in part else part.get("body")


def _plain(headers: Mapping[str, Any]) -> dict[str, str]:
    return {name: value if isinstance(value, str) else ", ".join(value) for name, value in headers.items()}


def _lists(headers: Mapping[str, str]) -> dict[str, list[str]]:
    return {name: [value] for name, value in headers.items()}
