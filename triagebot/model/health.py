"""Whether asking still makes sense tonight: one memory for all workers, in one lock."""

from __future__ import annotations

import threading

LIMIT = 5  # transport failures in a row, retries included, before the endpoint counts as dead (design, section 6)


class Health:
    """Counts transport failures in a row and keeps the sentence that ended the night. Thread-safe."""

    def __init__(self, limit: int = LIMIT) -> None:
        self._limit = limit
        self._lock = threading.Lock()
        self._failures = 0
        self._verdict: str | None = None
        self._proven = False

    @property
    def verdict(self) -> str | None:
        """Why nothing more is asked; `None` while the endpoint may be used."""
        with self._lock:
            return self._verdict

    @property
    def proven(self) -> bool:
        """Whether the endpoint has answered any question tonight: then a refusal is about the question."""
        with self._lock:
            return self._proven

    def failed(self) -> bool:
        """No usable HTTP answer came back. True once that makes `limit` in a row."""
        with self._lock:
            self._failures += 1
            return self._failures >= self._limit

    def answered(self) -> None:
        """Any HTTP answer, an error included: something is there."""
        with self._lock:
            self._failures = 0

    def proved(self) -> None:
        with self._lock:
            self._proven = True

    def close(self, verdict: str) -> str:
        """Ask nothing more tonight; the first reason counts, and is returned."""
        with self._lock:
            self._verdict = self._verdict or verdict
            return self._verdict
