"""A captured program as an operator of a session's graph, which calls the simulated device from the host.

Variables stay the session's: the operator takes their values and gives the new ones, which are assigned behind it. The
device keeps its copies; a value is sent where the session's is another one than the device has.
Before a session runs such an operator, its program is compiled and the device attached (`preparations`), so that errors
of both come without TensorFlow's own report of a failed operator.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.python.ops.gen_resource_variable_ops import assign_variable_op, read_variable_op

from simulator.arrays import AnyArray
from simulator.frontends.tensorflow.capture.function import CapturedFunction
from simulator.frontends.tensorflow.device_variables import Holder
from simulator.frontends.tensorflow.system import CompiledFunction


class SessionVariables:
    """The variables of one program, by the identity of their handles."""

    def __init__(self) -> None:
        self._given: dict[int, AnyArray] = {}  #: the session's values for the run at hand
        self._on_device: dict[int, AnyArray] = {}
        self._writer: Holder | None = None  #: the program, after a run that wrote variables

    def give(self, values: Mapping[int, AnyArray]) -> None:
        """The session's values for the next run."""
        self._given = dict(values)
        self._writer = None

    def newest(self, handles: Sequence[int]) -> list[AnyArray]:
        """Values after the run; those given where the device did not run."""
        if self._writer is not None and handles:
            fetched = self._writer.fetch()
            for one in handles:
                value = np.array(fetched[one]).astype(self._given[one].dtype)
                self._given[one] = self._on_device[one] = value
        return [self._given[one] for one in handles]

    def register(self, handle: Any, dtype: Any) -> None:
        """Values come with each run."""

    def stale(self, holder: Holder, handles: Iterable[int]) -> list[int]:
        return [one for one in handles if not self._is_on_device(one)]

    def _is_on_device(self, handle: int) -> bool:
        there = self._on_device.get(handle)
        return there is not None and there.tobytes() == self._given[handle].tobytes()

    def host_value(self, handle: int) -> AnyArray:
        return self._given[handle]

    def note_sent(self, holder: Holder, handles: Iterable[int]) -> None:
        self._on_device.update({one: self._given[one] for one in handles})

    def note_run(self, holder: Holder, written: Iterable[int]) -> None:
        self._writer = holder
        for one in written:
            self._on_device.pop(one, None)

    def leave(self, holder: Holder) -> None:
        self._on_device.clear()


_HOST = "/device:CPU:0"
_raised: list[tf.errors.OpError] = []
#: what prepares the programs of the device, by the token of the operator
_PREPARE: dict[str, Callable[[], None]] = {}


@dataclass(frozen=True)
class DeviceCall:
    """The operator's results, each behind the assignments of variables, and what stands for the whole call."""

    outputs: list[Any]
    done: Any


def device_call(
    captured: CapturedFunction,
    results: Sequence[Any],
    tensors: Sequence[Any],
    control: Sequence[Any] = (),
    calls: int = 1,
) -> DeviceCall:
    """Add the call to the graph at hand. `results` are the traced results, whose shapes and types the outputs get;
    `tensors` the arguments; `control` what runs before; one run calls the function `calls` times on the same
    arguments."""
    shapes = [tuple(one.shape.as_list()) for one in results]
    names = [name for name, _ in captured.program.updates]
    types = {name: tf.as_dtype(dtype) for name, dtype in captured.variable_dtypes.items()}
    program = _SessionProgram(captured, shapes, calls)
    with tf.device(_HOST), tf.control_dependencies(list(control)):
        values = _values(captured, types)
        made = tf.numpy_function(
            _keeping_errors(program.run),
            [*tensors, *values],
            [*(one.dtype for one in results), *(types[name] for name in names)],
            name="ipu_cluster",
        )
        if isinstance(made, tf.Operation):
            _note(made, program.prepare)
            return DeviceCall([], made)
        given = list(made) if isinstance(made, list | tuple) else [made]
        _note(given[0].op, program.prepare)
        handles = [captured.variables[name] for name in names]
        new = given[len(shapes) :]
        assigned = [assign_variable_op(handle, value) for handle, value in zip(handles, new, strict=True)]
        done = tf.group(given[0].op, *assigned)
        with tf.control_dependencies(assigned):
            outputs = [tf.identity(one) for one in given[: len(shapes)]]
    for output, shape in zip(outputs, shapes, strict=True):
        output.set_shape(shape)
    return DeviceCall(outputs, done)


def _values(captured: CapturedFunction, types: dict[str, Any]) -> list[Any]:
    """The values of the program's variables; zeros for one that it only writes, which may have none yet."""
    program = captured.program
    read = {value.number for operator in program.operators for value in operator.operands()}
    read |= {value.number for value in program.outputs} | {value.number for _, value in program.updates}
    return [
        read_variable_op(captured.variables[one.name], types[one.name])
        if one.value.number in read
        else tf.zeros(one.value.shape, types[one.name])
        for one in program.weights
    ]


def for_calls(arrays: Sequence[AnyArray], calls: int) -> list[AnyArray]:
    """The arguments of a run that calls its function several times, each time on the same arrays."""
    return list(arrays) if calls == 1 else [np.broadcast_to(one, (calls, *np.shape(one))) for one in arrays]


class _SessionProgram:
    """What the operator in the session's graph runs."""

    def __init__(self, captured: CapturedFunction, shapes: Sequence[tuple[int, ...]], calls: int) -> None:
        self._variables = SessionVariables()
        self._calls = calls
        self._function = CompiledFunction(captured, shapes, calls, variables=self._variables)
        self._handles = [id(one) for one in captured.variables.values()]
        self._written = [id(captured.variables[name]) for name, _ in captured.program.updates]

    def prepare(self) -> None:
        """Compile and attach. Raises what compilation and attachment raise."""
        self._function.prepare()

    def run(self, *arrays: AnyArray) -> list[AnyArray]:
        """Results and new values of variables, from arguments and values of variables."""
        count = len(arrays) - len(self._handles)
        self._variables.give(dict(zip(self._handles, arrays[count:], strict=True)))
        results = self._function.run(for_calls(arrays[:count], self._calls))
        return [*results, *self._variables.newest(self._written)]


def _keeping_errors(run: Callable[..., Any]) -> Callable[..., Any]:
    """A function for `tf.numpy_function`, whose errors `Session.run` raises as they are: TensorFlow itself would make
    UnknownError of them all."""

    def wrapped(*arguments: Any) -> Any:
        try:
            return run(*arguments)
        except tf.errors.OpError as error:
            _raised.append(error)
            raise type(error)(None, None, error.message) from None  # TensorFlow logs all that led to it

    return wrapped


def _note(op: Any, prepare: Callable[[], None]) -> None:
    """`prepare` is called before a session runs this operator."""
    _PREPARE[op.get_attr("token").decode()] = prepare


def preparations(operators: Sequence[Any]) -> list[Callable[[], None]]:
    """What prepares the programs of the device among these operators."""
    calls = (_PREPARE.get(op.get_attr("token").decode()) for op in operators if op.type == "PyFunc")
    return [one for one in calls if one is not None]


def forget_errors() -> None:
    """A session begins to run."""
    _raised.clear()


def error_of_the_device() -> tf.errors.OpError | None:
    """The error that a call raised since then."""
    return _raised.pop() if _raised else None
