"""What `printProfileSummary` may show besides its two parts."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class SummaryOptions:
    """Options of printProfileSummary; all off by default."""

    show_var_storage: bool = False
    show_optimizations: bool = False
    show_execution_steps: bool = False
    show_per_ipu_memory: bool = False
