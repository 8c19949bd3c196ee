"""The place of this process among the tasks of a Slurm job step: each rank of `srun -n 4` runs a program of its own.

Ranks share no gradients and no devices. What they share is the folder that the options name for reports; each writes
below it into a folder of its own, so that none overwrites another's. POPVISION_RANK_FOLDERS=off is for programs that
give each rank a folder themselves.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from simulator.base.errors import invalid_option

FOLDERS = "POPVISION_RANK_FOLDERS"

#: Of the variables that srun sets for each task.
_RANK, _RANKS, _JOB, _STEP, _PORT = (
    "SLURM_PROCID",
    "SLURM_STEP_NUM_TASKS",
    "SLURM_JOB_ID",
    "SLURM_STEP_ID",
    "SLURM_SRUN_COMM_PORT",
)


@dataclass(frozen=True)
class Rank:
    """`run` is the same for all ranks of a step and for no other step: job, step, and the port of the srun that
    started it, since another Slurm may have given the same numbers."""

    rank: int  #: from 0
    ranks: int  #: of the step, 2 or more
    run: str

    apart: bool = True  #: False = every rank was given a folder of its own

    def folder(self, directory: Path) -> Path:
        """Where this rank writes what would go into `directory`: rank_<number> below it where ranks share it."""
        return directory / f"rank_{self.rank:0{len(str(self.ranks - 1))}d}" if self.apart else directory


def rank_of(environment: Mapping[str, str]) -> Rank | None:
    """The rank that these variables give a process; None outside a job step and in a step of one task. Raises
    `invalid_option` for another value of POPVISION_RANK_FOLDERS than on and off."""
    texts = [environment.get(name, "") for name in (_RANK, _RANKS, _JOB, _STEP)]
    if not all(text.isascii() and text.isdigit() for text in texts):
        return None
    rank, ranks, job, step = map(int, texts)
    if ranks < 2 or rank >= ranks:
        return None
    port = environment.get(_PORT, "")
    return Rank(rank, ranks, f"slurm {job}.{step}" + (f" ({port})" if port else ""), _is_apart(environment))


def _is_apart(environment: Mapping[str, str]) -> bool:
    text = environment.get(FOLDERS, "on")
    if text not in ("on", "off"):
        raise invalid_option(f"{FOLDERS}='{text}' is neither on nor off.")
    return text == "on"
