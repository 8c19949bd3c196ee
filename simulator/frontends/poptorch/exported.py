"""Compiled models in files: an entry of the executable cache whose notes hold what a model needs besides.

The notes are a pickle of PyTorch's own (`torch.save`): read files only that you trust, as with every file of torch.
"""

from __future__ import annotations

import io
import os
import pickle
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from popvision.formats.replacing import replacing
from simulator.base.errors import poplar_error
from simulator.frontends.capture.modules import CapturedModule, Restorer
from simulator.frontends.captured import Program
from simulator.frontends.lowering.interface_text import from_json, to_json
from simulator.frontends.poptorch.compiled_model import CompiledModel
from simulator.frontends.poptorch.errors import Error
from simulator.frontends.poptorch.weights.host_weights import plain_tensors
from simulator.frontends.session.executable_cache import entry_bytes, read_entry

#: of files that are named after a folder
_NAME = "model.poptorch"


@dataclass(frozen=True)
class Exported:
    """A compiled model as it is in a file. `model`, `options` and `optimizer` are None where they were not written."""

    compiled: CompiledModel
    signature: tuple[Any, ...]
    training: bool
    model: Any = None
    options: Any = None
    optimizer: Any = None


def write(exported: Exported, filename: str | os.PathLike[str]) -> Path:
    """Write a file, whole or not at all; a folder gets one named model.poptorch. Raises Error where it cannot be
    written."""
    path = Path(filename)
    path = path / _NAME if path.is_dir() else path
    compiled = exported.compiled
    notes = {
        "interface": to_json(compiled.interface),
        "weights": list(compiled.captured.data),
        "program": compiled.captured.program,
        "restore": compiled.captured.restore,
        "engine_options": dict(compiled.options),
        "signature": exported.signature,
        "training": exported.training,
        "model": exported.model,
        "options": exported.options,
        "optimizer": exported.optimizer,
    }
    buffer = io.BytesIO()
    try:
        if exported.model is None:
            torch.save(notes, buffer)
        else:
            with plain_tensors(exported.model):
                torch.save(notes, buffer)
        with replacing(path) as temporary:
            temporary.write_bytes(entry_bytes(compiled.executable, buffer.getvalue()))
    except (OSError, poplar_error, pickle.PicklingError, AttributeError, TypeError) as error:
        raise Error(f"{path} cannot be written: {error}") from error
    return path


def read(filename: str | os.PathLike[str], model: Any = None) -> Exported:
    """Read a file for `model`, or for the model in it. Raises Error for a file that is missing, damaged or of another
    version, and for weights that the model does not have."""
    path = Path(filename)
    path = path / _NAME if path.is_dir() else path
    try:
        executable, data = read_entry(path.read_bytes())
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # of torch's own objects, which are read here
            notes: Mapping[str, Any] = torch.load(io.BytesIO(data), weights_only=False)
        interface = from_json(notes["interface"])
    except (OSError, poplar_error) as error:
        raise Error(f"{path} cannot be loaded: {error}") from error
    module = notes["model"] if model is None else model
    if module is None:
        raise Error(f"{path} holds no model; wrap the model and call loadExecutable, or export it with the model.")
    program, restore = notes["program"], notes["restore"]
    assert isinstance(program, Program)
    assert isinstance(restore, Restorer)
    captured = CapturedModule(program, _weights(module, notes["weights"], path), restore)
    compiled = CompiledModel(captured, executable, interface, notes["engine_options"], 0.0)
    rest = notes["options"], notes["optimizer"]
    return Exported(compiled, notes["signature"], notes["training"], module, *rest)


def _weights(module: Any, names: list[str], path: Path) -> dict[str, Any]:
    """The module's tensors by name."""
    own = {**dict(module.named_parameters()), **dict(module.named_buffers())}
    missing = [name for name in names if name not in own]
    if missing:
        raise Error(f"{path} was exported from another model: this one has no {missing[0]}.")
    return {name: own[name] for name in names}
