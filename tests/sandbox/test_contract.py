"""The contract check would see a sandbox that lies, and the served GraphQL schema is a part of GitHub's."""

from __future__ import annotations

import json
from importlib import resources

import pytest
from graphql import (
    GraphQLEnumType,
    GraphQLInputObjectType,
    GraphQLInterfaceType,
    GraphQLObjectType,
    GraphQLUnionType,
    build_schema,
    specified_scalar_types,
)

from tests.contract import FOLDER, Contract
from triagebot.sandbox import shapes
from triagebot.sandbox.exchange import Answer, Call, Exchange
from triagebot.sandbox.hub import Hub
from triagebot.sandbox.repository import Repository

pytestmark = pytest.mark.skipif(
    not FOLDER.is_dir(), reason="GitHub's published descriptions are not beside this checkout"
)


@pytest.fixture(scope="module")
def contract() -> Contract:
    return Contract(FOLDER)


def _exchange(
    method: str, path: str, answer: Answer | None, *, body: bytes = b"", fault: str | None = None
) -> Exchange:
    return Exchange(call=Call(method=method, path=path, base="http://x", body=body), answer=answer, fault=fault)


COMMENTS = "/repos/o/r/issues/1/comments"


def test_a_true_comment_passes_and_a_thin_one_fails(contract: Contract, repo: Repository) -> None:
    repo.open_issue(title="x")
    shape = shapes.comment(repo.comment(1, "y"), "http://x")
    body = json.dumps({"body": "y"}).encode()
    assert contract.faults_of(_exchange("POST", COMMENTS, Answer.of(201, shape), body=body)) == []
    thin = Answer.of(201, shape | {"user": {"login": "someone"}})
    found = contract.faults_of(_exchange("POST", COMMENTS, thin, body=body))
    assert any("'avatar_url' is a required property" in each for each in found)
    assert contract.faults_of(_exchange("POST", COMMENTS, thin, body=body, fault="thin")) == []
    late = Answer.of(201, shape | {"created_at": "yesterday"})
    assert "is not a 'date-time'" in contract.faults_of(_exchange("POST", COMMENTS, late, body=body))[0]


@pytest.mark.parametrize("path", [COMMENTS, "/repositories/7/issues/1/comments"])
def test_a_request_with_the_wrong_member_fails(contract: Contract, path: str) -> None:
    found = contract.faults_of(_exchange("POST", path, None, body=b'{"boody": "y"}', fault="dropped"))
    assert found == [f"POST {path}: $: 'body' is a required property"]


def test_what_is_not_documented_fails(contract: Contract) -> None:
    odd = contract.faults_of(_exchange("GET", "/repos/o/r", Answer.of(202, {})))
    assert odd == ["GET /repos/o/r: 202 is not documented"]
    broken = contract.faults_of(_exchange("GET", "/repos/o/r", Answer.of(500, {})))
    assert broken == ["GET /repos/o/r: answered 500 without a fault"]
    full = contract.faults_of(_exchange("DELETE", "/repos/o/r/issues/comments/1", Answer.of(204, {})))
    assert full == ["DELETE /repos/o/r/issues/comments/1: 204 must have no body"]


def test_a_document_with_a_field_that_github_lacks_fails(contract: Contract) -> None:
    document = json.dumps({"query": "query Q { viewer { login shoeSize } }"}).encode()
    [found] = contract.faults_of(_exchange("POST", "/graphql", Answer.of(200, {}), body=document))
    assert "Cannot query field 'shoeSize' on type 'User'" in found


def test_every_hub_of_a_test_is_watched(api, hub: Hub) -> None:
    told: list[Exchange] = []
    hub.observers.append(told.append)
    api.get("/repos/octo/demo")
    assert hub.observers == [*Hub.watchers, told.append]
    assert len(Hub.watchers) == 1
    assert [(each.call.path, each.answer.status) for each in told] == [("/repos/octo/demo", 200)]


# --- the schema that is served


def _fields(kind: object) -> dict[str, object]:
    return kind.fields if isinstance(kind, GraphQLObjectType | GraphQLInterfaceType | GraphQLInputObjectType) else {}


def test_the_served_schema_is_a_part_of_githubs(contract: Contract) -> None:
    """Type by type and field by field: same kind, same name, same type and nullability, same arguments."""
    served = build_schema(resources.files("triagebot.sandbox").joinpath("schema.graphql").read_text("utf-8"))
    ours = {
        name: kind
        for name, kind in served.type_map.items()
        if not name.startswith("__") and name not in specified_scalar_types
    }
    assert len(ours) > 30
    for name, kind in ours.items():
        theirs = contract.graphql.type_map[name]
        assert type(kind) is type(theirs), name
        for field, told in _fields(kind).items():
            assert str(told.type) == str(_fields(theirs)[field].type), f"{name}.{field}"
            for argument, given in getattr(told, "args", {}).items():
                published = _fields(theirs)[field].args[argument]
                assert str(given.type) == str(published.type), f"{name}.{field}({argument})"
        if isinstance(kind, GraphQLEnumType):
            assert kind.values.keys() <= theirs.values.keys(), name
        if isinstance(kind, GraphQLUnionType):
            assert {str(each) for each in kind.types} <= {str(each) for each in theirs.types}, name
        if isinstance(kind, GraphQLObjectType):
            assert {str(each) for each in kind.interfaces} <= {str(each) for each in theirs.interfaces}, name


def test_required_arguments_of_github_are_required_here(contract: Contract) -> None:
    served = build_schema(resources.files("triagebot.sandbox").joinpath("schema.graphql").read_text("utf-8"))
    for name, kind in served.type_map.items():
        if not isinstance(kind, GraphQLObjectType) or name.startswith("__"):
            continue
        for field, told in kind.fields.items():
            published = contract.graphql.type_map[name].fields[field].args
            needed = {each for each, given in published.items() if str(given.type).endswith("!")}
            assert needed <= told.args.keys(), f"{name}.{field}"
