"""Keras models whose training, evaluation and prediction steps run on the device.

Keras asks a model for three functions that take batches from an iterator and give the step's results. Models that were
made in the scope of an IPUStrategy get these from here; batches, callbacks, history and the reading of metrics stay
Keras' own. `steps_per_execution` batches are one run of the device. In the host trace each call of `fit`, `evaluate`
and `predict` of such a model is an event, labelled as Keras' extensions for the IPU label it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum
from typing import Any
from weakref import WeakKeyDictionary

import keras
import tensorflow as tf
from keras.src import tree
from keras.src.backend.tensorflow.trainer import TensorFlowTrainer, concat

import popvision.pvti as pvti
from simulator.base.errors import poplar_error
from simulator.frontends.tensorflow import keras_pipeline
from simulator.frontends.tensorflow.keras_pipeline import (
    Assignment,
    Pipelining,
    accumulate,
    assign,
    check_execution,
    current_assignments,
    on_stages,
    set_accumulation,
)
from simulator.frontends.tensorflow.traced_calls import TracedCalls, signature

_channel = pvti.createTraceChannel("Keras")
_scopes: list[bool] = []


@dataclass
class _Model:
    """What is known of a model. With Keras' extensions several batches are one run, and calls are in the host trace."""

    extensions: bool
    pipelining: Pipelining = field(default_factory=Pipelining)


_models: WeakKeyDictionary[Any, _Model] = WeakKeyDictionary()


@contextmanager
def model_scope(extensions: bool = True) -> Iterator[None]:
    """Models that are made within run their steps on the device, with Keras' extensions or without."""
    _install()
    _scopes.append(extensions)
    try:
        yield
    finally:
        _scopes.pop()


class DeviceSteps:
    """Keras' train_function or test_function: takes the batches of one execution, gives the last one's results."""

    def __init__(self, model: Any, step: Callable[[Any], Any]) -> None:
        self._model = model
        self._calls = TracedCalls(step)

    def __call__(self, iterator: Any) -> Any:
        """Raises StopIteration where the iterator is at its end, and what capture and the system raise."""
        results = None
        for group in _groups(_batches(iterator, self._model.steps_per_execution), _models[self._model].extensions):
            results = self._calls.run_last(group)
        return results


class DevicePrediction:
    """Keras' predict_function: takes a list of batches, gives their predictions as one batch."""

    def __init__(self, model: Any, step: Callable[[Any], Any]) -> None:
        self._model = model
        self._calls = TracedCalls(step)

    def __call__(self, batches: Sequence[Any]) -> Any:
        """Raises what capture and the system raise."""
        groups = _groups([(_without_optionals(one),) for one in batches], _models[self._model].extensions)
        results = [result for group in groups for result in self._calls.run_all(group)]
        return results[0] if len(results) == 1 else tree.map_structure(lambda *parts: concat(parts), *results)


def _batches(iterator: Any, count: int) -> list[Any]:
    """Up to `count` batches, each as the argument of a step."""
    batches = [(_without_optionals(one),) for _, one in zip(range(count), iterator, strict=False)]
    if not batches:
        raise StopIteration
    return batches


def _without_optionals(batch: Any) -> Any:
    """The batch with None where Keras' iterator has an empty Optional."""
    return tree.map_structure(lambda one: None if isinstance(one, tf.experimental.Optional) else one, batch)


def _groups(batches: Sequence[Any], together: bool) -> list[list[Any]]:
    """Runs of batches of one signature: the last batch of a data set may be smaller. Not `together`: each alone."""
    groups: list[list[Any]] = []
    before = None
    for batch in batches:
        key = signature(batch)
        if key != before or not together:
            groups.append([])
        groups[-1].append(batch)
        before = key
    return groups


@functools.cache
def _install() -> None:
    """Wrap the methods of Keras' trainer that make its functions, and those that the host trace shows."""
    cls = TensorFlowTrainer
    first, make, predict = cls.__init__, cls._make_function, cls.make_predict_function

    @functools.wraps(first)
    def init(self: Any) -> None:
        first(self)
        if _scopes:
            _models[self] = _Model(_scopes[-1])

    @functools.wraps(make)
    def make_function(self: Any, step_function: Any) -> Any:
        if self not in _models:
            return make(self, step_function)
        _check(self)
        pipelining = _models[self].pipelining
        if step_function == self.train_step:
            check_execution(self, pipelining)
            accumulate(self, pipelining)
        return DeviceSteps(self, on_stages(self, pipelining, step_function))

    @functools.wraps(predict)
    def predict_function(self: Any, force: bool = False) -> Any:
        if self not in _models:
            return predict(self, force)
        if self.predict_function is None or force:
            _check(self)
            self.predict_function = DevicePrediction(self, on_stages(self, _models[self].pipelining, self.predict_step))
        return self.predict_function

    _install_extensions()
    cls.__init__, cls._make_function, cls.make_predict_function = init, make_function, predict_function
    cls.fit, cls.evaluate, cls.predict = (_traced(method) for method in (cls.fit, cls.evaluate, cls.predict))


def _pipelining(model: Any, method: str) -> Pipelining:
    """How a model of an IPUStrategy is pipelined. Raises poplar_error, which names the method, for another one."""
    if model not in _models:
        raise poplar_error(
            f"{method} is for models that are made in the scope of an IPUStrategy; '{model.name}' was not."
        )
    return _models[model].pipelining


def set_gradient_accumulation_options(
    self: Any,
    gradient_accumulation_steps_per_replica: int | None = None,
    experimental_normalize_gradients: Any = None,
    gradient_accumulation_reduction_method: Any = "sum",
    gradient_accumulation_steps: int | None = None,
    **others: Any,
) -> None:
    """Mini-batches whose gradients are added up before a step of the optimizer."""
    method = "set_gradient_accumulation_options"
    options = _pipelining(self, method)
    steps = gradient_accumulation_steps_per_replica or gradient_accumulation_steps
    if isinstance(experimental_normalize_gradients, str | Enum):  # its place in SDK 2.6 and later
        gradient_accumulation_reduction_method = experimental_normalize_gradients
        experimental_normalize_gradients = None
    reduction, normalize = gradient_accumulation_reduction_method, experimental_normalize_gradients
    set_accumulation(options, method, steps, reduction, normalize, others)


def set_pipelining_options(
    self: Any,
    gradient_accumulation_steps_per_replica: int | None = None,
    device_mapping: Sequence[int] | None = None,
    accumulate_outfeed: bool | None = None,
    experimental_normalize_gradients: bool | None = None,
    gradient_accumulation_reduction_method: Any = "sum",
    **others: Any,
) -> None:
    """Mini-batches of a step of the pipeline, and the IPUs of its stages."""
    method = "set_pipelining_options"
    options = _pipelining(self, method)
    others["accumulate_outfeed"] = accumulate_outfeed
    steps, reduction = gradient_accumulation_steps_per_replica, gradient_accumulation_reduction_method
    set_accumulation(options, method, steps, reduction, experimental_normalize_gradients, others)
    options.device_mapping = device_mapping


def get_pipeline_stage_assignment(self: Any) -> list[Assignment]:
    """The stage of each call of a layer."""
    return current_assignments(self, _pipelining(self, "get_pipeline_stage_assignment"))


def set_pipeline_stage_assignment(self: Any, pipeline_stage_assignment: Sequence[Any]) -> None:
    """Put the calls of layers on these stages."""
    assign(self, _pipelining(self, "set_pipeline_stage_assignment"), pipeline_stage_assignment)


def reset_pipeline_stage_assignment(self: Any) -> None:
    """Forget the stages that were set."""
    _pipelining(self, "reset_pipeline_stage_assignment").assignments = []


def print_pipeline_stage_assignment_summary(self: Any, print_fn: Callable[[str], None] = print) -> None:
    """Print the stage of each call of a layer, a line each."""
    for one in get_pipeline_stage_assignment(self):
        print_fn(str(one))


#: The methods that Graphcore's extensions give Keras' models.
_EXTENSIONS = (
    set_gradient_accumulation_options,
    set_pipelining_options,
    get_pipeline_stage_assignment,
    set_pipeline_stage_assignment,
    reset_pipeline_stage_assignment,
    print_pipeline_stage_assignment_summary,
)


def _install_extensions() -> None:
    """Give Keras' models the methods of its extensions for IPUs."""
    for method in _EXTENSIONS:
        setattr(keras.Model, method.__name__, method)
    keras.ipu = tf.keras.ipu = keras_pipeline  # as Graphcore's Keras has its classes


def _traced(method: Callable[..., Any]) -> Callable[..., Any]:
    """A method whose calls for models of the device are events, such as "sequential.fit()"."""

    @functools.wraps(method)
    def call(self: Any, *arguments: Any, **named: Any) -> Any:
        if self not in _models or not _models[self].extensions:
            return method(self, *arguments, **named)
        with pvti.Tracepoint(_channel, f"{self.name}.{method.__name__}()"):
            return method(self, *arguments, **named)

    return call


def _check(model: Any) -> None:
    if model.run_eagerly:
        raise poplar_error(
            f"The model '{model.name}' was compiled with run_eagerly=True, but the IPU runs traced steps; compile it "
            "without, or make the model outside the scope of the IPUStrategy."
        )
