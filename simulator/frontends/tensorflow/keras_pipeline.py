"""Keras' extensions for several IPUs: pipeline stages of layers, and gradients that several batches add up.

Stages are IPUs of the device: a layer's operators, their gradients and the updates of its weights run there. The stages
of a batch run one after the other, and batch after batch, as the schedule Sequential does, whatever schedule is asked
for; results are those of all schedules. Keras' own optimisers add gradients up (`gradient_accumulation_steps`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, wraps
from typing import Any
from weakref import WeakKeyDictionary

import keras
import tensorflow as tf
from keras.src.layers.layer import Layer

from simulator.base.errors import poplar_error
from simulator.frontends.tensorflow.capture.function import note_without_effect
from simulator.frontends.tensorflow.capture.sharding import on_shard
from simulator.frontends.tensorflow.pipeline_options import recorded

_stage: list[int] = []
_ipu_of_layers: list[WeakKeyDictionary[Any, int]] = []
#: the stages in which layers were called
_called_in: WeakKeyDictionary[Any, int] = WeakKeyDictionary()


@dataclass
class Assignment:
    """The stage of one layer of a model; None: it has none yet."""

    layer: Any
    node_index: int = 0
    pipeline_stage: int | None = None

    def __str__(self) -> str:
        return f"Layer: {self.layer.name} is assigned to pipeline stage: {self.pipeline_stage}"


@dataclass
class Pipelining:
    """The options of one model. `accumulation`: batches for an update of the weights."""

    accumulation: int = 1
    sums: bool = True  #: whether gradients are added up; otherwise their mean is taken
    assignments: list[Assignment] = field(default_factory=list)
    device_mapping: Sequence[int] | None = None
    without_effect: dict[str, str] = field(default_factory=dict)  #: for the report


class PipelineStage:
    """Layers that are called within belong to this stage."""

    def __init__(self, stage: int) -> None:
        """Raises ValueError for no number from 0 on."""
        if not isinstance(stage, int) or stage < 0:
            raise ValueError(f"A pipeline stage is a whole number from 0 on, but it is {stage!r}.")
        self._number = stage

    def __enter__(self) -> PipelineStage:
        """Raises RuntimeError within another stage."""
        install_stages()
        if _stage:
            raise RuntimeError("Pipeline stages cannot be nested.")
        _stage.append(self._number)
        return self

    def __exit__(self, *error: Any) -> None:
        _stage.pop()


@cache
def install_stages() -> None:
    """Wrap the calls of Keras' layers: within a stage they are noted, in a trace they are put on their IPU."""
    original = Layer.__call__

    @wraps(original)
    def call(self: Any, *arguments: Any, **named: Any) -> Any:
        if _stage and _called_in.setdefault(self, _stage[-1]) != _stage[-1]:
            raise poplar_error(
                f"The layer '{self.name}' is called in the pipeline stages {_called_in[self]} and {_stage[-1]}; a "
                "layer runs on one IPU here, so give each stage a layer of its own."
            )
        ipu = _ipu_of_layers[-1].get(self) if _ipu_of_layers else None
        if ipu is None:
            return original(self, *arguments, **named)
        with on_shard(tf.compat.v1.get_default_graph(), ipu):
            return original(self, *arguments, **named)

    Layer.__call__ = call


def on_stages(model: Any, options: Pipelining, step: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A step whose layers run on the IPUs of their stages. Raises ValueError for assignments that do not fit."""
    assignments = options.assignments or _of_calls(model)
    if not assignments:
        return _noting(options, step)
    install_stages()
    stages = 1 + max(one.pipeline_stage or 0 for one in assignments)
    mapping = options.device_mapping or range(stages)
    if len(mapping) != stages:
        raise ValueError(f"device_mapping has {len(mapping)} IPUs for the {stages} pipeline stages of '{model.name}'.")
    ipus: WeakKeyDictionary[Any, int] = WeakKeyDictionary()
    for one in assignments:
        ipus[one.layer] = mapping[one.pipeline_stage or 0]

    def call(batch: Any) -> Any:
        with _layers_on(ipus):
            return step(batch)

    return _noting(options, call)


def _noting(options: Pipelining, step: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A step whose trace has the options without effect, for the report."""

    def call(batch: Any) -> Any:
        note_without_effect(tf.compat.v1.get_default_graph(), options.without_effect)
        return step(batch)

    return call if options.without_effect else step


@contextmanager
def _layers_on(ipus: WeakKeyDictionary[Any, int]) -> Iterator[None]:
    _ipu_of_layers.append(ipus)
    try:
        yield
    finally:
        _ipu_of_layers.pop()


def _of_calls(model: Any) -> list[Assignment]:
    """What PipelineStage says of a model's layers; empty where it says nothing."""
    found = [Assignment(one, 0, _called_in.get(one)) for one in model.layers if not _is_input(one)]
    if all(one.pipeline_stage is None for one in found):
        return []
    _check(model, found)
    return found


def current_assignments(model: Any, options: Pipelining) -> list[Assignment]:
    """A copy of a model's assignments, each of the layers without a stage where there are none."""
    chosen = options.assignments or [
        Assignment(one, 0, _called_in.get(one)) for one in model.layers if not _is_input(one)
    ]
    return [Assignment(one.layer, one.node_index, one.pipeline_stage) for one in chosen]


def assign(model: Any, options: Pipelining, given: Sequence[Any]) -> None:
    """Set the stages of a model: a list of numbers or of assignments, one for each layer. Raises ValueError for a list
    that does not fit."""
    layers = [one for one in model.layers if not _is_input(one)]
    if len(given) != len(layers):
        raise ValueError(
            f"The pipeline stage assignment of '{model.name}' has {len(given)} entries for {len(layers)} layers."
        )
    made = [
        Assignment(layer, 0, one if isinstance(one, int) else one.pipeline_stage)
        for layer, one in zip(layers, given, strict=True)
    ]
    for layer, one in zip(layers, given, strict=True):
        if not isinstance(one, int) and one.layer is not layer:
            raise ValueError(f"An assignment is of layer {one.layer.name}, where '{model.name}' has {layer.name}.")
    _check(model, made)
    options.assignments = made


def _check(model: Any, assignments: Sequence[Assignment]) -> None:
    given = []
    for one in assignments:
        if one.pipeline_stage is None:
            raise ValueError(f"Layer {one.layer.name} has not been assigned a pipeline stage.")
        given.append(one.pipeline_stage)
    numbers = set(given)
    if numbers != set(range(len(numbers))):
        raise ValueError(
            f"Pipeline stages in '{model.name}' are {sorted(numbers)}; they are numbered from 0 without gaps."
        )
    if isinstance(model, keras.Sequential) and given != sorted(given):
        raise ValueError(f"Pipeline stages of the layers of '{model.name}' go back: {given}; let them only rise.")


def _is_input(layer: Any) -> bool:
    return isinstance(layer, keras.layers.InputLayer)


def set_accumulation(
    options: Pipelining, method: str, steps: int | None, reduction: Any, normalize: bool | None, others: dict[str, Any]
) -> None:
    """Take the options of a model's method. Raises ValueError for a number below 1, TypeError for unknown options."""
    options.without_effect |= recorded(method, others)
    if steps is not None:
        if not isinstance(steps, int) or steps < 1:
            raise ValueError(
                f"Expected `gradient_accumulation_steps_per_replica` to be a positive integer, but got {steps} instead."
            )
        options.accumulation = steps
    text = str(getattr(reduction, "value", reduction)).lower()
    if text not in ("sum", "mean"):
        raise poplar_error(
            f"{method} cannot reduce gradients by {text!r} here; take 'sum' or 'mean', which without half precision "
            "gives what the running mean does."
        )
    options.sums = text == "sum" and not normalize


def accumulate(model: Any, options: Pipelining) -> None:
    """Let a compiled model's optimiser add gradients up. Raises poplar_error where it has begun without."""
    optimizer = getattr(model, "optimizer", None)
    if optimizer is None or options.accumulation == (optimizer.gradient_accumulation_steps or 1):
        return
    if optimizer.built:
        raise poplar_error(
            f"The model '{model.name}' has trained with another number of accumulation steps; set the options before "
            "its first fit, or compile it again with a new optimizer."
        )
    optimizer.gradient_accumulation_steps = options.accumulation
    if options.sums:
        factor = float(options.accumulation)
        optimizer.apply = lambda gradients, variables=None: type(optimizer).apply(
            optimizer, [None if one is None else one * factor for one in gradients], variables
        )


def check_execution(model: Any, options: Pipelining) -> None:
    """Raises RuntimeError where an execution ends within an accumulation."""
    steps = model.steps_per_execution
    if steps % options.accumulation:
        raise RuntimeError(
            "The model has been configured to use gradient accumulation for training, however the current "
            f"`steps_per_execution` value (set to {steps}) is not divisible by "
            f"`gradient_accumulation_steps_per_replica` ({options.accumulation}); compile the model with a multiple."
        )


class PipelineSequential(keras.Sequential):
    """The Sequential model of the SDKs before 2.2: a list of layers for each stage. One execution is one update."""

    def __init__(
        self,
        stages: list[list[Any]],
        gradient_accumulation_count: int,
        device_mapping: Sequence[int] | None = None,
        batch_serialization_iterations: int = 1,
        name: str | None = None,
        **options: Any,
    ) -> None:
        """Raises ValueError for stages that are no lists of layers, TypeError for unknown options, poplar_error
        outside the scope of an IPUStrategy."""
        if not isinstance(stages, list) or not stages or not all(isinstance(one, list) for one in stages):
            raise ValueError("A pipeline takes a list of stages, each a list of Keras layers.")
        super().__init__([layer for stage in stages for layer in stage], name=name)
        self._batches = gradient_accumulation_count * batch_serialization_iterations
        self.set_pipeline_stage_assignment([number for number, stage in enumerate(stages) for _ in stage])
        self.set_pipelining_options(self._batches, device_mapping=device_mapping, **options)

    def compile(self, optimizer: Any = "rmsprop", loss: Any = None, metrics: Any = None, **options: Any) -> None:
        """As keras.Model.compile, with the batches of an update in an execution."""
        options.setdefault("steps_per_execution", self._batches)
        super().compile(optimizer=optimizer, loss=loss, metrics=metrics, **options)
