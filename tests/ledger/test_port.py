"""The ledger is what the night asks for."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import NoReturn

import pytest

from tests.ledger.pieces import DAY, REPO, text
from triagebot.core.rows import Night, Unclaimed
from triagebot.ledger.ledger import Ledger
from triagebot.ledger.statements import Conflict, Transaction
from triagebot.nightly import ports

VERBS = [name for name, member in vars(ports.Ledger).items() if inspect.isfunction(member) and name[0] != "_"]


@pytest.mark.parametrize("verb", VERBS)
def test_each_verb_of_the_port_can_be_called_as_the_port_says(verb: str) -> None:
    asked, given = (inspect.signature(getattr(kind, verb)) for kind in (ports.Ledger, Ledger))
    assert given.return_annotation == asked.return_annotation
    for name, parameter in asked.parameters.items():
        assert given.parameters[name] == parameter
    extra = [p for name, p in given.parameters.items() if name not in asked.parameters]
    assert all(p.default is not p.empty for p in extra)


def test_it_stands_where_the_port_is_asked_for(ledger: Ledger) -> None:
    port: ports.Ledger = ledger
    assert port.owner == ledger.owner


def test_every_process_has_an_owner_of_its_own(ledger: Ledger, other: Ledger) -> None:
    assert len(ledger.owner) == 36
    assert ledger.owner != other.owner


class Contended:
    """A database in which another worker is always faster."""

    def write(self, work: Callable[[Transaction], object]) -> NoReturn:
        raise Conflict

    def close(self) -> None: ...


def test_a_unique_index_that_refuses_is_a_claim_that_was_not_given() -> None:
    ledger, tonight = Ledger(Contended()), Night(id=1, repo_id=REPO, day=DAY)
    assert ledger.claim(text(), tonight, lease=1) is Unclaimed.HELD
    assert ledger.claim_parcel(REPO, tonight, lease=1) is None
