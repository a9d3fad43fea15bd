"""The start of `triagebot` and of `python -m triagebot`.

`--version` is answered before the command line is imported: it takes ten times as long as the answer.
"""

from __future__ import annotations

import sys

_INTERRUPTED = 128 + 2  # SIGINT, by its number: `signal` is one of the imports in question


def entry() -> None:
    """Ctrl-C before there is anything to put in order, while modules are imported, ends it without a word."""
    try:
        _run()
    except KeyboardInterrupt:
        sys.exit(_INTERRUPTED)


def _run() -> None:
    if sys.argv[1:] == ["--version"]:
        sys.exit(_version())
    from triagebot.cli import main

    main.entry()


def _version() -> int:
    import os

    from triagebot.cli import boundary, versions

    return boundary.run(lambda: print(versions.line()), argv=sys.argv[1:], environ=os.environ)  # noqa: T201


if __name__ == "__main__":
    entry()
