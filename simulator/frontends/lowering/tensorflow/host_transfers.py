"""Transfers in the middle of a program: elements of queues as stream copies where the program stands, parts that run on
the host as calls of host functions, and sums over replicas."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from simulator.frontends.captured import Operator, operators_within
from simulator.frontends.lowering.cursor import Building
from simulator.frontends.lowering.rules import lowers
from simulator.poplar import Tensor
from simulator.poplar import program as programs
from simulator.poplibs import gcl, poputil

_TRANSFERS = frozenset({"tf.Infeed", "tf.Outfeed", "tf.HostCall"})


def stream_handle(handle: str, number: int) -> str:
    """The stream of one tensor of a queue's elements."""
    return f"{handle}.{number}"


def transfers(operators: Iterable[Operator]) -> Iterator[Operator]:
    """The operators that exchange tensors with the host, those of loops and branches too."""
    return (one for one in operators_within(operators) if one.name in _TRANSFERS)


def _variables(at: Building, handle: str, shapes: Sequence[Sequence[int]], dtypes: Sequence[str]) -> list[Tensor]:
    announced = zip(shapes, dtypes, strict=True)
    return [at.variable(dtype, shape, stream_handle(handle, number)) for number, (shape, dtype) in enumerate(announced)]


@lowers("tf.Infeed", kind="Infeed", call="program::Copy")
def infeed(
    at: Building, handle: str, depth: int, shapes: Sequence[Sequence[int]], dtypes: Sequence[str]
) -> tuple[Tensor, ...]:
    """The next element of a queue; `depth` elements may be prefetched."""
    results = _variables(at, handle, shapes, dtypes)
    for number, tensor in enumerate(results):
        name = stream_handle(handle, number)
        if not at.sends_data or not tensor.numElements():
            continue
        if name not in at.streams:
            options = {"bufferingDepth": str(depth)}
            at.streams[name] = at.graph.addHostToDeviceFIFO(
                name, tensor.elementType(), tensor.numElements(), options=options
            )
        at.program.add(programs.Copy(at.streams[name], tensor, False, at.name(name)))
    return tuple(results)


@lowers("tf.Outfeed", kind="Outfeed", call="program::Copy")
def outfeed(at: Building, handle: str, inputs: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Send an element to a queue."""
    for number, tensor in enumerate(inputs):
        name = stream_handle(handle, number)
        if not at.sends_data or not tensor.numElements():
            continue
        if name not in at.streams:
            at.streams[name] = at.graph.addDeviceToHostFIFO(name, tensor.elementType(), tensor.numElements())
        at.program.add(programs.Copy(tensor, at.streams[name], False, at.name(name)))
    return ()


@lowers("tf.HostCall", kind="HostCall", call="program::Call of a HostFunction")
def host_call(
    at: Building, handle: str, inputs: Sequence[Tensor], shapes: Sequence[Sequence[int]], dtypes: Sequence[str]
) -> tuple[Tensor, ...]:
    """Results of a function of the host."""
    results = _variables(at, handle, shapes, dtypes)
    if not at.sends_data:
        return tuple(results)
    sides = [[(one.elementType(), one.numElements()) for one in side] for side in (inputs, results)]
    function = at.top.addHostFunction(handle, *sides)
    sent, received = [[one.flatten() for one in side] for side in (inputs, results)]
    at.program.add(programs.Call(function, sent, received, at.name()))
    return tuple(results)


@lowers("tf.CrossReplicaSum", kind="ReplicatedAllReduce", call="gcl.allReduceCrossReplica")
def cross_replica_sum(at: Building, x: Tensor, group_size: int | None, is_mean: bool) -> Tensor:
    """The sum or mean over all replicas, or over each group of so many successive ones."""
    kind = gcl.CommGroupType.ALL if group_size is None else gcl.CommGroupType.CONSECUTIVE
    operator = gcl.CollectiveOperator.MEAN if is_mean else gcl.CollectiveOperator.ADD
    group = gcl.CommGroup(kind, group_size or 0)
    total = poputil.duplicate(at.top, x, at.program, at.name("copy"))
    gcl.allReduceInPlaceCrossReplica(at.top, total, operator, at.program, at.name(), group=group)
    return total
