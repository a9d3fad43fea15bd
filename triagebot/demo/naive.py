"""A nightly bot as one writes it in an afternoon, without a ledger. The demo plays it for comparison.

It is meant to be fair. It asks only about issues that have no label yet, as the ready-made agents do
(githubnext/gh-aw, issue-triage-agent.md), so the label is its memory; and it sets that last, for set first
a crash would lose the comment. What fails it sends again, POST included, as PyGithub does by default.
"""

from __future__ import annotations

import json
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any

_TRIES = 10  # as PyGithub's GithubRetry, which takes 403, 429 with Retry-After, and 5xx for worth another try
_PROMPT = 'Answer with {"labels": [{"name": "...", "confidence": 0.9, "reason": "..."}]}, from these labels only:\n'


def night(github: str, repo: str, token: str, model: str, *, sure: float) -> None:
    """Label and comment every open issue that has no label, with the labels of which the model is `sure` enough."""
    base = f"{github}/repos/{repo}"
    labels = [label["name"] for label in send("GET", f"{base}/labels?per_page=100", token)]
    for issue in unlabelled(base, token):
        chosen = [label for label in ask(model, labels, issue) if label["confidence"] >= sure]
        if chosen:
            words = "\n".join(f"- **{label['name']}**: {label['reason']}" for label in chosen)
            send("POST", f"{base}/issues/{issue['number']}/comments", token, {"body": f"I set these labels:\n{words}"})
            names = [label["name"] for label in chosen]
            send("POST", f"{base}/issues/{issue['number']}/labels", token, {"labels": names})


def unlabelled(base: str, token: str) -> Iterator[dict[str, Any]]:
    for page in range(1, 1000):
        issues = send("GET", f"{base}/issues?state=open&per_page=100&page={page}", token)
        yield from (issue for issue in issues if not issue["labels"] and "pull_request" not in issue)
        if len(issues) < 100:
            return


def ask(model: str, labels: list[str], issue: dict[str, Any]) -> list[dict[str, Any]]:
    system = _PROMPT + "\n".join(json.dumps({"name": name}) for name in labels)
    user = json.dumps({"title": issue["title"], "body": issue["body"] or ""})
    messages = [{"role": "system", "content": system}, {"role": "user", "content": user}]
    told = send("POST", f"{model}/chat/completions", "none", {"model": "stand-in", "messages": messages})
    answer = json.loads(told["choices"][0]["message"]["content"])
    return [label for label in answer["labels"] if label["name"] in labels]


def send(method: str, url: str, token: str, body: object = None) -> Any:
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    data = None if body is None else json.dumps(body).encode()
    for left in reversed(range(_TRIES)):
        request = urllib.request.Request(url, data, headers, method=method)  # noqa: S310 - the embedded parts
        try:
            with urllib.request.urlopen(request, timeout=15) as answer:  # noqa: S310
                return json.load(answer)
        except urllib.error.HTTPError as error:
            if not left or (error.code < 500 and "Retry-After" not in error.headers):
                raise
            time.sleep(float(error.headers.get("Retry-After", 0)))
        except OSError:
            if not left:
                raise
    raise AssertionError("every try returns or raises")


if __name__ == "__main__":
    *places, sure = sys.argv[1:]
    night(*places, sure=float(sure))
