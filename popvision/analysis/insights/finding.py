"""Findings: a sentence with the cycles or bytes that it could save, their formula, the evidence, and one change to try.

What a finding could save is an upper bound: the cost if the cause vanished and nothing else changed. Bounds of several
findings overlap, so they never add up.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Unit = Literal["cycles", "bytes"]

#: Findings of one rule that are listed.
MOST_PLACES = 3


#: What each rule is about, in a few words.
TITLES = {
    "imbalance": "One tile takes much longer than the others",
    "few_tiles": "Work on few tiles",
    "repeated_copy": "Copies repeated in a loop",
    "small_steps": "Many short steps",
    "host": "Host copies on the critical path",
    "exchange": "Exchange takes longer than computing",
    "rearranging": "Operands rearranged within tiles",
    "overlap_lost": "Transfers that do not overlap",
    "last_ipu": "One IPU comes last at external syncs",
    "last_tile": "One tile comes last at many syncs",
    "received_by_few": "One tile receives most of an exchange",
    "slow_vertices": "Vertices on slow paths",
    "tiny_vertices": "Many tiny vertices",
    "float_products": "Products in float",
    "serial_passes": "Products in passes",
    "guesses": "Cycle estimates that are guesses",
    "out_of_memory": "The program does not fit",
    "little_headroom": "Little memory left",
    "large_temporary": "One variable at the peak",
    "code_larger_than_data": "Code larger than data",
    "gaps": "Gaps on the fullest tile",
    "interleaved": "Interleaved memory is full",
    "constants": "Constants where memory is short",
    "used_once": "Always-live variables that one program uses",
    "alike_exchanges": "Code of exchanges that are alike",
}


@dataclass(frozen=True)
class Evidence:
    """A place in the report."""

    kind: Literal["program", "step", "tile", "variable", "compute_set", "category"]
    id: int  #: of the program, step, tile, variable or compute set; -1 for a category
    name: str
    value: int  #: cycles or bytes there
    unit: Unit
    file: str = ""  #: of the user's source, "" where it is not known
    line: int = 0


@dataclass(frozen=True)
class Finding:
    """One cause. `saves` of cycles are device cycles of all recorded runs on the IPU named in `evidence`'s steps."""

    rule: str
    sentence: str
    saves: int
    unit: Unit
    share: float  #: 0..1
    share_of: str  #: what the share is a part of
    formula: str
    evidence: tuple[Evidence, ...]
    change: str  #: something that exists in Poplar's API; "" where the report is not of an IPU

    @property
    def key(self) -> str:
        """Names the finding within its report: the rule and its first place."""
        first = self.evidence[0].id if self.evidence else -1
        return self.rule if first < 0 else f"{self.rule}.{first}"


@dataclass(frozen=True)
class NotLookedAt:
    """A rule that could not look, and the reason."""

    rule: str
    reason: str


@dataclass(frozen=True)
class Insights:
    """`findings`: a program that does not fit, then those of cycles, then those of bytes, largest share first."""

    cycles: int  #: device cycles of the recorded runs, but those that are set apart
    phases: dict[str, int]  #: of these, cycles by phase of the steps on `ipu`
    ipu: int  #: whose steps are counted: the one that computes most
    used: int  #: bytes in use on all tiles, gaps excluded; 0 where not recorded
    findings: tuple[Finding, ...]
    further: dict[str, int]  #: by rule, findings beyond the MOST_PLACES largest that `findings` leaves out
    not_looked_at: tuple[NotLookedAt, ...]
    apart: str = ""  #: what is set apart, as a sentence

    @property
    def sentence(self) -> str:
        """The findings in one line."""
        if not self.findings:
            return "Nothing stands out."
        return self.findings[0].sentence
