"""The place of this process among those that one launcher started: torchrun, mpirun, `srun -n 4`, a loop of a shell.

Ranks share no gradients and no devices. What they share is the folder that the options name for reports; each writes
below it into a folder of its own, so that none overwrites another's. POPVISION_RANK_FOLDERS=off is for programs that
give each rank a folder themselves.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from simulator.base.errors import invalid_option

FOLDERS = "POPVISION_RANK_FOLDERS"


@dataclass(frozen=True)
class _Launcher:
    """The variables that a launcher sets for each rank; `ids`, where it sets them, tell its runs apart."""

    name: str
    rank: str
    ranks: str
    ids: tuple[str, ...]


#: Of Slurm: job, step, and the port of the srun that started it, since another Slurm may have given the same numbers.
#: SLURM_NTASKS is there in a batch script too, which is no rank.
_JOB, _STEP, _PORT = "SLURM_JOB_ID", "SLURM_STEP_ID", "SLURM_SRUN_COMM_PORT"
_SLURM = _Launcher("slurm", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", (_JOB, _STEP))

#: The innermost first: torchrun and mpirun may themselves be tasks of Slurm, and Slurm sets PMI_* beside its own.
_LAUNCHERS = (
    _Launcher("torchrun", "RANK", "WORLD_SIZE", ("TORCHELASTIC_RUN_ID", "MASTER_ADDR", "MASTER_PORT")),
    _Launcher("mpirun", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", ("PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid")),
    _SLURM,
    _Launcher("mpiexec", "PMI_RANK", "PMI_SIZE", ("PMI_JOBID", "PMI_KVS")),
)


@dataclass(frozen=True)
class Rank:
    """`run` is the same for all ranks that were started together and for no others, as far as the launcher tells."""

    rank: int  #: from 0
    ranks: int  #: 2 or more
    run: str

    apart: bool = True  #: False = every rank was given a folder of its own

    def folder(self, directory: Path) -> Path:
        """Where this rank writes what would go into `directory`: rank_<number> below it where ranks share it."""
        return directory / f"rank_{self.rank:0{len(str(self.ranks - 1))}d}" if self.apart else directory


def rank_of(environment: Mapping[str, str]) -> Rank | None:
    """The rank that these variables give a process; None where no launcher says it, and for one process alone. Raises
    `invalid_option` for another value of POPVISION_RANK_FOLDERS than on and off."""
    for launcher in _LAUNCHERS:
        texts = environment.get(launcher.rank, ""), environment.get(launcher.ranks, "")
        if not all(map(_is_number, texts)):
            continue
        rank, ranks = map(int, texts)
        if ranks < 2 or rank >= ranks:
            continue
        if launcher is not _SLURM:
            return Rank(rank, ranks, f"{launcher.name} {_digest(launcher, environment)}", _is_apart(environment))
        job, step = environment.get(_JOB, "0"), environment.get(_STEP, "0")
        if _is_number(job) and _is_number(step):
            port = environment.get(_PORT, "")
            run = f"slurm {int(job)}.{int(step)}" + (f" ({port})" if port else "")
            return Rank(rank, ranks, run, _is_apart(environment))
    return None


def _digest(launcher: _Launcher, environment: Mapping[str, str]) -> str:
    """A short name of a run, which names no machine. Where the launcher sets no ids, ranks have one parent."""
    ids = [environment[name] for name in launcher.ids if environment.get(name)]
    return hashlib.sha256("\n".join(ids or [str(os.getppid())]).encode()).hexdigest()[:8]


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit()


def _is_apart(environment: Mapping[str, str]) -> bool:
    text = environment.get(FOLDERS, "on")
    if text not in ("on", "off"):
        raise invalid_option(f"{FOLDERS}='{text}' is neither on nor off.")
    return text == "on"
