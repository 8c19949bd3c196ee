"""simulator.profile: the report of one step of anyone's PyTorch module, on simulated hardware.

Capture, lowering and compilation are those of PopTorch models, without its options: the module need not know of the
IPU.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.utils import _pytree as pytree

from simulator.base.errors import graph_memory_allocation_error, poplar_error
from simulator.compiler.cost.estimate import vertex_cycles
from simulator.frontends.capture.modules import CapturedModule, capture
from simulator.frontends.fitting import LEAST, Fitting, find_fitting, missing_memory, open_report
from simulator.frontends.lowering.cursor import Precision
from simulator.frontends.lowering.lowered import Entry, Lowered, Outputs, Settings
from simulator.frontends.lowering.optimizers import update_rule
from simulator.frontends.lowering.programs import ModuleLowering
from simulator.frontends.optimizer import Optimizer
from simulator.frontends.poptorch.optimizers.description import describe_optimizer
from simulator.frontends.session.device_program import DeviceProgram
from simulator.frontends.session.progress import ProgressLines
from simulator.poplar import Device, Target, compileGraph

#: of descent where no optimizer is given
_RATE = 0.01
#: seconds of processor time after which a line tells what is known by then
_ANSWER_SECONDS = 60.0


class _WithLoss(torch.nn.Module):
    """A module and a loss of its outputs, which comes last."""

    def __init__(self, model: Any, loss: Callable[..., Any]) -> None:
        super().__init__()
        self.model, self._loss = model, loss

    def forward(self, *inputs: Any, **named: Any) -> Any:
        out = self.model(*inputs, **named)
        return out, self._loss(*out) if isinstance(out, tuple) else self._loss(out)


@dataclass(frozen=True)
class _Step:
    """One step of a module, for a device."""

    module: Any
    inputs: tuple[Any, ...]
    named: Mapping[str, Any]
    loss: Callable[..., Any] | None
    optimizer: Any
    device: Device

    def captured(self) -> CapturedModule:
        training = self.loss is not None or self.optimizer is not None
        loss_output = None if self.loss is None else -1
        return capture(self._whole(), self.inputs, self.named, training, (__file__,), loss_output)

    def described_optimizer(self) -> Optimizer | None:
        if self.loss is None and self.optimizer is None:
            return None
        chosen = self.optimizer
        if chosen is None:
            chosen = torch.optim.SGD(self.module.parameters(), lr=_RATE)
        return describe_optimizer(chosen, self._whole().named_parameters())

    def lowered(self, captured: CapturedModule, proportion: float | None = None) -> Lowered:
        """`proportion` of a tile's memory is what products may take, the default if None."""
        target = self.device.getTarget()
        memory = {} if proportion is None else dict.fromkeys(range(target.getNumIPUs()), proportion)
        settings = Settings(outputs=Outputs.FINAL, precision=Precision(memory_proportion=memory))
        optimizer = self.described_optimizer()
        update = None if optimizer is None else update_rule(optimizer)
        return ModuleLowering(target, captured.program, settings, update).lower()

    def tensors(self) -> list[Any]:
        leaves = pytree.tree_leaves((self.inputs, dict(self.named)))
        return [one for one in leaves if isinstance(one, torch.Tensor)]

    def batch(self) -> int:
        """The first dimension of the first input that has dimensions; 1 without one."""
        return next((int(one.shape[0]) for one in self.tensors() if one.dim()), 1)

    def of_batch(self, size: int) -> _Step:
        """The same step for the first samples."""
        batch = self.batch()

        def cut(leaf: Any) -> Any:
            is_batch = isinstance(leaf, torch.Tensor) and leaf.dim() and leaf.shape[0] == batch
            return leaf[:size] if is_batch else leaf

        inputs, named = pytree.tree_map(cut, (self.inputs, dict(self.named)))
        return _Step(self.module, tuple(inputs), named, self.loss, self.optimizer, self.device)

    def _whole(self) -> Any:
        return self.module if self.loss is None else _WithLoss(self.module, self.loss)


def profile(
    module: Any,
    *inputs: Any,
    loss: Callable[..., Any] | None = None,
    optimizer: Any = None,
    target: str = "ipu2",
    tiles: int | None = None,
    folder: str | Path | None = None,
    search_seconds: float = 60.0,
    **named: Any,
) -> Any:
    """Run one step of a torch.nn.Module on a simulated IPU and open its report (`popvision.open`).

    The module is called with `inputs` and the other keywords, `named`. With `loss`, a function of the module's outputs,
    or with an optimizer the step trains: forward, backward and update (by SGD where no optimizer is given; without
    `loss` the module's own loss counts). Otherwise it infers. `target` is "ipu1", "ipu2" or "ipu21", with `tiles` tiles
    if given. The report lies in `folder`, or in one that goes with the object returned. Its cycles are those of the
    step: what goes to the device once (weights, seed, rates) is told by a line on stderr. Further lines tell what is
    being done, the first after a second. After 60 s of processor time one tells what is known of the graph by then, its
    size, its memory and the cycles of its vertices; the step goes on.

    A module that does not fit into memory gives a report of its memory, without an execution. Lines on stderr say what
    is missing on which tile, which modules take most at the peak, and the largest batch and availableMemoryProportion
    that fit: each is compiled, and after `search_seconds` no further compilation begins (0: none does).

    Raises poplar_error for what is no module, cannot be captured or lowered, and for a wrong target."""
    if not isinstance(module, torch.nn.Module):
        raise poplar_error(f"simulator.profile takes a torch.nn.Module first; {type(module).__name__} is none.")
    if isinstance(search_seconds, bool) or not isinstance(search_seconds, int | float) or not search_seconds >= 0:
        raise poplar_error(f"search_seconds={search_seconds!r} is not a time; give seconds from 0.")
    step = _Step(module, inputs, named, loss, optimizer, _device(target, tiles))
    path = Path(tempfile.mkdtemp(prefix="popvision-")) if folder is None else Path(folder)
    try:
        with ProgressLines("simulator.profile", _ANSWER_SECONDS) as progress:
            problem = _run_step(step, path, progress)
        report = open_report(path)
        if problem:
            _say("\n".join(missing_memory(report, problem)))
            if search_seconds:
                _say(_what_fits(step, search_seconds))
    except BaseException:
        if folder is None:
            shutil.rmtree(path, ignore_errors=True)
        raise
    if folder is None:
        weakref.finalize(report, shutil.rmtree, str(path), True)
    return report


def _what_fits(step: _Step, seconds: float) -> str:
    """The sentence about what was found to fit."""

    def fits(batch: int, proportion: float | None) -> bool:
        smaller = step.of_batch(batch)
        lowered = smaller.lowered(smaller.captured(), proportion)
        try:
            compileGraph(lowered.graph, list(lowered.programs), {"autoReport.all": "false"})
        except graph_memory_allocation_error:
            return False
        return True

    found = find_fitting(step.batch(), fits, seconds, lambda line: _say(f"  compiled: {line}"))
    return _sentence(found, step.batch())


def _sentence(found: Fitting, batch: int) -> str:
    parts = []
    if found.proportion is not None:
        parts.append(f"batch {batch} fits with availableMemoryProportion {found.proportion}")
    elif found.tried_proportions:
        parts.append(f"batch {batch} does not fit with any availableMemoryProportion from {LEAST / 100}")
    if found.batch is not None:
        parts.append(f"the largest batch that fits is {found.batch}")
    elif found.refused_batch:
        parts.append(f"a smaller batch cannot be compiled: {found.refused_batch.rstrip('.')}")
    elif found.tried_batches:
        parts.append("not even batch 1 fits")
    text = "; ".join(parts) or "nothing was compiled"
    rest = "" if found.is_complete else " The time ran out: larger ones were not tried (search_seconds)."
    return f"{text[0].upper()}{text[1:]}.{rest}"


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _run_step(step: _Step, path: Path, progress: ProgressLines) -> str:
    """Compile, and run once where the program fits; the report is written to `path`. Gives the sentence of what does
    not fit, "" where all does. What goes to the device once, before the first step, is not in the report's runs."""
    options: Mapping[str, str] = {
        "autoReport.all": "true",
        "autoReport.directory": str(path),
        "debug.allowOutOfMemory": "true",
        "profiler.includeFlopEstimates": "true",
    }
    progress.say("capturing the module")
    captured = step.captured()
    optimizer = step.described_optimizer()
    progress.say(f"building the graph of {len(captured.program.operators)} operators")
    lowered = step.lowered(captured)
    progress.know(_known_of(lowered, step.batch()))
    progress.say("compiling")
    executable = compileGraph(lowered.graph, list(lowered.programs), options, progress.phase)
    program = DeviceProgram(executable, lowered.interface, options)
    progress.say("running the step")
    try:
        program.load(step.device)
    except graph_memory_allocation_error as error:
        program.close()  # the report of its memory is the answer
        return str(error)
    program.engine.disableExecutionProfiling()
    program.send_weights({name: one.detach().cpu().numpy() for name, one in captured.data.items()})
    weights = program.engine.getTimeStamp().device_cycles
    if optimizer is not None:
        program.send_rates(optimizer.variables())
    program.send_seed(int(torch.initial_seed()))
    rest = program.engine.getTimeStamp().device_cycles - weights
    _say(
        f"once: weights to the device, {weights:,} cycles; random seed{' and rates' * (optimizer is not None)}, "
        f"{rest:,} cycles. The report holds the step."
    )
    program.engine.enableExecutionProfiling()
    for name, tensor in zip(program.interface.inputs, step.tensors(), strict=True):
        program.input(name)[0] = tensor.detach().cpu().numpy()
    program.run("step")
    program.close()
    return ""


def _known_of(lowered: Lowered, batch: int) -> str:
    """What a graph tells before it is compiled."""
    store, target = lowered.graph.store, lowered.graph.getTarget()
    vertices = sum(len(block) for block in store.blocks)
    ends, tiles = store.mapping_table()
    columns = store.variables
    holders = np.flatnonzero(np.array(columns.numel))
    bases, sizes = np.array(columns.base)[holders], np.array([type_.size for type_ in columns.type])[holders]
    begin = np.append(0, ends[:-1])
    size = (ends - begin) * sizes[np.searchsorted(bases, begin, side="right") - 1]
    taken = np.bincount(tiles[tiles >= 0], size[tiles >= 0], target.getNumTiles()).astype(np.int64)
    fullest = int(taken.argmax())
    cycles = vertex_cycles(store, target, lowered.programs[Entry.MAIN])
    return (
        f"The graph of batch {batch} has {len(store.compute_set_names):,} compute sets, {vertices:,} vertices and "
        f"{len(holders):,} variables of {int(taken.sum()):,} bytes, {int(taken[fullest]):,} of them on tile {fullest}, "
        f"the fullest, which has {target.getBytesPerTile():,}; variables that are never live together will share "
        f"memory. A step takes about {cycles:,} cycles in vertices, an estimate from the busiest tile of each compute "
        "set; exchanges and copies come on top and are known once it is compiled. A smaller batch is compiled sooner."
    )


def _device(name: str, tiles: int | None) -> Device:
    """Simulated hardware of its own, which no other process can take."""
    if tiles is not None and (not isinstance(tiles, int) or isinstance(tiles, bool) or tiles < 1):
        raise poplar_error(f"tiles={tiles!r} is not a number of tiles; give a whole number from 1.")
    target = Target.createIPUTarget(1, name) if tiles is None else Target.createIPUTarget(1, tiles, name)
    device = Device(target)
    device.attach()
    return device
