"""All-reduce over replicas: a recursive doubling where their number is a power of two, else along a tree."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence as SequenceOf
from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple, overload

import numpy as np

from simulator.arrays import BoolArray
from simulator.base.errors import invalid_option
from simulator.base.types import UNSIGNED_INT
from simulator.building.graph import Graph
from simulator.graph.debug_context import Context, DebugInfo
from simulator.graph.program import AssumeEqualAcrossReplicas, Copy, CrossReplicaCopy, Sequence
from simulator.graph.tensor import Tensor
from simulator.poplibs.library_calls import operation
from simulator.poplibs.popops.elementwise import binary, unary
from simulator.poplibs.popops.reductions.reduce import Operation, ReduceParams, reduce
from simulator.poplibs.popops.ternary import ternary
from simulator.poplibs.poputil.exceptions import poplibs_error

Options = dict[str, str] | None


class CollectiveOperator(Enum):
    """The operator that combines the values of replicas. MEAN is the sum divided by the number of replicas, SQUARE_ADD
    the sum of squares."""

    ADD = "add"
    MEAN = "mean"
    MUL = "mul"
    MIN = "min"
    MAX = "max"
    LOGICAL_AND = "logical and"
    LOGICAL_OR = "logical or"
    SQUARE_ADD = "square add"


class CommGroupType(Enum):
    """How replicas form groups: all of them one, blocks of neighbours, or every n-th replica."""

    ALL = "all"
    CONSECUTIVE = "consecutive"
    ORTHOGONAL = "orthogonal"


@dataclass(frozen=True)
class CommGroup:
    """Groups of `replicaGroupSize` replicas, which ALL leaves out of account."""

    type: CommGroupType = CommGroupType.ALL
    replicaGroupSize: int = 0

    def size(self, replicas: int) -> int:
        """Replicas of a group. Raises `poplibs_error` for a size that does not divide their number."""
        size = self.replicaGroupSize if self.type is not CommGroupType.ALL else replicas
        if size < 1 or replicas % size:
            raise poplibs_error(f"Groups of {size} replicas do not divide {replicas} replicas.")
        return size

    def groups(self, replicas: int) -> list[int]:
        """The group of each replica."""
        size = self.size(replicas)
        if self.type is CommGroupType.ORTHOGONAL:
            return [replica % (replicas // size) for replica in range(replicas)]
        return [replica // size for replica in range(replicas)]

    def members(self, replicas: int) -> list[list[int]]:
        """The replicas of each group."""
        members: list[list[int]] = [[] for _ in range(replicas // self.size(replicas))]
        for replica, group in enumerate(self.groups(replicas)):
            members[group].append(replica)
        return members

    def places(self, replicas: int) -> list[int]:
        """The place of each replica in its group."""
        size = self.size(replicas)
        if self.type is CommGroupType.ORTHOGONAL:
            return [replica // (replicas // size) for replica in range(replicas)]
        return [replica % size for replica in range(replicas)]

    def ring(self, replicas: int, distance: int) -> dict[int, int]:
        """Each replica sends to the one `distance` further on in its group."""
        return {
            replica: members[(place + distance) % len(members)]
            for members in self.members(replicas)
            for place, replica in enumerate(members)
        }


#: the element-wise operator that combines the values of two replicas
_COMBINE = {
    CollectiveOperator.ADD: "ADD",
    CollectiveOperator.MEAN: "ADD",
    CollectiveOperator.MUL: "MULTIPLY",
    CollectiveOperator.MIN: "MINIMUM",
    CollectiveOperator.MAX: "MAXIMUM",
    CollectiveOperator.LOGICAL_AND: "LOGICAL_AND",
    CollectiveOperator.LOGICAL_OR: "LOGICAL_OR",
    CollectiveOperator.SQUARE_ADD: "ADD",
}


class Rest(NamedTuple):
    """What follows the program in calls of collectives. The group may stand there or not."""

    group: CommGroup
    context: Context
    options: Options


def rest_of(function: str, arguments: SequenceOf[Any], names: Mapping[str, Any]) -> Rest:
    """(group, debugContext, options) of a call. Raises `poplibs_error` for anything else, `invalid_option` for
    options: none is defined."""
    given = list(arguments)
    slots = ["group"] if given and isinstance(given[0], CommGroup) else []
    slots += ["debugContext", "options"]
    values = dict(zip(slots, given, strict=False)) | dict(names)
    unknown = [name for name in names if name not in ("group", "debugContext", "options")]
    options = values.get("options") or {}
    if len(given) > len(slots) or unknown or not isinstance(options, Mapping):
        raise poplibs_error(f"{function}: behind the program stand group (or none), debugContext and options.")
    for name in options:
        raise invalid_option(f"Collectives have no option '{name}'; leave the options out.")
    return Rest(values.get("group") or CommGroup(), values.get("debugContext", ""), values.get("options"))


@overload
def allReduceCrossReplica(
    graph: Graph,
    data: Tensor,
    op: CollectiveOperator,
    prog: Sequence,
    debugContext: Context = "",
    options: Options = None,
    group: CommGroup | None = None,
) -> Tensor: ...
@overload
def allReduceCrossReplica(
    graph: Graph,
    data: Tensor,
    op: CollectiveOperator,
    prog: Sequence,
    group: CommGroup,
    debugContext: Context = "",
    options: Options = None,
) -> Tensor: ...
def allReduceCrossReplica(
    graph: Graph, data: Tensor, op: CollectiveOperator, prog: Sequence, *arguments: Any, **names: Any
) -> Tensor:
    """Append a reduction over all replicas, or over those of each group, to `prog`; returns a new tensor shaped and
    mapped as `data`, equal on all replicas of a group. Raises what `allReduceInPlaceCrossReplica` raises."""
    rest = rest_of("allReduceCrossReplica", arguments, names)
    call = operation(graph, rest.context, "gcl", "allReduceCrossReplica", data=data, op=op.name)
    out = graph.clone(data, (call, "reduced"))
    prog.add(Copy(data, out, False, (call, "copy")))
    allReduceInPlaceCrossReplica(graph, out, op, prog, rest.group, call)
    return out


@overload
def allReduceInPlaceCrossReplica(
    graph: Graph,
    data: Tensor,
    op: CollectiveOperator,
    prog: Sequence,
    debugContext: Context = "",
    options: Options = None,
    group: CommGroup | None = None,
) -> None: ...
@overload
def allReduceInPlaceCrossReplica(
    graph: Graph,
    data: Tensor,
    op: CollectiveOperator,
    prog: Sequence,
    group: CommGroup,
    debugContext: Context = "",
    options: Options = None,
) -> None: ...
def allReduceInPlaceCrossReplica(
    graph: Graph, data: Tensor, op: CollectiveOperator, prog: Sequence, *arguments: Any, **names: Any
) -> None:
    """Append a reduction over all replicas, or over those of each group, into `data` itself. With one replica only
    SQUARE_ADD changes anything.

    A power of two of replicas takes log2 rounds of swapping; other numbers take twice as many copies, to the first of
    the group and back. In both cases all replicas end with the same bits. The order of rounds in Graphcore's library is
    not published. Raises `invalid_option` for options (none is defined), `graph_connection_error` for data that cannot
    be written; `poplibs_error` for groups that do not divide the replicas."""
    rest = rest_of("allReduceInPlaceCrossReplica", arguments, names)
    replicas = graph.getReplicationFactor()
    groups = rest.group.members(replicas)
    size = len(groups[0])
    call = operation(graph, rest.context, "gcl", "allReduceInPlaceCrossReplica", data=data, op=op.name)
    if op is CollectiveOperator.SQUARE_ADD:
        unary(graph, "SQUARE", data, prog, (call, "square"), in_place=True)
    if size == 1:
        return
    received = graph.clone(data, (call, "received"))
    if not size & (size - 1):
        for distance in (1 << k for k in range(size.bit_length() - 1)):
            partners = {members[n]: members[n ^ distance] for members in groups for n in range(size)}
            prog.add(CrossReplicaCopy(data, received, partners, (call, f"swap{distance}")))
            binary(graph, _COMBINE[op], data, received, prog, (call, f"combine{distance}"), in_place=True)
    else:
        _along_a_tree(graph, data, received, op, prog, call, rest.group)
    if op is CollectiveOperator.MEAN:
        binary(graph, "MULTIPLY", data, 1 / size, prog, (call, "mean"), in_place=True)
    if size == replicas:
        prog.add(AssumeEqualAcrossReplicas(data, (call, "equal")))


def _along_a_tree(
    graph: Graph,
    data: Tensor,
    received: Tensor,
    op: CollectiveOperator,
    prog: Sequence,
    call: DebugInfo,
    group: CommGroup,
) -> None:
    """Combine towards the first of each group over distances 1, 2, 4 ..., and send its result back along the same
    edges. Every replica sends in every round, because all run one program, and ignores values that it does not need."""
    replicas = graph.getReplicationFactor()
    size, numbers = group.size(replicas), np.array(group.places(replicas))
    distances = [1 << k for k in range((size - 1).bit_length())]
    for distance in distances:
        prog.add(CrossReplicaCopy(data, received, group.ring(replicas, -distance), (call, f"gather{distance}")))
        name = (call, f"combine{distance}")
        whole = graph.clone(data, (call, f"combined{distance}"))
        prog.add(Copy(data, whole, False, name))
        binary(graph, _COMBINE[op], whole, received, prog, name, in_place=True)
        takes = (numbers % (2 * distance) == 0) & (numbers + distance < size)
        take_on_replicas(graph, data, whole, takes, prog, call, f"combine{distance}")
    for distance in reversed(distances):
        prog.add(CrossReplicaCopy(data, received, group.ring(replicas, distance), (call, f"hand{distance}")))
        takes = numbers % (2 * distance) == distance
        take_on_replicas(graph, data, received, takes, prog, call, f"take{distance}")


def take_on_replicas(
    graph: Graph, data: Tensor, other: Tensor, replicas: BoolArray, prog: Sequence, call: DebugInfo, step: str
) -> None:
    """Replace `data` by `other` on the replicas of a mask."""
    name = (call, step)
    index = graph.addReplicationIndexConstant((call, f"{step}/index"))
    graph.setTileMapping(index, 0)
    wanted = np.flatnonzero(replicas).astype(np.uint32)
    listed = graph.addConstant(UNSIGNED_INT, [len(wanted)], wanted, (call, f"{step}/replicas"))
    graph.setTileMapping(listed, 0)
    same = binary(graph, "EQUAL", listed, index, prog, name, in_place=False)
    chosen = reduce(graph, same, [0], ReduceParams(Operation.LOGICAL_OR), prog, name)
    others = unary(graph, "LOGICAL_NOT", chosen, prog, name, in_place=False)
    ternary(graph, "SELECT", (data, other, others), prog, name, in_place=True)
