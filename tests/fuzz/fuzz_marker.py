"""Fuzz target: any comment body is unmarked, marked, or marked in words that cannot be read; never an exception.

`python tests/fuzz/fuzz_marker.py CORPUS -max_total_time=60` (needs atheris, the extra `fuzz`).
"""

from __future__ import annotations

import importlib
import sys

_TARGETS = (
    "triagebot.core.key",
    "triagebot.core.marker",
    "triagebot.core.markup",
    "triagebot.core.prompt",
    "triagebot.core.text",
    "triagebot.core.unseen",
)


def check(data: bytes) -> None:
    from triagebot.core import key, marker, prompt, text, unseen

    body = _decoded(data)
    found = marker.read(body)
    first = body.split("\n", 1)[0].rstrip()
    if isinstance(found, marker.Marker):
        assert str(found) == first
        assert marker.read(str(found) + "\nmore words") == found
    elif found is None:
        assert not first.startswith("<!-- triagebot v")
    else:
        assert found.line == first
    # The same bytes as an issue's text: cleaned, it can be stored, hashed and sent, and is clean.
    kept = text.canonical(body)
    assert text.canonical(kept) == kept
    kept.encode()
    assert key.digest(kept, kept) == key.digest(kept.replace("\n", " \r\n"), body)
    sent = prompt.clean(body)
    assert unseen.visible(sent) == sent
    sent.encode()


def _decoded(data: bytes) -> str:
    """Lone surrogates come through, for JSON can bring them."""
    try:
        return data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return data.decode("utf-8", "replace")


def main() -> None:
    import atheris

    with atheris.instrument_imports(include=["triagebot"]):
        for name in _TARGETS:
            importlib.import_module(name)
    atheris.Setup(sys.argv, check)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
