"""Operators of a session's graph that stand on `/device:IPU:0` outside `ipu_compiler.compile`: clusters of them run on
the device.

For each set of fetches, levels count how often its ancestors change from the device to the host; the operators of one
level are one program, whatever else of the graph other fetches need. Operators of the host behind a program are copied,
with the program's results in place of the operators that it stands for. Planning is O(operators and inputs) for each
new set of fetches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import tensorflow as tf
from tensorflow.core.framework import attr_value_pb2, graph_pb2
from tensorflow.python.eager import context

from simulator.base.errors import poplar_error
from simulator.frontends.tensorflow.capture.entries import CaptureError
from simulator.frontends.tensorflow.capture.function import capture_function
from simulator.frontends.tensorflow.capture.ordering import sorted_by_needs
from simulator.frontends.tensorflow.session_calls import DeviceCall, device_call

DEVICE = "/device:IPU:0"
#: what a session keeps: handles, constants, what is fed, calls of Python
_OF_THE_HOST = frozenset(
    {"VarHandleOp", "VarIsInitializedOp", "Const", "Placeholder", "PlaceholderWithDefault", "PyFunc", "VariableV2"}
)
#: what computes nothing: a cluster of these alone is left to the host
_IDLE = frozenset({"ReadVariableOp", "AssignVariableOp", "Identity", "NoOp"})
_numbers = count()


def is_placed(op: Any) -> bool:
    """Whether an operator stands on the IPU and computes. Raises poplar_error for another IPU than `DEVICE`."""
    device = "" if op.type in _OF_THE_HOST else _device(op)
    if "IPU" not in device:
        return False
    place = tf.DeviceSpec.from_string(device)
    if place.device_type != "IPU":
        return False
    if place.device_index not in (None, 0):
        raise poplar_error(f"There is no device {device!r} for the operator '{op.name}'; this system has '{DEVICE}'.")
    return True


def _device(op: Any) -> str:
    """The device of an operator: its own, that of the variable which it takes, or that of the operator which it is
    colocated with, as a variable's initialiser is with the variable."""
    if op.device:
        return str(op.device)
    for tensor in op.inputs:
        if tensor.dtype == tf.resource and tensor.op.device:
            return str(tensor.op.device)
    for group in op.colocation_groups():
        name = group.decode().removeprefix("loc:@")
        if name == op.name:
            continue
        try:
            return str(op.graph.get_operation_by_name(name).device)
        except KeyError:
            continue
    return ""


def move_initialization_to_host(graph: Any = None) -> None:
    """Put what computes the first values of a graph's variables on the host; None means the graph at hand."""
    variables = _variables(tf.compat.v1.get_default_graph() if graph is None else graph)
    first = [one.initializer.inputs[1] for one in variables if len(one.initializer.inputs) > 1]
    for op in ancestors(first, set()):
        op._set_device("/device:CPU:0")
        op._set_attr("_class", attr_value_pb2.AttrValue(list=attr_value_pb2.AttrValue.ListValue()))


def ancestors(fetched: Sequence[Any], fed: set[str]) -> list[Any]:
    """The operators that fetches need; tensors that are fed need none."""
    ahead = [one if isinstance(one, tf.Operation) else one.op for one in fetched if one.name not in fed]
    found = {one.name: one for one in ahead}
    while ahead:
        for before in _before(ahead.pop(), fed):
            if before.name not in found:
                found[before.name] = before
                ahead.append(before)
    return list(found.values())


def _before(op: Any, fed: set[str]) -> list[Any]:
    return [*(one.op for one in op.inputs if one.name not in fed), *op.control_inputs]


def replacements(graph: Any, fetched: Sequence[Any], fed: set[str]) -> dict[str, Any]:
    """What a session fetches in place of elements, by their names, so that their operators on the IPU run there. Adds
    to the graph.

    Raises what capture raises for operators and shapes."""
    plan = _Plan(ancestors(fetched, fed), fed)
    if not plan.on_device:
        return {}
    plan.read = {one.name for one in fetched if not isinstance(one, tf.Operation)}
    finalized = graph.finalized
    if finalized:
        graph._unsafe_unfinalize()
    try:
        with graph.as_default(), tf.control_dependencies(None), tf.name_scope(f"ipu_clusters_{next(_numbers)}"):
            plan.build(graph)
    finally:
        if finalized:
            graph.finalize()
    return plan.made


@dataclass(eq=False)
class _Cluster:
    """Operators of one level as the graph of a function: `inputs` from outside, then the handles of variables."""

    operators: list[Any]
    inputs: list[Any]
    outputs: list[Any]
    variables: list[Any]
    captured_inputs: list[Any]

    @property
    def graph(self) -> _Cluster:
        return self

    def get_operations(self) -> list[Any]:
        return self.operators


class _Plan:
    """The levels of some operators, and what is made for them."""

    def __init__(self, operators: Sequence[Any], fed: set[str]) -> None:
        self._fed = fed
        self.made: dict[str, Any] = {}
        self.read: set[str] = set()  #: tensors that are fetched
        placed = [one for one in operators if is_placed(one)]
        self.on_device = {one.name for one in placed if one.type not in _IDLE}
        if not self.on_device:
            return
        self.on_device = {one.name for one in placed}
        for op in placed:
            if op._get_control_flow_context() is not None:
                raise CaptureError(
                    f"The operator {op.type} '{op.name}' on {DEVICE} is part of a loop or branch of TensorFlow 1; call "
                    "what contains it by ipu_compiler.compile."
                )
        self._order = sorted_by_needs(operators, {one.name: self._needs(one) for one in operators})
        self._level = self._levels()
        while idle := self._idle_levels():
            self.on_device = {name for name in self.on_device if self._level[name] not in idle}
            self._level = self._levels()

    def _needs(self, op: Any) -> set[str]:
        """Names of the operators before; a loop's way back is left out."""
        return {one.name for one in _before(op, self._fed) if (op.type, one.type) != ("Merge", "NextIteration")}

    def _levels(self) -> dict[str, int]:
        levels: dict[str, int] = {}
        for op in self._order:
            before = self._needs(op)
            if op.name in self.on_device:
                constants = {one.op.name for one in op.inputs if one.op.type == "Const"}  # a program has its own
                levels[op.name] = max((levels[one] for one in before - constants), default=0)
            else:
                levels[op.name] = max((levels[one] + (one in self.on_device) for one in before), default=0)
        return levels

    def _idle_levels(self) -> set[int]:
        """Levels whose operators on the device compute nothing."""
        here = [op for op in self._order if op.name in self.on_device]
        return {self._level[op.name] for op in here} - {self._level[op.name] for op in here if op.type not in _IDLE}

    def build(self, graph: Any) -> None:
        """Make the programs and the copies, level by level."""
        for level in range(max(self._level.values()) + 1):
            of_level = [op for op in self._order if self._level[op.name] == level]
            host = [op for op in of_level if op.name not in self.on_device]
            if level:
                self._copy(graph, host)
            placed = [op for op in of_level if op.name in self.on_device]
            if placed:
                self._call(graph, placed)

    def _call(self, graph: Any, placed: Sequence[Any]) -> None:
        cluster, control = self._cluster(graph, placed)
        with context.eager_mode():
            captured = capture_function(cluster)
        arguments = cluster.inputs[: len(cluster.inputs) - len(cluster.captured_inputs)]
        given = [self.made.get(one.name, one) for one in arguments]
        call = device_call(captured, cluster.outputs, given, [self.made.get(one.name, one) for one in control])
        self._note(placed, cluster, call)

    def _note(self, placed: Sequence[Any], cluster: _Cluster, call: DeviceCall) -> None:
        for op in placed:
            self.made[op.name] = call.done
        for tensor, output in zip(cluster.outputs, call.outputs, strict=True):
            self.made[tensor.name] = output

    def _cluster(self, graph: Any, placed: Sequence[Any]) -> tuple[_Cluster, list[Any]]:
        """The cluster, and the operators outside that must run before it."""
        own = {op.name for op in placed}
        inputs, handles, constants = _Collected(), _Collected(), _Collected()
        control = _Collected()
        for op in placed:
            for tensor in op.inputs:
                if tensor.op.name in own and tensor.name not in self._fed:
                    continue
                if tensor.op.type == "Const" and tensor.name not in self._fed:
                    constants.add(tensor.op)
                else:
                    (handles if _is_handle(op, tensor) else inputs).add(tensor)
            for before in op.control_inputs:
                if before.name not in own:
                    control.add(before)
        outputs = [one for op in placed for one in op.outputs if one.name in self._read_outside(own)]
        chosen = {one.op.name for one in handles}
        variables = [one for one in _variables(graph) if one.handle.op.name in chosen]
        order = [*constants, *placed]
        return _Cluster(order, [*inputs, *handles], outputs, variables, list(handles)), list(control)

    def _read_outside(self, own: set[str]) -> set[str]:
        """Tensors that are fetched, or that other operators read."""
        others = {one.name for op in self._order if op.name not in own for one in op.inputs}
        return self.read | others

    def _copy(self, graph: Any, host: Sequence[Any]) -> None:
        """Copies of operators of the host that take what is made for others."""
        if not host:
            return
        own = {op.name for op in host}
        source = graph_pb2.GraphDef()
        whole = graph.as_graph_def()
        source.versions.CopyFrom(whole.versions)
        source.library.CopyFrom(whole.library)
        for op in host:
            node = source.node.add()
            node.CopyFrom(op.node_def)
            node.attr.pop("_class", None)
            if "IPU" in node.device:
                node.device = ""
        outside: dict[str, Any] = {}
        for op in host:
            for tensor in op.inputs:
                if tensor.op.name not in own or tensor.name in self._fed:
                    outside[tensor.name] = self.made.get(tensor.name, tensor)
            for before in op.control_inputs:
                if before.name not in own:
                    outside[f"^{before.name}"] = _behind(self.made.get(before.name, before))
        wanted = [*(one.name for op in host for one in op.outputs), *(op.name for op in host)]
        made = tf.graph_util.import_graph_def(source, outside, wanted, name="behind")
        self.made.update(zip(wanted, made, strict=True))


@dataclass
class _Collected:
    """Elements of a graph, each once, in their order."""

    elements: dict[str, Any] = field(default_factory=dict)

    def add(self, element: Any) -> None:
        self.elements.setdefault(element.name, element)

    def __iter__(self) -> Any:
        return iter(self.elements.values())

    def __len__(self) -> int:
        return len(self.elements)


def _behind(op: Any) -> Any:
    """A tensor of an operator, or one that waits for it: what `import_graph_def` takes for control inputs."""
    if op.outputs:
        return op.outputs[0]
    with tf.control_dependencies([op]):
        return tf.constant(0)


def _is_handle(op: Any, tensor: Any) -> bool:
    """Whether an operand is the handle of a variable. Raises CaptureError for what only a session has."""
    if tensor.dtype._is_ref_dtype:
        raise CaptureError(
            f"The operator {op.type} '{op.name}' on {DEVICE} takes '{tensor.op.name}', which is no resource variable; "
            "make it with use_resource=True, as ipu_scope does."
        )
    if tensor.dtype != tf.resource:
        return False
    if tensor.op.type != "VarHandleOp":
        raise CaptureError(
            f"The operator {op.type} '{op.name}' on {DEVICE} takes the resource '{tensor.op.name}', which only the "
            "session has; put the operator on the host by tf.device('cpu')."
        )
    return True


def _variables(graph: Any) -> Iterable[Any]:
    """The resource variables of the graph's collections."""
    names: Callable[[], Sequence[str]] = graph.get_all_collection_keys
    seen: set[int] = set()
    for name in names():
        for one in graph.get_collection_ref(name):
            if id(one) not in seen and isinstance(getattr(one, "handle", None), tf.Tensor):
                seen.add(id(one))
                yield one
