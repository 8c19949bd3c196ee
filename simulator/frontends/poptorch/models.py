"""trainingModel and inferenceModel: the two ways to put a module on the device."""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable, Mapping
from typing import Any

import torch

from simulator.frontends.poptorch import exported, optim
from simulator.frontends.poptorch.enums import ConnectionType
from simulator.frontends.poptorch.errors import Error
from simulator.frontends.poptorch.executor import PoplarExecutor
from simulator.frontends.poptorch.options import Options

#: modules that are being trained, and by whom
_trained: weakref.WeakKeyDictionary[Any, weakref.ReferenceType[PoplarExecutor]] = weakref.WeakKeyDictionary()
_DEFAULT_RATE = 0.01


def trainingModel(model: Any, options: Options | None = None, optimizer: Any = None, **older: Any) -> PoplarExecutor:
    """A module that trains on the device: each call runs forward, backward and update, and returns forward's result.

    One of the module's outputs is a loss (the result of a loss of torch.nn, or of poptorch.identity_loss). Without an
    optimizer it is SGD with rate 0.01. Raises Error for a module that is being trained already, or is none."""
    _check_spelling("trainingModel", options, older)
    module = _module_of(model)
    trainer = _trained.get(module)
    if trainer is not None and trainer() is not None:
        raise Error(
            "Model has already been wrapped in 'poptorch.trainingModel'. Call model.destroy() on the model to unwrap "
            "it before wrapping it again."
        )
    if optimizer is None:
        optimizer = optim.SGD(module.parameters(), lr=_DEFAULT_RATE)
    if not isinstance(optimizer, torch.optim.Optimizer):
        raise TypeError(f"An optimizer is one of poptorch.optim or torch.optim; {type(optimizer).__name__} is none.")
    executor = PoplarExecutor(module, _options_for(options), True, optimizer, _trained.pop)
    _trained[module] = weakref.ref(executor)
    return executor


def inferenceModel(model: Any, options: Options | None = None, **older: Any) -> PoplarExecutor:
    """A module that infers on the device. It shares its weights with a training model of the same module, or of one
    around it, and takes their newest values at each call.

    Raises AssertionError where the options accumulate gradients."""
    _check_spelling("inferenceModel", options, older)
    chosen = _options_for(options)
    if chosen.Training.gradient_accumulation != 1:
        raise AssertionError(
            "You must set Options.Training.gradientAccumulation to 1 for inference: "
            f"it is {chosen.Training.gradient_accumulation}."
        )
    return PoplarExecutor(_module_of(model), chosen, False)


def load(filename: str | os.PathLike[str], edit_opts_fn: Callable[[Options], Any] | None = None) -> PoplarExecutor:
    """The model of a file that compileAndExport or save wrote, compiled. `edit_opts_fn` may change its options first.
    A model that was compiled offline attaches to a device like any other.

    The file is a pickle of PyTorch's: load only what you trust. Raises Error for a file that cannot be loaded, or that
    holds no model."""
    found = exported.read(filename)
    if found.options is None:
        raise Error(f"{filename} was exported without its model; wrap the model and call loadExecutable.")
    options = found.options.clone()
    if options.connection_type is ConnectionType.Never:  # of the compilation, which needed no device
        options.connectionType(ConnectionType.Always)
    if edit_opts_fn is not None:
        edit_opts_fn(options)
    model = (
        trainingModel(found.model, options, found.optimizer) if found.training else inferenceModel(found.model, options)
    )
    model.loadExecutable(filename)
    return model


def _module_of(model: Any) -> Any:
    if isinstance(model, PoplarExecutor):
        return model.model
    if not isinstance(model, torch.nn.Module):
        raise Error(f"A model is a torch.nn.Module; {type(model).__name__} is none.")
    for name, part in model.named_modules():
        if isinstance(part, torch.jit.ScriptModule):
            what = f"The module {name!r}" if name else "The model"
            raise Error(
                f"{what} comes from torch.jit.script or torch.jit.trace, whose Python is gone; give the "
                "torch.nn.Module that it was made of."
            )
    return model


#: arguments of PopTorch's first versions -> how they are written now
_NOW = {
    "loss": "compute the loss in forward and return it",
    "device_iterations": "poptorch.Options().deviceIterations({})",
    "gradient_accumulation": "poptorch.Options().Training.gradientAccumulation({})",
    "replication_factor": "poptorch.Options().replicationFactor({})",
    "profile": 'POPLAR_ENGINE_OPTIONS={{"autoReport.all": "true"}}',
    "trace_model": "leave it out, since modules are captured by torch.export",
}


def _check_spelling(name: str, options: Any, older: Mapping[str, Any]) -> None:
    """Raises TypeError for arguments that PopTorch had once, with what to write, and for any other one."""
    given = dict(older)
    if isinstance(options, int):
        given = {"device_iterations": options, **given}
    unknown = [key for key in given if key not in _NOW]
    if unknown:
        raise TypeError(f"{name}() has no argument {unknown[0]!r}; it takes model, options and optimizer.")
    if given:
        now = "; ".join(f"for {key} {_NOW[key].format(value)}" for key, value in given.items())
        raise TypeError(f"{name}() takes no {' and no '.join(given)} any more; write {now}.")


def _options_for(options: Options | None) -> Options:
    """The model's own copy: the caller's options are frozen."""
    if options is None:
        return Options()
    if not isinstance(options, Options):
        raise TypeError(f"options are a poptorch.Options, not {type(options).__name__}.")
    options.freeze()
    return options.clone()
