"""GitHub's published descriptions, and what an exchange with the embedded GitHub does against them."""

from __future__ import annotations

import functools
import json
import re
from pathlib import Path
from typing import Any

from graphql import GraphQLError, GraphQLSchema, build_schema, parse, validate
from openapi_schema_validator import OAS30Validator, oas30_format_checker
from referencing import Registry
from referencing.jsonschema import DRAFT4

from triagebot.sandbox.exchange import Exchange

FOLDER = Path(__file__).parents[1] / "../shared/contracts"
_PARTS = dict.fromkeys(("issue_number", "comment_id"), r"\d+") | {"name": ".+"}


class Contract:
    """GitHub's published descriptions, read when first needed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.counts = {"REST answers": 0, "REST requests": 0, "GraphQL documents": 0}
        self._known_good: set[tuple[str, ...]] = set()

    @functools.cached_property
    def rest(self) -> dict[str, Any]:
        return _with_null_in_nullable_enums(json.loads((self.folder / "github-rest.json").read_text("utf-8")))

    @functools.cached_property
    def registry(self) -> Registry[Any]:
        return Registry().with_resource("urn:github", DRAFT4.create_resource(self.rest))

    @functools.cached_property
    def graphql(self) -> GraphQLSchema:
        return build_schema((self.folder / "github-schema.graphql").read_text("utf-8"), assume_valid=True)

    def faults_of(self, exchange: Exchange) -> list[str]:
        """What is wrong with one exchange, in sentences."""
        call, said = exchange.call, f"{exchange.call.method} {exchange.call.path}"
        if call.path.startswith("/_sandbox"):
            return []
        if call.is_graphql:
            return [f"{said} {call.operation}: {error}" for error in self._document(call.document)]
        if exchange.answer and exchange.answer.status >= 500 and exchange.fault is None:
            return [f"{said}: answered {exchange.answer.status} without a fault"]
        operation = self._operation(call.method, call.path)
        if operation is None:
            return []
        found = []
        pointer, described = operation
        if exchange.answer and exchange.fault is None:
            found += self._answer(pointer, described, exchange)
        # What the server itself refuses is a test of that refusal.
        if call.body and not (exchange.answer and 400 <= exchange.answer.status < 500 and exchange.fault is None):
            self.counts["REST requests"] += 1
            found += self._body(f"{pointer}/requestBody/content/application~1json/schema", call.body, call.base)
        return [f"{said}: {each}" for each in found]

    def _answer(self, pointer: str, described: dict[str, Any], exchange: Exchange) -> list[str]:
        assert exchange.answer
        status, body = exchange.answer.status, exchange.answer.body
        response = described["responses"].get(str(status))
        if response is None:
            return [f"{status} is not documented"] if status < 300 else []
        self.counts["REST answers"] += 1
        pointer = f"{pointer}/responses/{status}"
        if "$ref" in response:
            pointer = response["$ref"].removeprefix("#")
            response = self.rest["components"]["responses"][pointer.rpartition("/")[2]]
        if "content" not in response:
            return [f"{status} must have no body"] if body else []
        return self._body(f"{pointer}/content/application~1json/schema", body, exchange.call.base)

    def _body(self, pointer: str, body: bytes, base: str) -> list[str]:
        """Hold a body to a schema; the base URL differs from test to test and says nothing."""
        plain = body.decode().replace(base, "http://sandbox.test")
        if (pointer, plain) in self._known_good:
            return []
        validator = OAS30Validator(
            {"$ref": f"urn:github#{pointer}"}, registry=self.registry, format_checker=oas30_format_checker
        )
        wrong = [f"{error.json_path}: {error.message[:200]}" for error in validator.iter_errors(json.loads(plain))]
        if not wrong:
            self._known_good.add((pointer, plain))
        return wrong

    def _document(self, document: str) -> list[str]:
        self.counts["GraphQL documents"] += 1
        if ("document", document) in self._known_good or not document:
            return []
        try:
            wrong = [error.message for error in validate(self.graphql, parse(document))]
        except GraphQLError as error:
            wrong = [error.message]
        if not wrong:
            self._known_good.add(("document", document))
        return wrong

    def _operation(self, method: str, path: str) -> tuple[str, dict[str, Any]] | None:
        by_name = re.sub(r"^/repositories/\d+", "/repos/o/r", path)
        for template, item in self.rest["paths"].items():
            pattern = re.sub(r"\{(\w+)\}", lambda part: _PARTS.get(part[1], "[^/]+"), template)
            if re.fullmatch(pattern, by_name) and method.lower() in item:
                pointer = template.replace("~", "~0").replace("/", "~1")
                return f"/paths/{pointer}/{method.lower()}", item[method.lower()]
        return None


def _with_null_in_nullable_enums(node: Any) -> Any:
    """OpenAPI 3.0.3 wants null listed in a nullable enum; GitHub omits it, and sends it (recorded: state_reason)."""
    if isinstance(node, dict):
        node = {name: _with_null_in_nullable_enums(value) for name, value in node.items()}
        if node.get("nullable") is True and isinstance(node.get("enum"), list):
            node["enum"] = [*node["enum"], None]
        return node
    return [_with_null_in_nullable_enums(each) for each in node] if isinstance(node, list) else node
