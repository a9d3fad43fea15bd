"""The kept inputs of the fuzz targets hold without a fuzzer, too."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fuzz import fuzz_judge, fuzz_marker

_CORPUS = Path(__file__).parent / "corpus"


@pytest.mark.parametrize(("name", "check"), [("judge", fuzz_judge.check), ("marker", fuzz_marker.check)])
def test_every_kept_input_ends_as_it_should(name: str, check: Callable[[bytes], None]) -> None:
    kept = sorted((_CORPUS / name).iterdir())
    assert len(kept) >= 20
    for file in kept:
        check(file.read_bytes())


@pytest.mark.parametrize("check", [fuzz_judge.check, fuzz_marker.check])
def test_half_of_an_input_ends_as_it_should(check: Callable[[bytes], None]) -> None:
    for file in sorted(_CORPUS.rglob("*")):
        if file.is_file():
            whole = file.read_bytes()
            for cut in range(0, len(whole), 1 + len(whole) // 8):
                check(whole[:cut])


def _bytes(name: str) -> st.SearchStrategy[bytes]:
    """Any bytes, and the kept inputs cut and joined anew."""
    kept = [file.read_bytes() for file in sorted((_CORPUS / name).iterdir())]
    piece = st.builds(
        lambda whole, start, end: whole[start:end], st.sampled_from(kept), st.integers(0, 9), st.integers()
    )
    return st.binary(max_size=200) | st.lists(piece, max_size=4).map(b"".join)


@given(_bytes("judge"))
@settings(deadline=None, max_examples=200)
def test_any_bytes_of_a_server_end_in_listed_labels_or_a_named_reason(data: bytes) -> None:
    fuzz_judge.check(data)


@given(_bytes("marker"))
@settings(deadline=None, max_examples=200)
def test_any_body_is_marked_unmarked_or_unreadable(data: bytes) -> None:
    fuzz_marker.check(data)
