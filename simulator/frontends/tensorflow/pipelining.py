"""`pipelining_ops.pipeline`: a model of TensorFlow 1 in stages of functions on the IPUs of a device.

A run of the compiled program calls the stages once for each micro-batch: the operators of a stage, their gradients and
the updates of its variables are on the stage's IPU. Gradients are added up in variables; each IPU has one branch, taken
with the last micro-batch of an update, in which the optimiser updates its variables. The stages of a micro-batch run
one after the other, and micro-batch after micro-batch, as the schedule Sequential does, whatever schedule is asked for;
results are those of all schedules.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import tensorflow as tf

from simulator.base.errors import poplar_error
from simulator.frontends.tensorflow.capture.function import note_without_effect
from simulator.frontends.tensorflow.capture.sharding import on_shard, shard_of
from simulator.frontends.tensorflow.infeed_queue import IPUInfeedQueue, body_arguments
from simulator.frontends.tensorflow.optimizers import IpuOptimizer
from simulator.frontends.tensorflow.outfeed_queue import IPUOutfeedMode, IPUOutfeedQueue
from simulator.frontends.tensorflow.pipeline_options import PipelineSchedule, RecomputationMode, recorded

_v1 = tf.compat.v1
_calls: WeakKeyDictionary[Any, int] = WeakKeyDictionary()


def calls_of(graph: Any) -> int:
    """How often one run calls a traced computation: once for each micro-batch of its pipeline, else once."""
    return _calls.get(graph, 1)


class OptimizerFunctionOutput:
    """What trains a pipeline: an optimiser of `tf.compat.v1.train` and the loss that it makes smaller."""

    def __init__(
        self,
        opt: Any,
        loss: Any,
        compute_gradients_args: Sequence[Any] | None = None,
        compute_gradients_kwargs: Mapping[str, Any] | None = None,
        apply_gradients_args: Sequence[Any] | None = None,
        apply_gradients_kwargs: Mapping[str, Any] | None = None,
        variables: Sequence[Any] | None = None,
        tape: Any = None,
        gradient_capture_context: Any = None,
        captured_gradient_outfeed: Any = None,
    ) -> None:
        """`variables`: what a `tape` gives the gradients of. Raises TypeError for what is no optimiser, poplar_error
        for captured gradients."""
        if not isinstance(opt, _v1.train.Optimizer):
            raise TypeError(f"opt is not an optimizer of tf.compat.v1.train, but {type(opt).__name__}.")
        if gradient_capture_context is not None or captured_gradient_outfeed is not None:
            raise poplar_error("A pipeline captures no gradients here; leave gradient_capture_context out.")
        self.opt, self.loss, self.tape, self.variables = opt, loss, tape, list(variables or [])
        self._compute = list(compute_gradients_args or []), dict(compute_gradients_kwargs or {})
        self.apply = list(apply_gradients_args or []), dict(apply_gradients_kwargs or {})

    def gradients(self) -> list[tuple[Any, Any]]:
        """(gradient, variable) of all that the loss depends on."""
        if self.tape is not None:
            pairs = zip(self.tape.gradient(self.loss, self.variables), self.variables, strict=True)
        else:
            positional, named = self._compute
            pairs = self.opt.compute_gradients(self.loss, *positional, **named)
        return [(tf.convert_to_tensor(gradient), variable) for gradient, variable in pairs if gradient is not None]


@dataclass(frozen=True)
class _Outfeed:
    """What goes to an outfeed. `is_summed`: over the micro-batches of an update, as `dtype`."""

    queue: IPUOutfeedQueue | None
    is_loss: bool
    mask: Sequence[bool] | None
    is_summed: bool
    dtype: Any

    def check(self, optimizer_function: Any) -> None:
        """Raises TypeError and ValueError for arguments of a pipeline that do not fit."""
        if self.queue is not None and not isinstance(self.queue, IPUOutfeedQueue):
            raise TypeError("outfeed_queue is not an instance of ipu_outfeed_queue.IPUOutfeedQueue")
        if self.is_summed and self.queue is None:
            raise ValueError("An outfeed_queue must be provided when accumulate_outfeed is True.")
        if self.is_summed and self.queue is not None and self.queue.mode is not IPUOutfeedMode.ALL:
            raise ValueError("To accumulate the outfeed, it must be in IPUOutfeedMode ALL.")
        if self.mask and not optimizer_function:
            raise ValueError("An optimizer_function must be provided when outfeed_mask is set.")
        if self.is_loss and not optimizer_function:
            raise ValueError("An optimizer_function must be provided when outfeed_loss is True.")
        if self.is_loss and self.mask:
            raise ValueError("Only one of `outfeed_loss` and `outfeed_mask` can be set.")

    def values(self, results: Any, trained: OptimizerFunctionOutput | None) -> Any:
        """Of the results of the last stage, those to send. Raises ValueError for a mask of another length, and for
        values without a queue."""
        values = results
        if self.is_loss and trained is not None:
            values = trained.loss
        elif self.mask:
            flat = _as_list(results)
            if len(self.mask) != len(flat):
                raise ValueError(
                    f"outfeed_mask has {len(self.mask)} entries for the {len(flat)} outputs of the last stage."
                )
            values = _single([value for value, leaves_out in zip(flat, self.mask, strict=True) if not leaves_out])
        if _as_list(values) and self.queue is None:
            raise ValueError("The last computational stage has outputs, so the pipeline needs an outfeed_queue.")
        return values


@dataclass
class _Pipeline:
    """The trace of one pipeline. `batches`: micro-batches of an update."""

    name: str
    ipus: Sequence[int]
    batches: int
    scale: float
    dtype: Any
    done: list[Any] = field(default_factory=list)  #: operations of a micro-batch

    def begin(self, infeed: Any, calls: int, without_effect: dict[str, str]) -> None:
        """Note what a run and the report of the graph at hand need. Raises TypeError for what is no infeed,
        poplar_error where no pipeline can stand."""
        if infeed is not None and not isinstance(infeed, IPUInfeedQueue):
            raise TypeError("infeed_queue is not an instance of ipu_infeed_queue.IPUInfeedQueue")
        graph = _checked_graph()
        _calls[graph] = calls
        note_without_effect(graph, without_effect)

    def build(
        self,
        stages: Sequence[Callable[..., Any]],
        inputs: Any,
        infeed: IPUInfeedQueue | None,
        optimizer_function: Callable[..., OptimizerFunctionOutput] | None,
        outfeed: _Outfeed,
    ) -> None:
        """Trace a micro-batch: the stages, what goes to the outfeed, the update."""
        results = self._forward(stages, [tf.convert_to_tensor(value) for value in _as_list(inputs)], infeed)
        trained = None if optimizer_function is None else optimizer_function(*_as_list(results))
        number = self._counter() if trained is not None or outfeed.is_summed else None
        values = outfeed.values(results, trained)
        if outfeed.queue is not None:
            if outfeed.is_summed:
                self._send_sums(outfeed.queue, values, outfeed.dtype, number)
            else:
                with on_shard(_v1.get_default_graph(), self.ipus[-1]):
                    self.done.append(outfeed.queue.enqueue(values))
        if trained is not None:
            self._update(trained, number)

    def _forward(self, stages: Sequence[Callable[..., Any]], inputs: list[Any], queue: IPUInfeedQueue | None) -> Any:
        """What the last stage gives, as it gives it."""
        arguments, named = list(inputs), dict[str, Any]()
        graph = _v1.get_default_graph()
        for number, (stage, ipu) in enumerate(zip(stages, self.ipus, strict=True)):
            with on_shard(graph, ipu), tf.name_scope(f"{self.name}_stage_{number}"):
                if not number and queue is not None:
                    element, named = body_arguments(queue._dequeue())
                    arguments += element
                results = _as_list(stage(*arguments, **named))
            named = {}
            arguments = [result for result in results if not isinstance(result, tf.Operation)]
            self.done += [result for result in results if isinstance(result, tf.Operation)]
        return _single(arguments)

    def _counter(self) -> Any:
        """The number of this micro-batch within its update, from 1 on."""
        with on_shard(_v1.get_default_graph(), self.ipus[0]):
            count = self._variable("count", (), tf.int32)
            number = tf.identity(count.assign_add(1))
            with tf.control_dependencies([number]):
                self.done.append(count.assign(tf.math.floormod(number, self.batches), read_value=False))
            return number

    def _update(self, trained: OptimizerFunctionOutput, number: Any) -> None:
        """Add gradients up; with the last micro-batch each IPU updates its variables."""
        by_ipu: dict[int, list[tuple[Any, Any]]] = {}
        for gradient, variable in trained.gradients():
            by_ipu.setdefault(_ipu_of(variable, self.ipus[-1]), []).append((gradient, variable))
        if not by_ipu:
            raise ValueError("The loss of the pipeline depends on no variable that can be trained.")
        for count, (ipu, pairs) in enumerate(sorted(by_ipu.items())):
            opt = _with_new_states(trained.opt) if count else trained.opt
            self._update_on(ipu, pairs, opt, trained.apply, number)

    def _update_on(
        self, ipu: int, pairs: list[tuple[Any, Any]], opt: Any, options: tuple[list[Any], dict[str, Any]], number: Any
    ) -> None:
        variables = [variable for _, variable in pairs]
        with on_shard(_v1.get_default_graph(), ipu):
            sums = [
                self._variable(variable.op.name, variable.shape, self._type(variable, gradient))
                for gradient, variable in pairs
            ]
            scaled = [
                tf.cast(gradient, total.dtype) * tf.cast(self.scale, total.dtype)
                for total, (gradient, _) in zip(sums, pairs, strict=True)
            ]
        opt._create_slots(variables)
        positional, named = options

        def apply(gradients: list[Any]) -> Any:
            return opt.apply_gradients(list(zip(gradients, variables, strict=True)), *positional, **named)

        self._add_up(ipu, sums, scaled, number, apply)

    def _send_sums(self, queue: IPUOutfeedQueue, values: Any, dtype: Any, number: Any) -> None:
        """Enqueue the sums of `values` over the micro-batches of an update."""
        flat = [tf.convert_to_tensor(value) for value in tf.nest.flatten(values)]
        with on_shard(_v1.get_default_graph(), self.ipus[-1]):
            types = [(dtype(value) if callable(dtype) else dtype) or value.dtype for value in flat]
            sums = [
                self._variable(f"outfeed_{place}", value.shape, type_)
                for place, (value, type_) in enumerate(zip(flat, types, strict=True))
            ]
            terms = [tf.cast(value, total.dtype) for value, total in zip(flat, sums, strict=True)]

        def send(totals: list[Any]) -> Any:
            return queue.enqueue(tf.nest.pack_sequence_as(values, totals))

        self._add_up(self.ipus[-1], sums, terms, number, send)

    def _add_up(
        self, ipu: int, sums: list[Any], terms: list[Any], number: Any, use: Callable[[list[Any]], Any]
    ) -> None:
        """Add terms to variables. With the last micro-batch of an update `use` gets the sums and gives an operation,
        after which the variables are zero."""
        graph = _v1.get_default_graph()
        with on_shard(graph, ipu):
            added = [total.assign_add(term, read_value=False) for total, term in zip(sums, terms, strict=True)]

        def complete() -> Any:
            with tf.control_dependencies([use([total.read_value() for total in sums])]):
                zeroed = [total.assign(tf.zeros_like(total), read_value=False) for total in sums]
            with tf.control_dependencies(zeroed):
                return tf.constant(True)

        with on_shard(graph, ipu), tf.control_dependencies(added):
            self.done.append(tf.cond(tf.equal(number, self.batches), complete, lambda: tf.constant(False)).op)

    def _type(self, variable: Any, gradient: Any) -> Any:
        wanted = self.dtype(variable) if callable(self.dtype) else self.dtype
        return gradient.dtype if wanted is None else wanted

    def _variable(self, name: str, shape: Any, dtype: Any) -> Any:
        return _v1.get_variable(
            f"{self.name}/accumulated/{name}",
            shape,
            dtype,
            _v1.zeros_initializer(),
            trainable=False,
            use_resource=True,
        )


def pipeline(
    computational_stages: Sequence[Callable[..., Any]],
    gradient_accumulation_count: int | None = None,
    gradient_accumulation_dtype: Any = None,
    gradient_accumulation_for_captured_grads: bool = True,
    repeat_count: int = 1,
    batch_serialization_iterations: int = 1,
    inputs: Any = None,
    infeed_queue: IPUInfeedQueue | None = None,
    outfeed_queue: IPUOutfeedQueue | None = None,
    optimizer_function: Callable[..., OptimizerFunctionOutput] | None = None,
    device_mapping: Sequence[int] | None = None,
    pipeline_schedule: PipelineSchedule | None = None,
    recomputation_mode: RecomputationMode | None = None,
    outfeed_loss: bool = False,
    accumulate_outfeed: bool = False,
    accumulate_outfeed_dtype: Any = None,
    outfeed_mask: Sequence[bool] | None = None,
    reduction_method: Any = "SUM",
    name: str | None = None,
    pipeline_depth: int | None = None,
    **others: Any,
) -> Any:
    """An operation that runs the stages `gradient_accumulation_count` times (`pipeline_depth` in the SDKs before 2.0),
    and that `repeat_count` times, the last of a function for `ipu_compiler.compile`. Each stage takes what the one
    before it gives, the first `inputs` and an element of the infeed. What the last one gives goes to the outfeed: as it
    is, the loss alone, without the parts that `outfeed_mask` names, or summed over an update. `optimizer_function`
    takes it and trains variables by the sum or mean of gradients. Other options are recorded only (pipeline_options).

    Raises ValueError, TypeError and NotImplementedError as upstream for arguments that do not fit, poplar_error for a
    second pipeline in a function, and outside one."""
    count = pipeline_depth if gradient_accumulation_count is None else gradient_accumulation_count
    outfeed = _Outfeed(outfeed_queue, outfeed_loss, outfeed_mask, accumulate_outfeed, accumulate_outfeed_dtype)
    ipus = _checked_mapping(computational_stages, device_mapping, batch_serialization_iterations)
    updated_after = _checked_count(count, repeat_count, batch_serialization_iterations)
    outfeed.check(optimizer_function)
    without_effect = _without_effect(pipeline_schedule, recomputation_mode, others)
    batches = updated_after * batch_serialization_iterations
    scale = _scale(reduction_method, updated_after)
    trace = _Pipeline(name or "pipeline", ipus, batches, scale, gradient_accumulation_dtype)
    trace.begin(infeed_queue, batches * repeat_count, without_effect)
    trace.build(computational_stages, inputs, infeed_queue, optimizer_function, outfeed)
    return tf.group(*trace.done)


def _checked_graph() -> Any:
    """The graph of the function at hand. Raises poplar_error where a pipeline cannot stand."""
    graph: Any = _v1.get_default_graph()
    if not hasattr(graph, "outer_graph") or graph in _calls:
        raise poplar_error(
            "pipelining_ops.pipeline stands once in a function that ipu_compiler.compile takes; put it there, and a "
            "second one into a function of its own."
        )
    return graph


def _ipu_of(variable: Any, otherwise: int) -> int:
    """The IPU of the stage that reads a variable. Raises poplar_error for stages on several."""
    graph: Any = _v1.get_default_graph()
    handle = graph.capture(variable.handle)
    marks = (shard_of(op) for op in handle.consumers() if op.type == "ReadVariableOp")
    shards = {mark for mark in marks if mark is not None}
    if len(shards) > 1:
        raise poplar_error(
            f"The variable '{variable.name}' is read by pipeline stages on the IPUs {sorted(shards)}; put these stages "
            "on one IPU by device_mapping."
        )
    return shards.pop() if shards else otherwise


def _with_new_states(opt: Any) -> Any:
    """The same optimiser with other states: each IPU updates by itself, shared states (Adam's powers) included."""
    same = copy.copy(opt)
    same._slots, same._non_slot_dict, same._deferred_slot_restorations = {}, {}, {}
    if isinstance(same, IpuOptimizer):
        same._opt = _with_new_states(same._opt)
    return same


def _scale(method: Any, count: int) -> float:
    """What gradients are multiplied by. Raises ValueError for an unknown method."""
    text = str(getattr(method, "name", method)).upper()
    if text not in ("SUM", "MEAN", "RUNNING_MEAN"):
        raise ValueError(f"reduction_method must be SUM, MEAN or RUNNING_MEAN, but it is {text}.")
    return 1.0 if text == "SUM" else 1.0 / count


def _as_list(values: Any) -> list[Any]:
    return [] if values is None else list(values) if isinstance(values, list | tuple) else [values]


def _single(values: list[Any]) -> Any:
    """A value alone, or a list of several."""
    return values[0] if len(values) == 1 else values


def _checked_mapping(stages: Any, mapping: Any, serialization: int) -> list[int]:
    """The IPU of each stage."""
    if not isinstance(stages, list | tuple):
        raise TypeError("computational_stages argument needs to be a list or a tuple.")
    if len(stages) < 2:
        raise ValueError("Pipeline requires at least two computational stages.")
    chosen = mapping if mapping is not None else [0] * len(stages) if serialization > 1 else list(range(len(stages)))
    if not isinstance(chosen, list | tuple):
        raise TypeError("device_mapping argument needs to be a list or a tuple.")
    if len(chosen) != len(stages):
        raise ValueError(f"Each stage must be mapped to an IPU: {len(chosen)} mappings != {len(stages)} stages")
    if not all(isinstance(ipu, int) and ipu >= 0 for ipu in chosen):
        raise poplar_error(f"device_mapping has one IPU for each stage here, a number from 0 on, but it is {chosen}.")
    if serialization > 1 and len(set(chosen)) != 1:
        raise NotImplementedError(
            "When using batch serialization, all the pipeline stages need to be mapped to a single IPU."
        )
    return list(chosen)


def _checked_count(count: Any, repeat: Any, serialization: Any) -> int:
    """The micro-batches of an update, before serialization."""
    if count is None:
        raise ValueError("gradient_accumulation_count must be specified.")
    counts = {
        "gradient_accumulation_count": count,
        "repeat_count": repeat,
        "batch_serialization_iterations": serialization,
    }
    for name, value in counts.items():
        if not isinstance(value, int | np.integer) or value < 1:
            raise ValueError(f"{name} is a whole number from 1 on here, but it is {value!r}.")
    return int(count)


def _without_effect(schedule: Any, recomputation: Any, others: dict[str, Any]) -> dict[str, str]:
    """The options that are recorded only; the schedule is Grouped where none is given, as upstream."""
    if others.pop("continuous_weight_updates", False):
        raise NotImplementedError("Continuous weight updates are currently not supported.")
    said = {"pipeline_schedule": schedule or PipelineSchedule.Grouped, "recomputation_mode": recomputation, **others}
    left_out = {"pipeline_schedule": PipelineSchedule.Sequential, "recomputation_mode": RecomputationMode.Auto}
    return recorded(
        "pipelining_ops.pipeline", {name: one for name, one in said.items() if one != left_out.get(name, 0)}
    )
