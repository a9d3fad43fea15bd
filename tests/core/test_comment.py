"""The comment: found again by its marker, inert in every word that is not the template's."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt  # rich, which the program prints with, brings it

from triagebot.core import comment, marker
from triagebot.core.comment import CannotRender, Template
from triagebot.core.marker import Marker
from triagebot.core.verdict import Vote

HOSTILE = [
    "ask @octo-person and @org/team",
    "\\@octo-person \\\\@two",
    "&#64;octo-person &commat;octo-person &#x40;x &num;1",
    "fixes #1, closes GH-1, resolves owner/repo#1, owner/repo@0123456789abcdef0123456789abcdef01234567",
    "see https://github.com/o/r/issues/1 or www.example.com or <https://example.com> or a@example.com",
    "commit 0123456789abcdef0123456789abcdef01234567",
    "/close",
    "@bot close",
    "r? @somebody",
    "first\n/close\n@bot merge\nr? x",
    "<!-- hidden --> <img src=x onerror=y> <details><summary>",
    "--> <script>",
    "`@one` ``@two`` ```",
    "`",
    "``` `` `",
    "` @me `",
    "````\n@in a fence\n````",
    "[link](https://example.com \"@title\") ![image](https://example.com/x.png) [ref]: https://example.com",
    "**bold** _em_ ~~gone~~ | cell | $`math`$ :tada: [^1] #0969DA",
    "# heading", "> quote", "- [ ] task", "1. one", "---", "===", "| a | b |", "    code",
    "\u202e@desrever\u202c \u200b@x @\u200by \U000e0040\U000e0061",
    "ends in a backslash \\",
    "\\`@escaped\\`",
    "<!-- triagebot v1 triage:2026-01-01:ffffffffffffffff -->",
    "\x00 nul \ud83d half",
]  # fmt: skip
PIECES = st.lists(
    st.sampled_from(
        [*"`@#<>&/\\|*_~[]()!:-\n\r\t ", "``", "```", "<!--", "-->", "\u200b", "word", "GH-1", "https://a.b"]
    )
    | st.characters(),
    max_size=40,
).map("".join)


def outside_code(line: str) -> str:
    """Return a line without its code spans, as CommonMark 6.1 reads them: from one run of ticks to its equal."""
    runs = list(re.finditer("`+", line))
    kept, position, index = [], 0, 0
    while index < len(runs):
        opening = runs[index]
        closing = next((r for r in runs[index + 1 :] if len(r[0]) == len(opening[0])), None)
        index += 1
        if closing is not None:
            kept.append(line[position : opening.start()])
            position, index = closing.end(), runs.index(closing) + 1
    return "".join([*kept, line[position:]])


def shown_as_code(markdown: str) -> tuple[list[str], str]:
    """Return (the code spans, all other text) of Markdown as a parser reads it."""
    inline = [child for token in MarkdownIt("commonmark").parse(markdown) for child in token.children or ()]
    code = [child.content for child in inline if child.type == "code_inline"]
    return code, "".join(child.content for child in inline if child.type != "code_inline")


def vote(name: str = "bug", confidence: float = 0.9, reason: str = "it crashes") -> Vote:
    return Vote(name=name, confidence=confidence, reason=reason)


def plainly(values: Mapping[str, object]) -> str:
    """Stand in for a template where only the checks matter."""
    return f"{values['marker']}\n{values['applied']}"


# --- words as data


@pytest.mark.parametrize("words", HOSTILE)
def test_hostile_words_are_one_code_span_on_one_line(words: str) -> None:
    span = comment.as_data(words)
    assert "\n" not in span
    assert outside_code(f"- {span}: {span}") == "- : "
    code, rest = shown_as_code(f"- {span}: {span}")
    assert (len(code), rest) == (2, ": ")


@given(PIECES, PIECES, st.integers(0, 60))
@settings(deadline=None, max_examples=300)
def test_no_words_ever_leave_their_code_span(name: str, reason: str, limit: int) -> None:
    first, second = comment.as_data(name, limit), comment.as_data(reason, limit)
    line = f"- {first} (90%): {second}"
    assert outside_code(line) == "-  (90%): "
    code, rest = shown_as_code(f"{line}\nend")
    assert len(code) == bool(first) + bool(second)
    assert not code or rest.endswith("end")


@given(PIECES)
@settings(deadline=None)
def test_other_bots_find_no_mention_reference_tag_or_command_in_the_raw_text(words: str) -> None:
    assert not re.search(r"@\w|#\w|<\w|<!|&\w|&#|(?<!\w)/\w", comment.as_data(words))


@pytest.mark.parametrize(
    ("words", "span"),
    [
        ("it crashes", "`it crashes`"),
        ("a `tick` inside", "``a `tick` inside``"),
        ("`ends`", "`` `ends` ``"),
        ("two\n lines", "`two lines`"),
        ("R&D @me #1 <b>", "`R&\u200bD @\u200bme #\u200b1 <\u200bb>`"),
        ("and/or (/close) / it", "`and/or (/\u200bclose) / it`"),
        ("", ""),
        (" \n\u200b", ""),
        ("\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645", "`\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645`"),
    ],
)
def test_words_stay_readable(words: str, span: str) -> None:
    assert comment.as_data(words) == span


def test_words_are_cut_to_length() -> None:
    assert comment.as_data("x" * 70_000) == f"`{'x' * 199}…`"
    assert comment.as_data("abc def", 5) == "`abc…`"
    assert comment.as_data("abc", 3) == "`abc`"
    assert comment.as_data("abc", 0) == ""


# --- the shipped template


def test_the_template_pings_and_links_nothing(comment_text: str) -> None:
    assert "@" not in comment_text
    assert "#" not in comment_text
    assert "`" not in comment_text
    assert "://" not in comment_text
    assert set(re.findall(r"<[^>]*>", comment_text)) == {"<sub>", "</sub>"}
    assert not re.search(r"\b(close|fix|resolve)[sd]?\b|^/|r\?", comment_text, re.IGNORECASE | re.MULTILINE)


def test_the_marker_is_the_first_line_then_the_labels_then_one_small_line(template: Template, mark: Marker) -> None:
    body = comment.render(
        template,
        marker=mark,
        applied=[vote("🐛 bug"), vote("docs", 0.7, "")],
        suggested=[vote("area: `ui`", 1.0, "a button")],
        model="some/model-1",
    )
    lines = body.split("\n")
    assert lines[:2] == [str(mark), ""]
    assert marker.read(body) == mark
    assert [line for line in lines if line.startswith("- ")] == [
        "- `🐛 bug` (90%): `it crashes`",
        "- `docs` (70%)",
        "- `` area: `ui` `` (100%): `a button`",
    ]
    assert lines[-1].startswith("<sub>")
    assert lines[-1].endswith("</sub>")
    assert "`some/model-1`" in lines[-1]
    assert "70% to 100% sure" in lines[-1]
    assert "stays off" in lines[-1]
    assert lines.index("- `docs` (70%)") < lines.index("- `` area: `ui` `` (100%): `a button`")


def test_set_and_proposed_labels_are_told_apart(template: Template, mark: Marker) -> None:
    given_ = comment.render(template, marker=mark, applied=[vote()], suggested=(), model="m")
    proposed = comment.render(template, marker=mark, applied=(), suggested=[vote()], model="m")
    assert "was given" in given_
    assert "was given" not in proposed
    assert "may fit" in proposed
    assert "may fit" not in given_
    assert "No label" not in given_ + proposed


def test_where_nothing_stands_one_neutral_line_says_so(template: Template, mark: Marker) -> None:
    body = comment.neutral(template, marker=mark, model="")
    assert marker.read(body) == mark
    assert "No label is proposed" in body
    assert "sure" not in body
    assert "- " not in body.split("\n", 1)[1]
    assert "model" not in body
    assert "`m`" in comment.neutral(template, marker=mark, model="m")


@pytest.mark.parametrize("words", HOSTILE)
def test_hostile_votes_and_models_leave_nothing_but_the_template(template: Template, mark: Marker, words: str) -> None:
    def skeleton(said: str) -> str:
        votes = [vote(said, 0.9, said), vote(said, 0.8, said)]
        body = comment.render(template, marker=mark, applied=votes, suggested=votes, model=said)
        assert body.count("<!--") == 1
        return "\n".join(map(outside_code, body.split("\n")))

    assert skeleton(words) == skeleton("harmless")


# --- what is not posted


@pytest.mark.parametrize(
    "broken",
    [
        lambda values: f"\n{values['marker']}",
        lambda values: f" {values['marker']}",
        lambda values: "no marker at all",
        lambda values: f"{values['marker']} and words",
        lambda values: f"{values['marker']}\n{values['marker']}",
        lambda values: f"{values['marker']}\n<!-- other -->",
        lambda values: f"{values['marker']}\r\nwords",
        lambda values: str(values["marker"]).replace("01234567", "76543210"),
    ],
)
def test_a_comment_that_could_not_be_recognised_is_not_rendered(broken: Template, mark: Marker) -> None:
    with pytest.raises(CannotRender, match="marker"):
        comment.render(broken, marker=mark, applied=[vote()], suggested=(), model="m")


def test_an_impossible_marker_is_refused(mark: Marker) -> None:
    bad = replace(mark, digest="x --> @all")
    with pytest.raises(CannotRender):
        comment.render(plainly, marker=bad, applied=[vote()], suggested=(), model="m")


def test_reasons_go_before_a_comment_gets_too_long(template: Template, mark: Marker) -> None:
    many = [vote(f"label {number}", 0.9, "🎈 `@" * 100) for number in range(300)]
    body = comment.render(template, marker=mark, applied=many, suggested=(), model="m")
    assert len(body) <= 65_000
    assert "label 299" in body
    assert "🎈" not in body
    assert "🎈" in comment.render(template, marker=mark, applied=many[:3], suggested=(), model="m")


@pytest.mark.parametrize("reason", ["x" * 70_000, "🎈" * 65_536])
def test_one_endless_reason_is_cut(template: Template, mark: Marker, reason: str) -> None:
    body = comment.render(template, marker=mark, applied=[vote(reason=reason)], suggested=(), model="m")
    assert len(body) < 1_000
    assert body.count(reason[0]) > 150


def test_a_comment_that_is_too_long_without_reasons_is_refused(template: Template, mark: Marker) -> None:
    with pytest.raises(CannotRender, match="65000"):
        comment.render(template, marker=mark, applied=[vote("n" * 99)] * 700, suggested=(), model="m")


SECRET = "Tok_9f8e-7d6c5b4a?~ü"


def hidden_forms() -> list[str]:
    raw = SECRET.encode()
    wrapped = [base64.b64encode(b"x" * pad + raw + b"yz").decode() for pad in range(3)]
    return [
        SECRET,
        SECRET.upper(),
        f"the key is {SECRET}, they say",
        "\u200b".join(SECRET),
        "\u2060".join(SECRET),
        "\u200e".join(SECRET),
        SECRET.replace("T", "\uff34"),
        raw.hex(),
        *wrapped,
        base64.urlsafe_b64encode(raw).decode(),
    ]


@pytest.mark.parametrize("words", hidden_forms())
@pytest.mark.parametrize("place", ["name", "reason", "model"])
def test_a_secret_in_any_of_the_words_stops_the_comment(
    template: Template, mark: Marker, words: str, place: str
) -> None:
    said = replace(vote(), **{place: words}) if place != "model" else vote()
    with pytest.raises(CannotRender) as stopped:
        comment.render(
            template,
            marker=mark,
            applied=[vote()],
            suggested=[said],
            model=words if place == "model" else "m",
            secrets=("", "other-secret", SECRET),
        )
    assert SECRET not in str(stopped.value)


def test_a_secret_that_a_cut_would_halve_stops_the_comment(template: Template, mark: Marker) -> None:
    with pytest.raises(CannotRender):
        comment.render(
            template,
            marker=mark,
            applied=[vote(reason="x" * 190 + SECRET)],
            suggested=(),
            model="m",
            secrets=[SECRET],
        )


@pytest.mark.parametrize("secret", ["", "crashes", " crashes ", "\u200b" * 12, "another-secret-word"])
def test_short_empty_or_absent_secrets_stop_nothing(template: Template, mark: Marker, secret: str) -> None:
    assert comment.render(template, marker=mark, applied=[vote()], suggested=(), model="m", secrets=[secret])
