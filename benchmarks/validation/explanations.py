"""Why bounds are missed: by quantity, the evidence, and between which figures of ours the explanation holds."""

from __future__ import annotations

from benchmarks.validation.row import Explanation

EXPLAINED: dict[str, Explanation] = {}
