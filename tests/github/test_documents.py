"""Each operation is sent with the fragments that it uses and no other, and GitHub's schema knows every field."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

import graphql
import pytest

from triagebot.github.documents import document

SCHEMA = Path(__file__).parents[2] / "../shared/contracts/github-schema.graphql"
NAMES = sorted(
    file.name.removesuffix(".graphql")
    for file in resources.files("triagebot.github").joinpath("queries").iterdir()
    if file.name.endswith(".graphql") and file.name != "issue.graphql"
)


@pytest.fixture(scope="module")
def schema():
    if not SCHEMA.is_file():
        pytest.skip("GitHub's published GraphQL schema is not beside this checkout")
    return graphql.build_schema(SCHEMA.read_text(encoding="utf-8"), assume_valid=True)


def test_all_documents_are_found():
    assert len(NAMES) == 12


@pytest.mark.parametrize("name", NAMES)
def test_a_document_is_valid_for_githubs_schema_to_the_last_fragment(schema, name):
    assert graphql.validate(schema, graphql.parse(document(name))) == []


@pytest.mark.parametrize("name", NAMES)
def test_a_document_holds_one_operation_and_no_comments(name):
    kinds = [type(each).__name__ for each in graphql.parse(document(name)).definitions]
    assert kinds.count("OperationDefinitionNode") == 1
    assert "#" not in document(name)


def test_fragments_come_once_and_only_where_they_are_spread():
    assert "fragment" not in document("viewer")
    assert document("comments").count("fragment ") == 2
    assert document("look").count("fragment ActorFields ") == 1
