"""What GitHub does not show of a body is told apart from what it shows, as its own renderer has it."""

from __future__ import annotations

import html.parser
import time

import cmarkgfm
import pytest
from cmarkgfm.cmark import Options
from hypothesis import given, settings
from hypothesis import strategies as st

from triagebot.core import markup, prompt

HIDDEN = {
    "a comment": "It crashes <!-- obey me --> here",
    "a definition that nothing refers to": "It crashes.\n\n[//]: # (obey me)\n\nhere",
    "with angle brackets": "It crashes.\n\n[comment]: <> (obey me)\nhere",
    "in quotes": "It crashes.\n\n[x]: # \"obey me\"\n[y]: <#> 'obey me'\nhere",
    "over two lines": "It crashes.\n\n  [//]: # (obey\nme)\nhere",
    "under a heading": "### It crashes\n[//]: # (obey me)\nhere",
    "under a rule": "It crashes\n\n---\n[//]: # (obey me)\nhere",
    "under a fence": "It crashes\n```\nx\n```\n[//]: # (obey me)\nhere",
    "behind a comment": "It crashes\n\n<!-- x -->\n[//]: # (obey me)\nhere",
    "an instruction to a processor": "It crashes <? obey me ?> here",
    "one over paragraphs": "It crashes\n\n<? obey\n\nme ?>\nhere",
    "a declaration": "It crashes <!ORDER obey me> here",
    "character data": "It crashes <![CDATA[ obey me ]]> here",
    "behind a comment without an end": "It crashes <!-- so\n\n[//]: # (obey me)\n\nhere",
}
SEEN = {
    "a definition within a paragraph": "It crashes\n[//]: # (obey me)\nhere",
    "a definition with more words": "[//]: # (obey me) here",
    "a definition without an end": "[//]: # (obey me\n\nhere",
    "a definition in code": "```\n[//]: # (obey me)\n```",
    "an indented definition": "    [//]: # (obey me)",
    "an instruction without an end": "It crashes <? obey me > here",
    "one cut by a paragraph's end": "It crashes <? obey me\n\nhere ?>",
    "an instruction in code": "`<? obey me ?>`",
    "after the browser's end of it": "It crashes <? x > obey me ?> here",
    "a small declaration": "It crashes <!order obey me> here",
    "a progress bar": "100%|### | 0/1 [00:00<?, ?it/s] obey me",
}


class _Page(html.parser.HTMLParser):
    def __init__(self, markdown: str) -> None:
        super().__init__(convert_charrefs=True)
        self.words = ""
        self.feed(cmarkgfm.github_flavored_markdown_to_html(markdown, Options.CMARK_OPT_UNSAFE))
        self.close()

    def handle_data(self, data: str) -> None:
        self.words += data


@pytest.mark.parametrize("body", HIDDEN.values(), ids=HIDDEN)
def test_what_is_not_shown_is_not_sent(body: str) -> None:
    assert "obey" not in _Page(body).words
    sent = prompt.clean(body)
    assert "obey" not in sent
    assert "crashes" in sent
    assert sent.endswith("here")
    assert "obey" in " ".join(markup.split_comments(body)[1])


@pytest.mark.parametrize("body", SEEN.values(), ids=SEEN)
def test_what_is_shown_is_sent(body: str) -> None:
    assert "obey me" in _Page(body).words
    assert "obey me" in prompt.clean(body)


@pytest.mark.parametrize("hidden", ["[//]: # (The parser crashes)", "<? The parser crashes ?>"])
def test_a_report_that_is_nothing_but_hidden_words_is_not_lost(hidden: str) -> None:
    assert prompt.clean(hidden) == "The parser crashes"


PIECES = ["<?", "?>", "<!A ", "<![CDATA[", "]]>", ">", "<!--", "-->", "\n[//]: # (", ")\n", '\n\n[x]: <> "', '"\n', "`"]


@given(st.lists(st.sampled_from([*PIECES, "seen ", "\n", "\n\n"]), max_size=12).map("".join))
@settings(deadline=None, max_examples=300)
def test_splitting_loses_no_word(body: str) -> None:
    shown, hidden = markup.split_comments(body)
    assert (shown + " ".join(hidden)).count("seen") == body.count("seen")


@pytest.mark.parametrize("end", ["", "\n\n?> > ]]> --> x"])
@pytest.mark.parametrize(
    "unit", ["<?", "<!A ", "<![CDATA[", "<!--", '\n\n[x]: # "', "\n\n[x]: # (", "x\n[x]: # '\\", "\n[//]: # (x)"]
)
def test_a_long_text_of_openings_costs_little(unit: str, end: str) -> None:
    started = time.process_time()
    markup.split_comments("x " + unit * (200_000 // len(unit)) + end)
    assert time.process_time() - started < 3
