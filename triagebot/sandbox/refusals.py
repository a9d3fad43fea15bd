"""What GitHub says when it says no: status, words and headers, each in one place.

The words come from its recorded answers where there are some (401, 404, 422, redirects,
the primary and the old secondary limit), else from many public reports of the same
sentence. A client must not depend on them; a good sandbox still gets them right.
"""

from __future__ import annotations

from collections.abc import Mapping

from triagebot.sandbox.exchange import Answer

DOCS = "https://docs.github.com/rest"
MAX_BODY = 65_536  # characters of a comment: GitHub's own 422 names this number
OLD_SECONDARY = (
    "You have triggered an abuse detection mechanism. Please wait a few minutes before you try again."  # until 2022
)
NEW_SECONDARY = (
    "You have exceeded a secondary rate limit. Please wait a few minutes before you try again. "
    "If you reach out to GitHub Support for help, please include the request ID 0000:0000:0000000."
)


def refuse(status: int, message: str, *, headers: Mapping[str, str] | None = None, docs: str = DOCS) -> Answer:
    content = {"message": message, "documentation_url": docs, "status": str(status)}
    return Answer.of(status, content, headers)


def bad_credentials() -> Answer:
    return refuse(401, "Bad credentials")


def not_found() -> Answer:
    return refuse(404, "Not Found")


def not_permitted(kind: str) -> Answer:
    """The 403 for a token that may not: an app's, or a person's."""
    return refuse(403, f"Resource not accessible by {'integration' if kind == 'Bot' else 'personal access token'}")


def archived() -> Answer:
    return refuse(403, "Repository was archived so is read-only.")


def locked() -> Answer:
    return refuse(403, "Unable to create comment because issue is locked.")


def issues_disabled() -> Answer:
    return refuse(410, "Issues has been disabled in this repository.")


def issue_deleted() -> Answer:
    return refuse(410, "This issue was deleted")


def no_such_label() -> Answer:
    return refuse(404, "Label does not exist")


def moved(status: int, location: str) -> Answer:
    """A redirect, in the shape of the recorded ones; 307 too says "Moved Permanently"."""
    content = {
        "message": "Moved Permanently",
        "url": location,
        "documentation_url": f"{DOCS}/guides/best-practices-for-using-the-rest-api#follow-redirects",
    }
    return Answer.of(status, content, {"location": location})


def bad_json() -> Answer:
    return refuse(400, "Problems parsing JSON")


def not_supplied(field: str) -> Answer:
    return refuse(422, f'Invalid request.\n\n"{field}" wasn\'t supplied.')


def invalid(resource: str, code: str, field: str, message: str | None = None) -> Answer:
    error = {"resource": resource, "code": code, "field": field} | ({"message": message} if message else {})
    content = {"message": "Validation Failed", "errors": [error], "documentation_url": DOCS, "status": "422"}
    return Answer.of(422, content)


def body_too_long() -> Answer:
    return invalid("IssueComment", "unprocessable", "data", f"Body is too long (maximum is {MAX_BODY} characters)")


def body_blank() -> Answer:
    return invalid("IssueComment", "unprocessable", "data", "Body cannot be blank")


def secondary_limit(
    *, status: int = 403, retry_after: str | None = None, message: str = NEW_SECONDARY, docs: str = DOCS
) -> Answer:
    """A secondary limit: no word in its headers that the hourly quota is used up."""
    headers = {"retry-after": retry_after} if retry_after is not None else {}
    return refuse(status, message, headers=headers, docs=f"{docs}/overview/rate-limits-for-the-rest-api")


def primary_limit(*, status: int = 403, reset: int, limit: int = 5000, resource: str = "core") -> Answer:
    """The hourly quota is used up; `reset` is a Unix time in seconds."""
    headers = {
        "x-ratelimit-limit": str(limit),
        "x-ratelimit-remaining": "0",
        "x-ratelimit-used": str(limit),
        "x-ratelimit-reset": str(reset),
        "x-ratelimit-resource": resource,
    }
    return refuse(status, "API rate limit exceeded for installation.", headers=headers)


def graphql_limit(*, reset: int, limit: int = 5000, word: str = "RATE_LIMITED") -> Answer:
    """The hourly quota of GraphQL is used up, which it says with status 200."""
    told = primary_limit(reset=reset, limit=limit, resource="graphql").headers
    content = {"errors": [{"type": word, "message": "API rate limit exceeded for installation."}]}
    return Answer.of(200, content, {name: value for name, value in told.items() if name != "content-type"})
