"""The GraphQL side of the embedded GitHub: real documents, executed by graphql-core over the hub's memory.

Called under the hub's lock. An error of ours that is no `Refusal` is a bug and is raised as such.
"""

from __future__ import annotations

import functools
from importlib import resources
from typing import TYPE_CHECKING, Any

from graphql import (
    DocumentNode,
    GraphQLError,
    GraphQLInterfaceType,
    GraphQLObjectType,
    GraphQLSchema,
    GraphQLUnionType,
    build_schema,
    execute_sync,
    parse,
    validate,
)

from triagebot.sandbox import refusals
from triagebot.sandbox.connections import Refusal
from triagebot.sandbox.exchange import Answer, Call
from triagebot.sandbox.resolvers import RESOLVERS, Asked, type_name
from triagebot.sandbox.state import Token

if TYPE_CHECKING:
    from triagebot.sandbox.hub import Hub


def handle(hub: Hub, call: Call, token: Token) -> Answer:
    """Execute the document of one POST /graphql."""
    sent = call.json
    if sent is None:
        return refusals.bad_json()
    if not call.document:
        return refusals.refuse(400, "A query attribute must be specified and must be a string.")
    document, errors = _read(call.document)
    if document is None or errors:
        return Answer.of(200, {"errors": [_told(error) for error in errors]})
    result = execute_sync(
        schema(),
        document,
        context_value=Asked(hub=hub, token=token),
        variable_values=sent.get("variables") or {},
        operation_name=sent.get("operationName"),
    )
    problems = {"errors": [_told(error) for error in result.errors]} if result.errors else {}
    return Answer.of(200, ({} if result.data is None and problems else {"data": result.data}) | problems)


@functools.cache
def schema() -> GraphQLSchema:
    """The schema that is served, with its resolvers."""
    built = build_schema(resources.files(__package__).joinpath("schema.graphql").read_text("utf-8"))
    for kind, fields in RESOLVERS.items():
        served = built.type_map[kind]
        assert isinstance(served, GraphQLObjectType)
        for name, resolver in fields.items():
            served.fields[name].resolve = resolver
    for name in ("Actor", "IssueTimelineItems", "Minimizable", "Node", "RepositoryOwner"):
        abstract = built.type_map[name]
        assert isinstance(abstract, GraphQLInterfaceType | GraphQLUnionType)
        abstract.resolve_type = lambda value, _info, _type: type_name(value)
    return built


@functools.lru_cache(maxsize=64)
def _read(text: str) -> tuple[DocumentNode | None, list[GraphQLError]]:
    try:
        document = parse(text)
    except GraphQLError as error:
        return None, [error]
    return document, validate(schema(), document)


def _told(error: GraphQLError) -> dict[str, Any]:
    """An error in GitHub's form, which has the `type` beside the message."""
    told: dict[str, Any] = {**error.formatted}
    if error.original_error is None:
        return told
    if not isinstance(error.original_error, Refusal):
        raise error.original_error
    return {"type": error.original_error.type} | told
