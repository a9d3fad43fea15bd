"""A nightly issue triage bot whose scheduler may run it twice, overlap it and kill it half-way.

The rooms, from the edge inwards: `cli` wires, `nightly` says what happens in a night,
`ledger`, `github` and `model` translate, `core` decides. `sandbox` is the embedded
GitHub and the embedded model on which tests and the demo run.
"""

from __future__ import annotations

__version__ = "0.1.0"
