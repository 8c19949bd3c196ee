"""poputil::graphfn: a piece of graph that is reused with other tensors.

The piece is built once, on its own tensors; a call copies the arguments in and the results out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum

from simulator.building.graph import Graph
from simulator.graph.program import Call, Copy, Program
from simulator.graph.program import Sequence as ProgramSequence
from simulator.graph.tensor import Tensor
from simulator.poplibs.poputil.copies import duplicate
from simulator.poplibs.poputil.exceptions import poplibs_error


class ArgType(Enum):
    InputArg = "input"
    OutputArg = "output"
    InOutArg = "inout"
    CreatedArg = "created"


@dataclass(frozen=True)
class ArgSig:
    """One argument: its use, a tensor with its shape and layout (None for created ones), its name."""

    type: ArgType
    similarTensor: Tensor | None
    debugName: str = ""


def input(similar: Tensor, debugName: str = "") -> ArgSig:
    return ArgSig(ArgType.InputArg, similar, debugName)


def inout(similar: Tensor, debugName: str = "") -> ArgSig:
    return ArgSig(ArgType.InOutArg, similar, debugName)


def output(similar: Tensor, debugName: str = "") -> ArgSig:
    return ArgSig(ArgType.OutputArg, similar, debugName)


def created(debugName: str = "") -> ArgSig:
    """An argument that the function creates: it puts the tensor into its list of arguments."""
    return ArgSig(ArgType.CreatedArg, None, debugName)


Signature = Sequence[ArgSig]
Arguments = list[Tensor | None]
_GIVEN = (ArgType.InputArg, ArgType.InOutArg)
_CHANGED = (ArgType.OutputArg, ArgType.InOutArg)


class VoidFunction:
    """A function of tensors: `f(arguments, prog)` builds it once. A call takes a list of arguments; created ones are
    None in it before the call and tensors afterwards.

    inlined: each call contains the programs, instead of a Call of one function."""

    def __init__(
        self,
        graph: Graph,
        sig: Signature,
        f: Callable[[Arguments, ProgramSequence], None],
        inlined: bool = True,
    ) -> None:
        self.graph, self.sig, self.inlined = graph, list(sig), inlined
        self.prog = ProgramSequence()
        self.params: Arguments = [
            None if s.type is ArgType.CreatedArg else graph.clone(_there(s.similarTensor), s.debugName)
            for s in self.sig
        ]
        f(self.params, self.prog)
        for i, (s, param) in enumerate(zip(self.sig, self.params, strict=True)):
            if param is None:
                raise poplibs_error(f"The function did not create its argument {i} ('{s.debugName}').")
        self.func = None if inlined else graph.addFunction(self.prog)

    def __call__(self, args: Arguments, seq: ProgramSequence) -> None:
        if len(args) != len(self.sig):
            raise poplibs_error(f"The function takes {len(self.sig)} arguments, {len(args)} were given.")
        for s, given, param in zip(self.sig, args, self.params, strict=True):
            if s.type in _GIVEN:
                seq.add(Copy(_there(given), _there(param)))
        seq.add(self.prog if self.func is None else Call(self.func))
        for i, (s, param) in enumerate(zip(self.sig, self.params, strict=True)):
            if s.type is ArgType.CreatedArg:
                args[i] = duplicate(self.graph, _there(param), seq, s.debugName)
            elif s.type in _CHANGED:
                seq.add(Copy(_there(param), _there(args[i])))


def _there(tensor: Tensor | None) -> Tensor:
    if tensor is None:
        raise poplibs_error("An argument of the function is missing; only created ones may be None.")
    return tensor


class ProgramFunction:
    """A function whose builder returns the program."""

    def __init__(self, graph: Graph, sig: Signature, f: Callable[[Arguments], Program], inlined: bool = True) -> None:
        self.voidFunc = VoidFunction(graph, sig, lambda args, seq: seq.add(f(args)), inlined)

    def __call__(self, args: Arguments) -> Program:
        seq = ProgramSequence()
        self.voidFunc(args, seq)
        return seq


class TensorFunction:
    """A function whose builder returns a tensor; each call returns a new tensor."""

    def __init__(
        self,
        graph: Graph,
        sig: Signature,
        f: Callable[[Arguments, ProgramSequence], Tensor],
        inlined: bool = True,
    ) -> None:
        def build(args: Arguments, seq: ProgramSequence) -> None:
            args[-1] = f(args[:-1], seq)

        self.voidFunc = VoidFunction(graph, [*sig, created()], build, inlined)

    def __call__(self, args: Arguments, prog: ProgramSequence) -> Tensor:
        extended: Arguments = [*args, None]
        self.voidFunc(extended, prog)
        args[:] = extended[:-1]
        return _there(extended[-1])
