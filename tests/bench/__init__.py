"""What triagebot costs, against a floor or a peer that is measured in the same run.

`python -m tests.bench` measures and says which targets are met. The suite asserts nothing about time:
a machine that has other work to do makes every timed test a liar.
"""

from __future__ import annotations
