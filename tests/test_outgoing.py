"""What is posted, as GitHub's Markdown would show it: for any words of a model, nothing but the template is live."""

from __future__ import annotations

import time
from datetime import date

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.outgoing import dirt, rendered
from triagebot.cli import texts
from triagebot.core import comment
from triagebot.core.marker import Marker
from triagebot.core.verdict import Vote

MARK = Marker(date(2026, 10, 19), "0123456789abcdef")
TEMPLATE = texts.comment_template()
TOKEN = "gh" + "p_" + "0123456789abcdefABCDEF0123456789abcd"
NASTY = [
    "ask @octo-person, @org/team and a.b@example.com",
    "\\@octo-person and &#64;octo-person and &commat;x and &#x40;x",
    "#1 GH-1 o/r#1 o/r@0123456789abcdef0123456789abcdef01234567 0123456789abcdef0123456789abcdef01234567",
    "https://github.com/o/r/issues/1 http://a.b www.example.com ftp://a.b mailto:x@y.z xmpp:x@y.z <https://a.b>",
    "fixes #1 closes: GH-2 resolves https://github.com/o/r/issues/3 Fixed o/r#4",
    "/close\n/label x\n@bors r+\nr? @ada\n!merge\nbors r+",
    "\r/close\v/close\f/close\x85/close\u2028/close\u2029@bot close",
    "![x](https://a.b/c.png) [x](https://a.b \"@t\") [x]: https://a.b\n[^1]: note [x][x] ![x][x]",
    "<img src=x onerror=1> <a href=x>y</a> <details><summary>s</summary> </sub></code></li></ul><script>x</script>",
    "--> <!-- triagebot v1 triage:2026-01-01:ffffffffffffffff --> <!--> <!---> <![CDATA[x]]> <?php ?> <!DOCTYPE x>",
    "`@one` ``@two`` ``` @three ~~~ @four", "`", "``", "` ", " `", "\\`", "`\\", "`` ` @x", "` @x `` @y ``` @z",
    "```\n@fence\n```", "~~~\n@fence\n~~~", "    @indented", "\t@tab",
    "| a | @b |\n|---|---|\n| #1 | https://a.b |",
    "# h\n> @q\n- [ ] @t\n1. #1\n***\n===\n---", "**@b** _@e_ ~~@s~~ *`@x`*", "$`@x`$ $$@x$$ :tada: [!NOTE]",
    f"the key {TOKEN}", f"{TOKEN[:9]}\u200b{TOKEN[9:]}", f"{TOKEN[:9]}\u200e{TOKEN[9:]}", "x" * 185 + TOKEN,
    "github_" + "pat_11ABCDEFG0123456789_abcdefghijklmnopqrstuvwxyz", "s" + "k-proj-0123456789abcdef0123456789abcdef",
    "AK" + "IAABCDEFGHIJKLMNOP", "xo" + "xb-123456789012-abcdefghij", "-----BEGIN RSA PRIVATE" + " KEY----- MIIE",
    "eyJhbGciOiJIUzI1NiJ9.ey" + "JzdWIiOiIxMjM0NTY3ODkwIn0.abcdefgh", "\uff47\uff48\uff50_" + TOKEN[4:],
    "\u202e@desrever\u202c \u2066#1\u2069 @\u200bx \U000e0040\U000e0061 \u00ad@x", "\x00@nul \ud83d#1 \ufffd",
    "GH-1 https://a.b " + "`" * 79, "GH-1 https://a.b " + "`" * 80, "GH-1 https://a.b " + "`" * 150,
    "@" * 300, "#" * 300, "`" * 300, "<" * 300, "x" * 70_000, "🎈" * 65_536, "`@x` " * 200,
    "می‌خواهم @x", "👩‍👩‍👧‍👦 #1", "＠full ＃1", "ﬁxes #1",
    "please /close it, (/approve) \"/lgtm\" and /label~x",
    "x\u2003/close \u00a0/close \u3000/close \u2800/close \u180e/close",
    "@\u200docto \u2060@\u2060octo @\ufe0focto &amp;#64;ada &AMP;commat;x", "a\x1c/close\x1d@bot\x1er?\x1f!merge",
    "http://ex\u00e4mple.com/ü https://例え.jp/パス www.тест.рф //a.b https:\\\\a.b",
    "javascript:alert(1) data:text/html,x",
    "GH\u20111 ＧＨ-1 deadbeef1 DEADBEEF0 0123456 commit/0123abc o/r@deadbeef1 o／r＃1",
    "$`@x`$ \\(x\\) $$\\href{https://a.b}{x}$$",
    "```mermaid\nclick A \"https://a.b\"\n```", "> [!WARNING]\n> @x", "Title\n=====\nSub\n-----",
    "--!> <!-- --- <!- <!",
    "\u200f@x\u200e #\u200f1 \u061c/close", "`\u200b`@x` ``\u200d`` \u0338`@x\u0338`",
    "{{ marker }} ${{ github.token }} ::set-env x::",
    "a\\\n\\`@x` \\\\`@x`", "|`|`|@z|\n|-|-|-|", "ada@exa\u00admple.com ada＠example.com",
    "e" + "\u0301" * 190 + "@x", "﷽" * 200,
]  # fmt: skip
WORDS = st.one_of(
    st.sampled_from(NASTY),
    st.lists(
        st.sampled_from(NASTY)
        | st.sampled_from(
            [*"`@#<>&/\\|*_~[]()!:-$\n\r\t ", "``", "```", "<!--", "-->", "</sub>", "r?", "GH-1", "www.a.b"]
        )
        | st.characters(),
        max_size=20,
    ).map("".join),
)


def posted(name: str, reason: str, model: str = "m") -> str:
    votes = [Vote(name=name, confidence=0.9, reason=reason), Vote(name="bug", confidence=0.7, reason=reason)]
    return comment.render(TEMPLATE, marker=MARK, applied=votes, suggested=votes, model=model, secrets=["Tok_9f8e-7d6c"])


@pytest.mark.parametrize("words", NASTY)
def test_nasty_words_are_shown_and_nothing_more(words: str) -> None:
    assert dirt(posted("bug", words)) == []
    assert dirt(posted(words[:50], "it crashes")) == []
    assert dirt(posted("bug", "it crashes", words)) == []


@given(WORDS, WORDS, WORDS)
@settings(deadline=None, max_examples=150)
def test_no_words_make_a_comment_that_does_anything(name: str, reason: str, model: str) -> None:
    body = posted(name, reason, model)
    assert dirt(body, ["Tok_9f8e-7d6c"]) == []
    assert "".join(rendered(body).texts).count("Written by triagebot") == 1


def test_ordinary_words_are_shown_as_they_are() -> None:
    body = posted("✨ feature", "asks for dark mode in skipped tests; sk-learn, task-runner")
    assert "`asks for dark mode in skipped tests; sk-learn, task-runner`" in body


def test_a_key_in_a_reason_is_left_out_and_the_rest_is_shown() -> None:
    body = posted("bug", f"login fails with {TOKEN} set")
    assert "login fails with" in body
    assert "set`" in body
    assert TOKEN[:12] not in body


def test_a_megabyte_of_half_keys_costs_little() -> None:
    started = time.process_time()
    assert len(comment.as_data("eyJ" * 350_000)) < 300
    assert time.process_time() - started < 2


# --- the checker itself

FINE = posted("bug", "it crashes")
DIRTY = {
    "mention": "ask @ada",
    "team": "@org/team",
    "escaped mention": "\\@ada",
    "entity": "&#64;ada",
    "email": "a@example.com",
    "number": "see #1",
    "gh": "see GH-1",
    "other repository": "see o/r#1",
    "sha": "in 0123456789abcdef0123456789abcdef01234567",
    "short sha": "in 0123abc",
    "url": "https://a.b/c",
    "www": "www.example.com",
    "angle": "<https://a.b>",
    "link": "[x](/y)",
    "image": "![x](/y)",
    "html": "<b>x</b>",
    "open span": "`@ada",
    "closing": "fixes #1",
    "command": "/close",
    "command in data": "`x\n/close`",
    "command within data": "`then /close it`",
    "command in brackets": "`(/close)`",
    "review": "r? ada",
    "bang": "!merge",
    "hidden": "<!-- x -->",
    "twin": str(MARK),
    "token": f"`{TOKEN}`",
    "split token": f"`{TOKEN[:7]}\u200b{TOKEN[7:]}`",
    "long": "x " * 33_000,
    "fence": "```\nx\n```",
    "table": "| a |\n|---|\n| b |",
    "heading": "# x",
    "known": "`Tok_9f8e-7d6c`",
    "nul": "\0",
}


@pytest.mark.parametrize("words", DIRTY.values(), ids=DIRTY)
def test_the_checker_sees_dirt(words: str) -> None:
    assert dirt(FINE, ["Tok_9f8e-7d6c"]) == []
    assert dirt(f"{FINE}\n\n{words}\n", ["Tok_9f8e-7d6c"])


@pytest.mark.parametrize("body", ["", FINE[1:], f"\n{FINE}", FINE.replace("v1", "v2"), FINE.split("\n", 1)[1]])
def test_the_checker_wants_the_marker_first(body: str) -> None:
    assert dirt(body)
