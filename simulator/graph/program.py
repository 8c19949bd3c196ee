"""Control programs: plain trees that the compiler lowers.

A program is not part of a graph until it is compiled or added as a function; it keeps the `DebugContext` of its
creation in `debug`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from collections.abc import Sequence as SequenceOf
from typing import Any, overload

from simulator.base.errors import control_program_error
from simulator.base.types import BOOL, SyncType
from simulator.graph.debug_context import Context, as_context
from simulator.graph.objects import ComputeSet, Function, HostFunction
from simulator.graph.programs.abort import Abort, AbortOnCondition, ErrorProgram
from simulator.graph.programs.base import LibraryGroup, Program, Sequence, checked
from simulator.graph.programs.checks import check_host_call, check_scalar, check_writeable
from simulator.graph.programs.control import If, Loop, Repeat, RepeatWhile, RepeatWhileFalse, RepeatWhileTrue, Switch
from simulator.graph.programs.copies import Copy, CrossReplicaCopy
from simulator.graph.programs.print import FloatFormat, PrintTensor, PrintTensorFmt
from simulator.graph.store import GraphStore
from simulator.graph.tensor import Tensor, require_valid

__all__ = [
    "Abort",
    "AbortOnCondition",
    "AssumeEqualAcrossReplicas",
    "Block",
    "Call",
    "Copy",
    "CrossReplicaCopy",
    "ErrorProgram",
    "Execute",
    "FloatFormat",
    "If",
    "LibraryGroup",
    "Loop",
    "PrintTensor",
    "PrintTensorFmt",
    "Program",
    "Repeat",
    "RepeatWhile",
    "RepeatWhileFalse",
    "RepeatWhileTrue",
    "Sequence",
    "Switch",
    "Sync",
    "SyncType",
    "WriteUndef",
]


class Execute(Program):
    """Run all vertices of a compute set. Afterwards `t`, a scalar of type BOOL, is 1 if the compute() of every vertex
    returned true (or nothing), else 0: the tiles agree through the sync network, and the tile of `t` stores the result.

    Raises `control_program_error` for anything else; `graph_connection_error` for a `t` that cannot be written."""

    @overload
    def __init__(self, cs: ComputeSet, debugContext: Context = "") -> None: ...
    @overload
    def __init__(self, cs: ComputeSet, t: Tensor, debugContext: Context = "") -> None: ...
    def __init__(self, cs: ComputeSet, *arguments: Any, t: Tensor | None = None, debugContext: Context = "") -> None:
        if not isinstance(cs, ComputeSet):
            raise control_program_error(f"Execute needs a compute set from Graph.addComputeSet, got {cs!r}.")
        rest = list(arguments)
        if rest and isinstance(rest[0], Tensor):
            t = rest.pop(0)
        if rest:
            debugContext = rest.pop(0)
        if rest:
            raise control_program_error(f"Execute: {rest[0]!r} is one argument too many; give (cs, t, debugContext).")
        if t is not None:
            check_scalar(t, "Execute: the tensor for what compute() returns", (BOOL,))
            check_writeable(t, "Execute")
        self.compute_set = cs.id
        self.consensus = t
        self.of = cs  #: the handle, which knows its graph
        self.debug = as_context(debugContext)

    def writes(self) -> SequenceOf[Tensor]:
        return () if self.consensus is None else (self.consensus,)


class Call(Program):
    """Call a function made by `Graph.addFunction`, or a host function made by `Graph.addHostFunction`: its inputs go to
    the host, the function connected there runs, and its outputs come back.

    Raises `control_program_error` for anything else, and where tensors do not fit the arguments of the host function
    in number, type, elements or being writeable."""

    @overload
    def __init__(self, f: Function, debugContext: Context = "", /) -> None: ...
    @overload
    def __init__(self, f: Function, *, debugContext: Context) -> None: ...
    @overload
    def __init__(
        self, f: HostFunction, inputs: Iterable[Tensor], outputs: Iterable[Tensor], debugContext: Context = ""
    ) -> None: ...
    def __init__(
        self,
        f: Function | HostFunction,
        inputs: Any = None,
        outputs: Iterable[Tensor] | None = None,
        debugContext: Context = "",
    ) -> None:
        self.function = -1
        self.of: Function | None = None  #: the handle, which knows its graph
        self.host_function: HostFunction | None = None
        self.inputs: list[Tensor] = []
        self.outputs: list[Tensor] = []
        if isinstance(f, HostFunction):
            self.host_function = f
            self.inputs, self.outputs = check_host_call(f, inputs, outputs)
        elif isinstance(f, Function):
            self.function = f.id
            self.of = f
            debugContext = debugContext if inputs is None else inputs
        else:
            raise control_program_error(
                f"Call needs a function from Graph.addFunction or Graph.addHostFunction, got {f!r}."
            )
        self.debug = as_context(debugContext)

    def reads(self) -> SequenceOf[Tensor]:
        return self.inputs

    def writes(self) -> SequenceOf[Tensor]:
        return self.outputs


class WriteUndef(Program):
    """Declare the contents of a tensor dead: its value before the next write is not needed."""

    def __init__(self, t: Tensor, debugContext: Context = "") -> None:
        check_writeable(t, "WriteUndef")
        self.tensor = t
        self.debug = as_context(debugContext)


class AssumeEqualAcrossReplicas(Program):
    """Promise that a tensor has the same value in all replicas from here on, so that programs may branch on it. Takes
    no cycles."""

    def __init__(self, t: Tensor, debugContext: Context = "") -> None:
        if not isinstance(t, Tensor):
            raise control_program_error(f"AssumeEqualAcrossReplicas needs a tensor, got {t!r}.")
        require_valid(t)
        self.tensor = t
        self.debug = as_context(debugContext)


class Block(Program):
    """A program with a name, which reports show as one node. Where profiler.blocks.filter matches the name, lightweight
    profiling records each of its runs (docs/blocks.md)."""

    def __init__(self, program: Program, debugContext: Context = "") -> None:
        self.body = checked(program)
        self.debug = as_context(debugContext)

    def nested(self) -> SequenceOf[Program]:
        return (self.body,)


class Sync(Program):
    """A barrier of the tiles of an IPU (INTERNAL), of the IPUs of a replica (EXTERNAL) or of everything (GLOBAL)."""

    def __init__(self, type: SyncType, debugContext: Context = "") -> None:
        if not isinstance(type, SyncType):
            raise control_program_error(f"Sync needs a SyncType, got {type!r}.")
        self.sync_type = type
        self.debug = as_context(debugContext)


def programs_within(store: GraphStore, programs: Iterable[Program]) -> Iterator[Program]:
    """Every program, each before the programs that it contains, in order; the body of a function once."""
    called: set[int] = set()
    pending = list(programs)[::-1]
    while pending:
        program = pending.pop()
        yield program
        pending.extend(list(program.nested())[::-1])
        if isinstance(program, Call) and program.function >= 0 and program.function not in called:
            called.add(program.function)
            pending.append(store.functions[program.function])
