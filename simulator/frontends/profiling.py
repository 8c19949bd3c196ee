"""simulator.profile: the report of one step of anyone's PyTorch module, on simulated hardware.

Capture, lowering and compilation are those of PopTorch models, without its options: the module need not know of the
IPU.
"""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch

import popvision
from simulator.base.errors import graph_memory_allocation_error, poplar_error
from simulator.frontends.capture.modules import CapturedModule, capture
from simulator.frontends.lowering.lowered import Outputs, Settings
from simulator.frontends.lowering.optimizers import update_rule
from simulator.frontends.lowering.programs import ModuleLowering
from simulator.frontends.optimizer import Optimizer
from simulator.frontends.poptorch.optimizer_description import describe_optimizer
from simulator.frontends.session.device_program import DeviceProgram
from simulator.poplar import Device, Target, compileGraph

#: of descent where no optimizer is given
_RATE = 0.01


class _WithLoss(torch.nn.Module):
    """A module and a loss of its outputs, which comes last."""

    def __init__(self, model: Any, loss: Callable[..., Any]) -> None:
        super().__init__()
        self.model, self._loss = model, loss

    def forward(self, *inputs: Any) -> Any:
        out = self.model(*inputs)
        return out, self._loss(*out) if isinstance(out, tuple) else self._loss(out)


def profile(
    module: Any,
    *inputs: Any,
    loss: Callable[..., Any] | None = None,
    optimizer: Any = None,
    target: str = "ipu2",
    tiles: int | None = None,
    folder: str | Path | None = None,
) -> Any:
    """Run one step of a torch.nn.Module on a simulated IPU and open its report (`popvision.open`).

    With `loss`, a function of the module's outputs, or with an optimizer the step trains: forward, backward and update
    (by SGD where no optimizer is given; without `loss` the module's own loss counts). Otherwise it infers. `target` is
    "ipu1", "ipu2" or "ipu21", with `tiles` tiles if given. The report lies in `folder`, or in one that goes with the
    object returned. A module that does not fit into memory gives a report of its memory, without an execution.

    Raises poplar_error for what is no module, cannot be captured or lowered, and for a wrong target."""
    if not isinstance(module, torch.nn.Module):
        raise poplar_error(f"simulator.profile takes a torch.nn.Module first; {type(module).__name__} is none.")
    training = loss is not None or optimizer is not None
    whole = module if loss is None else _WithLoss(module, loss)
    captured = capture(whole, inputs, {}, training, (__file__,), None if loss is None else -1)
    described = None
    if training:
        chosen = optimizer if optimizer is not None else torch.optim.SGD(module.parameters(), lr=_RATE)
        described = describe_optimizer(chosen, whole.named_parameters())
    path = Path(tempfile.mkdtemp(prefix="popvision-")) if folder is None else Path(folder)
    try:
        _run_step(captured, described, _device(target, tiles), inputs, path)
        report = popvision.open(path)
    except BaseException:
        if folder is None:
            shutil.rmtree(path, ignore_errors=True)
        raise
    if folder is None:
        weakref.finalize(report, shutil.rmtree, str(path), True)
    return report


def _run_step(
    captured: CapturedModule, optimizer: Optimizer | None, device: Device, inputs: tuple[Any, ...], path: Path
) -> None:
    """Compile, and run once where the program fits; the report is written to `path`."""
    options: Mapping[str, str] = {
        "autoReport.all": "true",
        "autoReport.directory": str(path),
        "debug.allowOutOfMemory": "true",
        "profiler.includeFlopEstimates": "true",
    }
    settings = Settings(outputs=Outputs.FINAL)
    update = None if optimizer is None else update_rule(optimizer)
    lowered = ModuleLowering(device.getTarget(), captured.program, settings, update).lower()
    program = DeviceProgram(compileGraph(lowered.graph, list(lowered.programs), options), lowered.interface, options)
    try:
        program.load(device)
    except graph_memory_allocation_error:
        program.close()  # the report of its memory is the answer
        return
    tensors = [one for one in torch.utils._pytree.tree_leaves(inputs) if isinstance(one, torch.Tensor)]
    program.send_weights({name: one.detach().cpu().numpy() for name, one in captured.data.items()})
    if optimizer is not None:
        program.send_rates(optimizer.variables())
    program.send_seed(int(torch.initial_seed()))
    for name, tensor in zip(program.interface.inputs, tensors, strict=True):
        program.input(name)[0] = tensor.detach().cpu().numpy()
    program.run("step")
    program.close()


def _device(name: str, tiles: int | None) -> Device:
    """Simulated hardware of its own, which no other process can take."""
    if tiles is not None and (not isinstance(tiles, int) or isinstance(tiles, bool) or tiles < 1):
        raise poplar_error(f"tiles={tiles!r} is not a number of tiles; give a whole number from 1.")
    target = Target.createIPUTarget(1, name) if tiles is None else Target.createIPUTarget(1, tiles, name)
    device = Device(target)
    device.attach()
    return device
