"""Execution strategies: which stage of a pipeline, and which IPU, runs a block of the module."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from simulator.frontends.poptorch.enums import AutoStage, Liveness


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
    without_effect = ""  #: why the strategy is recorded only

    def __init__(self, *stages: AutoStage | Stage | str | Iterable[str]) -> None:
        self._auto_stage = AutoStage.SameAsIpu
        self._stages: dict[str, tuple[int, Stage]] = {}
        self._ipus: dict[int, int] = {}  #: of stages, where it is not the number of the stage
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
            return Placement(block, number, self._ipus.get(number, number) if chosen is None else chosen)
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
    """Stages that one phase of phased execution runs: those that are given, or one of all the block ids."""

    def __init__(self, *stages: Stage | str) -> None:
        if all(isinstance(one, Stage) for one in stages):
            self.stages = [one for one in stages if isinstance(one, Stage)]
        else:
            self.stages = [_as_stage([one for one in stages if not isinstance(one, Stage)])]
            if len(self.stages[0].blocks) != len(stages):
                raise AssertionError(f"A phase is made of stages or of block ids, not of both: {stages!r}.")

    def stage(self, stage: int) -> Stage:
        """A stage by its number in the phase."""
        return self.stages[stage]

    def ipus(self, *ipus: int) -> None:
        """Choose the IPU of each stage."""
        if len(ipus) != len(self.stages):
            raise AssertionError(f"The phase has {len(self.stages)} stages; Phase.ipus got {len(ipus)} IPUs.")
        for stage, ipu in zip(self.stages, ipus, strict=True):
            stage.ipu(ipu)

    def __repr__(self) -> str:
        return f"Phase({', '.join(map(repr, self.stages))})"


class PhasedExecution(ExecutionStrategy):
    """What both phased strategies share. Recorded only: the stages of all phases run as shards."""

    without_effect = "phases run as shards, one stage after the other, and tensors stay in tile memory between them"

    def __init__(self, *phases: Phase | Iterable[Stage | str]) -> None:
        given = phases[0] if len(phases) == 1 and isinstance(phases[0], list) else phases
        listed = given if all(isinstance(one, Phase) for one in given) else phases
        self._phases = [one if isinstance(one, Phase) else Phase(*_listed(one)) for one in listed]
        if not self._phases:
            raise AssertionError(f"{type(self).__name__} has no AutoStage; name its phases.")
        super().__init__(*(stage for phase in self._phases for stage in phase.stages))
        places = [
            self._ipu(number, place) for number, one in enumerate(self._phases) for place in range(len(one.stages))
        ]
        self._ipus = dict(enumerate(places))
        self._liveness, self._separate = Liveness.AlwaysLive, False

    def _ipu(self, phase: int, stage: int) -> int:
        """Where a stage runs unless it is told."""
        return stage

    def phase(self, phase: int) -> Phase:
        """A phase by its number."""
        if not isinstance(phase, int) or phase < 0:
            raise AssertionError(f"Phases are identified by positive integers, not {phase!r}.")
        return self._phases[phase]

    def useSeparateBackwardPhase(self, use: bool = True) -> PhasedExecution:
        """Whether the last forward phase and the first backward one are two; recorded only."""
        if not isinstance(use, bool):
            raise AssertionError(f"useSeparateBackwardPhase takes a bool, not {use!r}.")
        self._separate = use
        return self

    def __repr__(self) -> str:
        phases = ", ".join(map(repr, self._phases))
        return f"{type(self).__name__}({phases}, {self._liveness.name}, separate_backward_phase={self._separate})"


class ParallelPhasedExecution(PhasedExecution):
    """Phases on two groups of IPUs in turns: even ones on IPUs 0, 2, ..., odd ones on 1, 3, ..."""

    def _ipu(self, phase: int, stage: int) -> int:
        return 2 * stage + phase % 2

    def sendTensorsOffChipAfterFwd(self, off_chip: bool = True) -> ParallelPhasedExecution:
        """Whether tensors wait for the backward pass in off-chip memory; recorded only."""
        if not isinstance(off_chip, bool):
            raise AssertionError(f"sendTensorsOffChipAfterFwd takes a bool, not {off_chip!r}.")
        self._liveness = Liveness.OffChipAfterFwd if off_chip else Liveness.AlwaysLive
        return self


class SerialPhasedExecution(PhasedExecution):
    """Phases one after the other on the same IPUs."""

    def setTensorsLiveness(self, liveness: Liveness) -> SerialPhasedExecution:
        """When tensors are in tile memory; recorded only."""
        if not isinstance(liveness, Liveness):
            raise AssertionError(f"setTensorsLiveness takes a poptorch.Liveness, not {liveness!r}.")
        self._liveness = liveness
        return self


def _listed(given: object) -> list[Stage | str]:
    """A stage or block id, or several of them."""
    if isinstance(given, Stage | str):
        return [given]
    if isinstance(given, Iterable):
        return list(given)
    raise AssertionError(f"A phase is made of stages or block ids, not {given!r}.")


def _as_stage(given: AutoStage | Stage | str | Iterable[str]) -> Stage:
    if isinstance(given, Stage):
        return given
    if isinstance(given, str):
        return Stage(given)
    if isinstance(given, Iterable):
        return Stage(*given)
    raise AssertionError(f"A strategy is made of stages, block ids or lists of block ids, not {given!r}.")
