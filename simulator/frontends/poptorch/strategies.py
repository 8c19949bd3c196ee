"""Execution strategies: which stage of a pipeline, and which IPU, runs a block of the module."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NoReturn

from simulator.frontends.poptorch.enums import AutoStage


class Stage:
    """One or more blocks that run on one IPU, one after the other."""

    def __init__(self, *block_ids: str) -> None:
        if not all(isinstance(block, str) for block in block_ids):
            raise AssertionError(f"Block IDs are supposed to be strings but got {block_ids}")
        self._blocks = block_ids
        self._ipu: int | None = None

    @property
    def blocks(self) -> list[str]:
        """Ids of the blocks."""
        return list(self._blocks)

    @property
    def ipu_id(self) -> int | None:
        """The IPU that `ipu` chose; None: that of the blocks, or the number of the stage."""
        return self._ipu

    def ipu(self, ipu: int) -> Stage:
        """Choose the IPU, counted within the model."""
        if not isinstance(ipu, int) or isinstance(ipu, bool) or ipu < 0:
            raise AssertionError(f"Stage.ipu takes the number of an IPU, from 0 on, not {ipu!r}.")
        self._ipu = ipu
        return self

    def __repr__(self) -> str:
        placed = "" if self._ipu is None else f".ipu({self._ipu})"
        return f"Stage({', '.join(map(repr, self._blocks))}){placed}"


@dataclass(frozen=True)
class Placement:
    """Where a block runs. `ipu` counts within one replica of the model."""

    block: str
    stage: int
    ipu: int


class ExecutionStrategy:
    """Stages by block. Without stages each new block gets one, as `AutoStage` says."""

    is_pipelined = False

    def __init__(self, *stages: AutoStage | Stage | str | Iterable[str]) -> None:
        self._auto_stage = AutoStage.SameAsIpu
        self._stages: dict[str, tuple[int, Stage]] = {}
        if len(stages) == 1 and isinstance(stages[0], AutoStage):
            self._auto_stage = stages[0]
            return
        for number, given in enumerate(stages):
            stage = _as_stage(given)
            for block in stage.blocks:
                if block in self._stages:
                    raise AssertionError(f"{block} associated with more than one stage")
                self._stages[block] = (number, stage)

    @property
    def has_stages(self) -> bool:
        """Whether the stages were given, so that no other block may occur."""
        return bool(self._stages)

    def stage(self, block_id: str) -> Stage:
        """The stage of a block that the strategy names."""
        if block_id not in self._stages:
            raise AssertionError(f"Unknown block {block_id}")
        return self._stages[block_id][1]

    def placement(self, block: str, ipu_id: int | None, stages: dict[str, int]) -> Placement:
        """Where a block runs whose annotation names `ipu_id`. `stages` are those given in this capture so far; a new
        block is added. Raises AssertionError for a block that has no stage."""
        if self._stages:
            if block not in self._stages:
                raise AssertionError(f"Unknown Block '{block}' list of expected Blocks: {list(self._stages)}")
            number, stage = self._stages[block]
            chosen = stage.ipu_id if stage.ipu_id is not None else ipu_id
            return Placement(block, number, number if chosen is None else chosen)
        if block not in stages:
            if self._auto_stage is AutoStage.AutoIncrement:
                stages[block] = len(stages)
            elif ipu_id is None:
                raise AssertionError(
                    f"poptorch.AutoStage.SameAsIpu was selected but no IPU was specified for block {block}"
                )
            else:
                stages[block] = ipu_id
        return Placement(block, stages[block], stages[block] if ipu_id is None else ipu_id)

    def __repr__(self) -> str:
        stages = list(dict.fromkeys(stage for _, stage in self._stages.values()))
        return f"{type(self).__name__}({', '.join(map(repr, stages)) or repr(self._auto_stage)})"


class PipelinedExecution(ExecutionStrategy):
    """Stages work at the same time on successive micro-batches."""

    is_pipelined = True


class ShardedExecution(ExecutionStrategy):
    """Stages work one after the other on each micro-batch."""


class Phase:
    """Stages that one phase of phased execution runs at the same time."""

    def __init__(self, *stages: Stage | str) -> None:
        _refuse_phases("Phase")


class ParallelPhasedExecution:
    """Refused: phases exchange tensors with off-chip memory, which the simulated model does not have."""

    def __init__(self, *phases: object) -> None:
        _refuse_phases("ParallelPhasedExecution")


class SerialPhasedExecution:
    """Refused, as ParallelPhasedExecution."""

    def __init__(self, *phases: object) -> None:
        _refuse_phases("SerialPhasedExecution")


def _refuse_phases(name: str) -> NoReturn:
    raise NotImplementedError(
        f"poptorch.{name} is not simulated: phases need off-chip memory between them; use PipelinedExecution or "
        "ShardedExecution (docs/poptorch.md)."
    )


def _as_stage(given: AutoStage | Stage | str | Iterable[str]) -> Stage:
    if isinstance(given, Stage):
        return given
    if isinstance(given, str):
        return Stage(given)
    if isinstance(given, Iterable):
        return Stage(*given)
    raise AssertionError(f"A strategy is made of stages, block ids or lists of block ids, not {given!r}.")
