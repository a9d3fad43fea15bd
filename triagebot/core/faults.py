"""The few failures that a night must tell apart, named as sentences.

Edges translate every foreign exception into one of these, once. Nothing here knows
HTTP or SQL; the text of each error is meant for a person and says what, where and
how to mend it.
"""

from __future__ import annotations


class Fault(Exception):
    """Root of every expected failure."""


class Misconfigured(Fault):
    """A setting, a credential or an endpoint that cannot work: the night ends (exit code 2)."""


class TooLittleHistory(Misconfigured):
    """The past issues are too few to learn labels from; the sentence says what there is, what is needed, what else."""


class LedgerUnusable(Misconfigured):
    """The ledger cannot be opened, read or written; the sentence names the file and the way out."""


class LedgerBusy(Fault):
    """The database stayed locked past its timeout: a failed claim, never a win."""


class HistoryUnusable(Fault):
    """The index of labelled issues cannot be opened, read or written. It may get lost: the night goes on without it."""


class LeaseLost(Fault):
    """A write named an owner and attempt that no longer hold the row: nothing was changed."""


class TrackerFault(Fault):
    """Root of what can go wrong with a request to the tracker."""


class Limited(TrackerFault):
    """A rate limit; surely not carried out.

    `seconds` until it ends, or `None` where the answer does not say (then the pace
    decides); `primary` tells the hourly quota from the secondary limits.
    """

    def __init__(self, message: str, *, seconds: float | None, primary: bool = False) -> None:
        super().__init__(message)
        self.seconds = seconds
        self.primary = primary


class NotPermitted(TrackerFault, Misconfigured):
    """The token may not do this; ends the night."""


class Unauthorized(NotPermitted):
    """The token is not valid (any more), wherever it is shown."""


class ReadOnly(TrackerFault, Misconfigured):
    """The repository is archived or has its issues switched off; ends the night."""


class Locked(TrackerFault):
    """The issue's conversation is locked."""


class Gone(TrackerFault):
    """The issue or comment surely does not exist (404, 410)."""


class Moved(TrackerFault):
    """The issue lives in another repository now."""


class Refused(TrackerFault):
    """The tracker understood and said no for good (422, a 403 that is no limit and no permission)."""


class Undelivered(TrackerFault):
    """The request surely never reached the tracker (refused connection, no name)."""


class Unclear(TrackerFault):
    """Maybe carried out: 5xx, a redirect, a timeout, a reset, an odd answer. For a read: not to be believed."""


class ModelFault(Fault):
    """Root of what can go wrong with a question to the model. `requests` counts what was sent for it."""

    def __init__(self, message: str, *, requests: int = 0) -> None:
        super().__init__(message)
        self.requests = requests


class ModelUnusable(ModelFault, Misconfigured):
    """The endpoint cannot answer any issue (key, model name, quota, HTML, TLS, breaker): ends the night."""


class ModelUnreachable(ModelFault):
    """No usable answer to this question within attempts and deadline: timeouts, connection faults, 5xx, 429.

    `blameless` where the issue has surely no part in it, so that it costs no try: a rate
    limit, or a night that is stopping.
    """

    def __init__(self, message: str, *, requests: int = 0, blameless: bool = False) -> None:
        super().__init__(message, requests=requests)
        self.blameless = blameless


class QuestionRefused(ModelFault):
    """The endpoint refuses this very question (too long, filtered, a 400 of its own); belongs to the issue.

    `outcome` is the recorded word: `too-long`, `filtered` or `refused`.
    """

    def __init__(self, message: str, *, outcome: str, requests: int = 0) -> None:
        super().__init__(message, requests=requests)
        self.outcome = outcome
