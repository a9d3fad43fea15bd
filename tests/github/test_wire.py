"""A status, its headers and its words name one fault, with the seconds that they tell."""

from __future__ import annotations

import pytest

from triagebot.core.faults import Gone, Limited, Locked, NotPermitted, ReadOnly, Refused, Unauthorized, Unclear
from triagebot.github import wire

NOON = 1_800_000_000.0
DATE = "Fri, 15 Jan 2027 08:00:00 GMT"  # NOON

SECONDARY = "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."


@pytest.mark.parametrize(
    ("status", "said", "kind"),
    [
        (401, "Bad credentials", Unauthorized),
        (403, "Resource not accessible by integration", NotPermitted),
        (403, "Resource not accessible by personal access token", NotPermitted),
        (403, "Must have admin rights to Repository.", NotPermitted),
        (403, "This endpoint requires the issues:write permission", NotPermitted),
        (403, "Resource protected by organization SAML enforcement.", NotPermitted),
        (403, "Unable to create comment because issue is locked.", Locked),
        (403, "Repository was archived so is read-only.", ReadOnly),
        (403, "Repository access blocked", Refused),
        (403, "Something nobody has seen yet", Refused),
        (403, "", Refused),
        (404, "Not Found", Gone),
        (410, "This issue was deleted", Gone),
        (410, "Issues are disabled for this repo", ReadOnly),
        (410, "Issues has been disabled in this repository.", ReadOnly),
        (400, "Problems parsing JSON", Refused),
        (422, "Validation Failed", Refused),
        (422, "Body is too long (maximum is 65536 characters)", Refused),
        (408, "", Unclear),
        (200, "", Unclear),
        (301, "Moved Permanently", Unclear),
        (307, "Moved Permanently", Unclear),
        (500, "", Unclear),
        (502, "Server Error", Unclear),
        (503, "Our API rate limit exceeded itself", Unclear),
        (504, "", Unclear),
    ],
)
def test_a_status_and_its_words_name_one_fault(answer, status, said, kind):
    fault = wire.fault(answer(status, {"message": said}))
    assert type(fault) is kind
    assert f"answered {status} to POST /repos/o/n/issues/1/comments" in str(fault)


@pytest.mark.parametrize(
    ("status", "said", "headers", "seconds", "primary"),
    [
        (403, SECONDARY, {}, None, False),
        (403, SECONDARY, {"retry_after": "60"}, 60, False),
        (403, SECONDARY, {"retry_after": "0"}, 0, False),
        (403, SECONDARY, {"retry_after": "-5"}, None, False),
        (403, SECONDARY, {"retry_after": "1.5"}, None, False),
        (403, SECONDARY, {"retry_after": "soon"}, None, False),
        (403, SECONDARY, {"retry_after": "99999999999999999999"}, None, False),
        (403, SECONDARY, {"retry_after": "Fri, 15 Jan 2027 08:02:00 GMT", "date": DATE}, 120, False),
        (403, SECONDARY, {"retry_after": "Fri, 15 Jan 2027 07:59:59 GMT", "date": DATE}, None, False),
        (429, SECONDARY, {}, None, False),
        (429, "", {}, None, False),
        (422, "was submitted too quickly", {}, None, False),
        (403, "You have triggered an abuse detection mechanism.", {"retry_after": "60"}, 60, False),
        (403, "Something nobody has seen yet", {"retry_after": "30"}, 30, False),
        (403, "API rate limit exceeded for user ID 1.", {"x_ratelimit_remaining": "0"}, None, True),
        (403, "API rate limit exceeded for user ID 1.", {"x_ratelimit_reset": "1800003000"}, 3000, True),
        (403, "No words", {"x_ratelimit_remaining": "0", "x_ratelimit_reset": "1800003000"}, 3000, True),
        (429, "", {"x_ratelimit_remaining": "0", "x_ratelimit_reset": "1800003000.0"}, 3000, True),
        (403, "", {"x_ratelimit_remaining": "0", "x_ratelimit_reset": "1700000000"}, None, True),
        (403, "", {"x_ratelimit_remaining": "0", "x_ratelimit_reset": "never"}, None, True),
        (403, "", {"x_ratelimit_remaining": "0", "x_ratelimit_reset": "1800003000", "retry_after": "9"}, 9, True),
        (403, SECONDARY, {"x_ratelimit_remaining": "0", "x_ratelimit_reset": "1800003000"}, 3000, False),
    ],
)
def test_every_wording_of_a_limit_is_a_limit_with_the_seconds_that_it_tells(
    answer, status, said, headers, seconds, primary
):
    fault = wire.fault(answer(status, {"message": said}, **headers))
    assert isinstance(fault, Limited)
    assert (fault.seconds, fault.primary) == (seconds, primary)


@pytest.mark.parametrize(
    "said", ["Resource not accessible by integration", "Unable to create comment because issue is locked."]
)
def test_the_last_request_of_the_hour_may_be_refused_for_another_reason(answer, said):
    fault = wire.fault(answer(403, {"message": said}, x_ratelimit_remaining="0", x_ratelimit_reset="1800003000"))
    assert not isinstance(fault, Limited)


def test_seconds_are_counted_by_the_clock_that_set_the_reset(answer):
    behind = answer(
        403, "", x_ratelimit_remaining="0", x_ratelimit_reset="1800003000", date="Fri, 15 Jan 2027 07:50:00 GMT"
    )
    assert wire.limited(behind, "").seconds == 3600


def test_the_nested_reasons_of_a_validation_error_are_told(answer):
    body = {"message": "Validation Failed", "errors": [{"field": "body", "code": "invalid"}, "too long", 7]}
    assert "Validation Failed; body invalid; too long" in str(wire.fault(answer(422, body)))


def test_foreign_words_fit_into_one_sentence(answer):
    told = str(wire.fault(answer(422, {"message": "a\nb\x1b[31m" + "c" * 9000})))
    assert "\n" not in told
    assert "\x1b" not in told
    assert len(told) < 500


@pytest.mark.parametrize("text", ["", "<html>", '{"id": 1', "\x00"])
def test_a_body_that_is_no_whole_json_is_not_believed(answer, text):
    with pytest.raises(Unclear, match="no whole JSON"):
        answer(201, text).json()


def test_page_links_name_the_next_page_and_nothing_else_does(answer, recorded, normalized):
    assert wire.next_page(answer(200)) is None
    assert wire.next_page(answer(200, link='<https://h/a?page=1>; rel="prev", <https://h/a?page=3>; rel="next"'))
    assert wire.next_page(answer(200, link="<https://h/a>; title=x; rel=next")) == "https://h/a"
    assert wire.next_page(answer(200, link='<https://h/a>; rel="last"')) is None
    assert wire.next_page(answer(200, link="next")) is None
    (deprecated,) = recorded("PaginatedList.testTotalCountWithDeprecationLink")
    assert "deprecation" in deprecated.headers["link"]
    assert wire.next_page(deprecated) is None
    pages = [wire.next_page(each) for each in normalized("paginate-issues") if "link" in each.headers]
    assert any(page and page.startswith("https://api.github.com/repositories/") for page in pages)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("Exceptions.testInvalidInput", Refused),
        ("Exceptions.testUnknownObject", Gone),
        ("Exceptions.testNonJsonDataReturnedByGithub", Unclear),
        ("SpecificExceptions.testBadCredentials", Unauthorized),
        ("SpecificExceptions.testRateLimitExceeded", Limited),
        ("SpecificExceptions.testAuthenticatedRateLimitExceeded", Limited),
    ],
)
def test_recorded_refusals_are_named(recorded, name, kind):
    assert type(wire.fault(recorded(name)[-1])) is kind


def test_recorded_limits_tell_their_seconds(recorded):
    hourly = wire.fault(recorded("SpecificExceptions.testRateLimitExceeded")[-1])
    abuse = wire.fault(recorded("SpecificExceptions.testAuthenticatedRateLimitExceeded")[-1])
    assert (hourly.seconds, hourly.primary) == (None, True)
    assert (abuse.seconds, abuse.primary) == (60, False)


def test_a_recorded_rename_is_a_redirect_and_no_success(normalized):
    assert {type(wire.fault(each)) for each in normalized("rename-repository") if each.status in {301, 307}} == {
        Unclear
    }


def test_times_are_aware_or_nothing():
    assert wire.moment("2026-10-19T09:30:00+02:00").isoformat() == "2026-10-19T07:30:00+00:00"
    with pytest.raises(ValueError, match="time zone"):
        wire.moment("2026-10-19T09:30:00")
