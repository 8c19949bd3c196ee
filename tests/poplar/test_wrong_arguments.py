"""Every public function and method of graphs, programs, engines and devices, with a value of each wrong type in the
place of each parameter: one sentence of a poplar_error comes out, and the graph is as it was."""

from __future__ import annotations

import inspect
import io
import os
import weakref
from collections.abc import Callable, Iterator
from enum import Enum
from functools import cache, cached_property
from pathlib import Path
from typing import Any, get_overloads

import numpy as np
import pytest

import simulator.poplar as poplar
from simulator.codelets.vertex import Input, Output, Vector, VectorList, Vertex
from simulator.poplar import (
    FLOAT,
    INT,
    QUARTER_METADATA,
    CodeletFileType,
    DataStreamType,
    Engine,
    FloatingPointBehaviour,
    FunctionBufferMappingType,
    Graph,
    Interval,
    IPUModel,
    Preallocations,
    QuarterMetadata,
    ReplicatedStreamMode,
    SerializationFormat,
    SyncType,
    TargetType,
    Tensor,
    TensorCloneDuplicationMethod,
    TensorCloneMethod,
    TensorRearranger,
    TypeTraits,
    UpsampleMethod,
    VariableMappingMethod,
    VertexPerfEstimate,
    concat,
    graph_connection_error,
    poplar_error,
    program,
    type_error,
)
from simulator.poplar.program import (
    Call,
    Copy,
    Execute,
    FloatFormat,
    PrintTensorFmt,
    Program,
    Sequence,
    Switch,
    WriteUndef,
)
from simulator.poplibs import popops
from tests.poplar.graph_state import state_of


class Adds(Vertex):
    x = Input(Vector(FLOAT))
    rows = Input(VectorList(FLOAT))
    n = INT
    out = Output(FLOAT)

    def compute(self) -> None:
        self.out = self.x.sum()


class World:
    """A graph with one object of each kind; attributes are the values of parameters."""

    def __init__(self) -> None:
        model = IPUModel("ipu2")
        model.tilesPerIPU = 4
        self.device = model.createDevice()
        g = self.graph = Graph(self.device)
        g.addCodelets(Adds)
        self.tensor = g.addVariable(FLOAT, [4, 1], "x")
        self.vector = g.addVariable(FLOAT, [4], "v")
        self.scalar = g.addVariable(INT, [], "i")
        self.flag = g.addVariable(poplar.BOOL, [], "b")
        self.metadata = g.addVariable(QUARTER_METADATA, [], "m")
        for t in (self.tensor, self.vector, self.scalar, self.flag, self.metadata):
            g.setTileMapping(t, 0)
        self.set = g.addComputeSet("cs")
        self.vertex = g.addVertex(self.set, "Adds")
        self.field = self.vertex["x"]
        self.program = Sequence(Execute(self.set))
        self.function = g.addFunction(self.program)
        self.buffer = g.addFunctionBuffer(self.function, FunctionBufferMappingType.REMOTE)
        self.stream = g.addHostToDeviceFIFO("in", FLOAT, 4)
        self.remote = g.addRemoteBuffer("remote", FLOAT, 4)
        self.host = g.addHostFunction("host", [(FLOAT, 4)], [(FLOAT, 4)])
        self.info = g.addDebugInfo("info", "layer")
        self.rearranger = g.getSimplifyingRearranger(self.tensor)
        self.variable = self.tensor.getVarRegions()[0].var
        self.file = Path(os.devnull).open()  # noqa: SIM115
        weakref.finalize(self, self.file.close)

    @cached_property
    def engine(self) -> Engine:
        """An engine with a tensor, a stream, a remote buffer and a host function, loaded."""
        g = Graph(self.device)
        x = g.addVariable(FLOAT, [4], "x")
        g.setTileMapping(x, 0)
        g.createHostRead("x", x)
        g.createHostWrite("x", x)
        out, remote = g.addDeviceToHostFIFO("out", FLOAT, 4), g.addRemoteBuffer("remote", FLOAT, 4)
        host = g.addHostFunction("host", [(FLOAT, 4)], [])
        engine = Engine(g, Sequence(Copy(x, out), Copy(x, remote), Call(host, [x], [])))
        engine.load(self.device)
        return engine

    @cached_property
    def executable(self) -> poplar.Executable:
        return poplar.compileGraph(Graph(self.device), Sequence())

    @cached_property
    def module(self) -> poplar.Module:
        g = Graph(self.device)
        x = g.addExternalVariable(FLOAT, [4], "table")
        return poplar.compileModule(g, WriteUndef(x), Preallocations({"table": 0}))


#: kind of value -> how to make one
VALUES: dict[str, Callable[[World], Any]] = {
    "whole": lambda w: 1,
    "fraction": lambda w: 1.5,
    "text": lambda w: "text",
    "truth": lambda w: True,
    "none": lambda w: None,
    "thing": lambda w: object(),
    "wholes": lambda w: [0],
    "things": lambda w: [object()],
    "nested": lambda w: [[object()]],
    "dict": lambda w: {"a": object()},
    "function": lambda w: lambda: None,
    "class": lambda w: int,
    "type": lambda w: FLOAT,
    "choice": lambda w: Kind.OTHER,
    "tensor": lambda w: w.tensor,
    "vertex": lambda w: w.vertex,
    "field": lambda w: w.field,
    "set": lambda w: w.set,
    "program": lambda w: w.program,
    "stream": lambda w: w.stream,
    "remote": lambda w: w.remote,
    "calls": lambda w: w.function,
    "device": lambda w: w.device,
    "info": lambda w: w.info,
    "graph": lambda w: w.graph,
    "iterator": lambda w: iter([object()]),
    "array": lambda w: np.zeros((3, 3)),
    "number array": lambda w: np.array(3),
    "ragged": lambda w: [[1, 2], [3]],
    "complex": lambda w: 1 + 2j,
    "huge": lambda w: 2**63,
    "file": lambda w: w.file,
    "mixed": lambda w: [0, 0, object()],
}


class Kind(Enum):
    OTHER = 1


ANY = frozenset(VALUES)

#: annotation -> (a right value, the kinds above that are right too)
RIGHT: dict[str, tuple[Callable[[World], Any], set[str] | frozenset[str]]] = {
    "Any": (lambda w: 1, ANY),
    "int": (lambda w: 0, {"whole", "truth"}),
    "int | None": (lambda w: 0, {"whole", "truth", "none"}),
    "float": (lambda w: 1.5, {"whole", "truth", "fraction"}),
    "bool": (lambda w: True, {"truth"}),
    "bool | None": (lambda w: True, {"truth", "none"}),
    "str": (lambda w: "name", {"text"}),
    "Context": (lambda w: "name", {"text", "info", "none"}),
    "Type": (lambda w: FLOAT, {"type"}),
    "Shape": (lambda w: [2], {"wholes"}),
    "Tensor": (lambda w: w.tensor, {"tensor"}),
    "Tensor | None": (lambda w: w.tensor, {"tensor", "none"}),
    "FieldRef": (lambda w: w.field, {"field"}),
    "VertexRef": (lambda w: w.vertex, {"vertex"}),
    "ComputeSet": (lambda w: w.set, {"set"}),
    "Program": (lambda w: w.program, {"program"}),
    "Sequence": (lambda w: w.program, {"program"}),
    "Program | None": (lambda w: w.program, {"program", "none"}),
    "Iterable[Program]": (lambda w: [w.program], set()),
    "Sequence[Program]": (lambda w: [w.program], set()),
    "Sequence[int]": (lambda w: [0], {"wholes"}),
    "Sequence[Tensor]": (lambda w: [w.tensor], set()),
    "SequenceOf[Tensor]": (lambda w: [w.tensor], set()),
    "Iterable[Tensor]": (lambda w: [w.vector], set()),
    "Sequence[tuple[int, int]]": (lambda w: [(0, 1)], set()),
    "Sequence[Sequence[tuple[int, int]]]": (lambda w: [[(0, 1)]], set()),
    "Sequence[int | Interval | Sequence[Interval]]": (lambda w: [Interval(0, 1)], {"wholes"}),
    "Interval": (lambda w: Interval(0, 1), set()),
    "Mapping[int, int]": (lambda w: {0: 1}, set()),
    "Mapping[str, Any] | None": (lambda w: {}, {"none"}),
    "Mapping[str, FieldEdges | Tensor]": (lambda w: {}, set()),
    "dict[str, Any] | None": (lambda w: {}, {"none", "dict"}),
    "Int64Array": (lambda w: np.array([0]), {"wholes"}),
    "Int64Array | None": (lambda w: None, {"wholes", "none"}),
    "npt.ArrayLike": (lambda w: [0], {"wholes", "whole", "truth"}),
    "Cases": (lambda w: [(0, w.program)], set()),
    "Connections": (lambda w: {}, set()),
    "str | DebugInfo | DebugNameAndId": (lambda w: "name", {"text", "info"}),
    "DebugInfo | DebugNameAndId | None": (lambda w: w.info, {"info", "none"}),
    "DebugInfo | None": (lambda w: w.info, {"info", "none"}),
    "SourceLocation | None": (lambda w: None, {"none"}),
    "Callable[..., Any]": (lambda w: lambda: 1, {"function", "class"}),
    "Callable[[Any, Target], VertexPerfEstimate | int]": (lambda w: lambda v, t: 1, {"function", "class"}),
    "Codelets": (lambda w: Adds, set()),
    "Sequence[Any]": (lambda w: [Adds], set()),
    "str | VertexType": (lambda w: "Adds", set()),
    "Stream": (lambda w: io.StringIO(""), {"file"}),
    "Output": (lambda w: io.StringIO(), {"file"}),
    "CodeletFileType": (lambda w: CodeletFileType.Auto, set()),
    "DataStream": (lambda w: w.stream, {"stream"}),
    "RemoteBuffer": (lambda w: w.remote, {"remote"}),
    "Function": (lambda w: w.function, {"calls"}),
    "HostFunction": (lambda w: w.host, set()),
    "FunctionBuffer | Function": (lambda w: w.buffer, {"calls"}),
    "Graph": (lambda w: w.graph, {"graph"}),
    "TypeTraits": (lambda w: TypeTraits.make(np.float32), set()),
    "VariableRef": (lambda w: w.variable, set()),
    "VertexPerfEstimate": (lambda w: VertexPerfEstimate(1), set()),
    "PrintTensorFmt": (lambda w: PrintTensorFmt(), set()),
    "FloatingPointBehaviour": (lambda w: FloatingPointBehaviour(), set()),
    "Iterable[int]": (lambda w: [0], {"wholes"}),
    "FloatingPointBehaviour | Tensor": (lambda w: FloatingPointBehaviour(), set()),
    "QuarterMetadata": (lambda w: QuarterMetadata(), set()),
    "QuarterMetadata.Format": (lambda w: QuarterMetadata.Format.F143, set()),
    "Iterable[tuple[Type, int]]": (lambda w: [(FLOAT, 1)], set()),
    "Iterable[HostFunctionArgument]": (lambda w: [(FLOAT, 1)], set()),
    "Target": (lambda w: w.device.getTarget(), set()),
    "Target | None": (lambda w: w.device.getTarget(), {"none"}),
    "Device": (lambda w: w.device, {"device"}),
    "Device | None": (lambda w: w.device, {"device", "none"}),
    "TargetType | None": (lambda w: TargetType.IPU, {"none"}),
    "Mapping[str, str] | None": (lambda w: {}, {"none"}),
    "Iterable[Program] | Program": (lambda w: w.program, {"program"}),
    "ProgressFunc | None": (lambda w: None, {"none", "function", "class"}),
    "Preallocations": (lambda w: Preallocations(), set()),
    "Executable": (lambda w: w.executable, set()),
    "Module": (lambda w: w.module, set()),
    "ErrorCode": (lambda w: poplar.ErrorCode.TRAP, set()),
    "ErrorLocation": (lambda w: poplar.ErrorLocation(0, 0), set()),
    "RuntimeOptions": (lambda w: poplar.RuntimeOptions(), set()),
    "RuntimeOptions | None": (lambda w: None, {"none"}),
    "TimerTimePoint": (lambda w: w.engine.getTimeStamp(), set()),
    "IO[str]": (lambda w: io.StringIO(), {"file"}),
    "IO[bytes]": (lambda w: io.BytesIO(), {"file"}),
    "TextIO": (lambda w: io.StringIO(), {"file"}),
    "list[QuarterMetadata]": (lambda w: [QuarterMetadata()], set()),
    "str | Mapping[str, Any]": (lambda w: "debug.trace", {"text"}),
    "Mapping[str, Any] | Iterable[tuple[str, Any]]": (lambda w: {}, set()),
    "int | Iterable[tuple[Any, ...]]": (lambda w: 0, {"whole", "huge"}),
    "Mapping[str, Any]": (lambda w: {}, set()),
    **{
        kind.__name__: (lambda w, kind=kind: next(iter(kind)), set())
        for kind in (
            DataStreamType,
            FloatFormat,
            FunctionBufferMappingType,
            ReplicatedStreamMode,
            SerializationFormat,
            SyncType,
            TensorCloneDuplicationMethod,
            TensorCloneMethod,
            UpsampleMethod,
            VariableMappingMethod,
        )
    },
}

#: annotation -> kinds that have its type, and that only some of the calls take: the others refuse them by a sentence.
TAKEN_BY_SOME: dict[str, set[str]] = {
    **{each: {"huge", "number array"} for each in ("int", "int | None", "float")},
    "npt.ArrayLike": {"huge", "array", "number array"},
}

#: parameter -> the same, where its annotation says less than its text
BY_NAME: dict[str, tuple[Callable[[World], Any], set[str]]] = {
    "Graph.outputVertexGraph.outputStream": (lambda w: io.StringIO(), set()),
    "Graph.outputComputeGraph.outputStream": (lambda w: io.StringIO(), set()),
    "Graph.serialize.out": (lambda w: io.StringIO(), set()),
    "Graph.serializeTensors.out": (lambda w: io.StringIO(), set()),
    "Graph.deserializeTensors.in_": (lambda w: io.BytesIO(), set()),
    "Graph.addCodeletPlaceholder.stream": (lambda w: io.StringIO("[]"), set()),
    "Graph.addConstant.values": (
        lambda w: 1,
        {"whole", "fraction", "truth", "wholes", "huge", "array", "number array"},
    ),
    "Graph.addConstant.val": (lambda w: 1, {"whole", "fraction", "truth", "wholes", "huge", "array", "number array"}),
    "Graph.addConstantHalf.val": (lambda w: 1, {"whole", "wholes", "huge", "array", "number array"}),
    "Graph.setInitialValue.val": (
        lambda w: 1,
        {"whole", "fraction", "truth", "wholes", "huge", "array", "number array"},
    ),
    "Graph.setInitialValueHalf.val": (lambda w: 1, {"whole", "wholes", "huge", "array", "number array"}),
    "Graph.connect.v": (lambda w: w.vector, {"tensor", "field", "wholes"}),
    "Graph.outputVertexGraph.progs": (lambda w: [w.program], {"program"}),
    "Graph.outputComputeGraph.progs": (lambda w: [w.program], {"program"}),
    "Graph.serialize.progs": (lambda w: [w.program], {"program"}),
    "Sequence.programs": (lambda w: w.program, {"program", "text"}),
    "DebugContext.name": (lambda w: "name", {"text", "info", "none"}),
    "concat.dimension": (lambda w: 0, {"whole", "truth", "none", "huge", "number array"}),
    "Tensor.slice.end": (lambda w: 1, {"whole", "truth", "none", "wholes", "huge", "number array"}),
    "Tensor.slice.dimension": (lambda w: 0, {"whole", "truth", "none", "huge", "number array"}),
    "Copy.src": (lambda w: w.vector, {"tensor", "stream"}),
    "Copy.buffer": (lambda w: w.remote, {"remote", "stream"}),
    "Graph.getSortedContiguousRegions.aliases": (lambda w: True, {"truth", "none"}),
    "Graph.getTileMapping.isComplete": (lambda w: True, {"truth", "none"}),
    "Copy.dst": (lambda w: w.vector, {"tensor"}),
    "RuntimeOptions.environment": (lambda w: {}, {"none", "dict"}),
    "Copy.offset": (lambda w: w.scalar, {"tensor"}),
    **{
        f"{call}.{name}": (make, {kind})
        for call in ("Engine", "compileGraph", "compileModule", "dumpProgram")
        for name, make, kind in (
            ("graph", lambda w: Graph(w.device), "graph"),
            ("prog", lambda w: Sequence(), "program"),
            ("progs", lambda w: [Sequence()], "program"),
        )
    },
}

#: class -> one of it, whose methods are called
OBJECTS: dict[type, Callable[[World], Any]] = {
    Graph: lambda w: w.graph,
    Tensor: lambda w: w.tensor,
    TensorRearranger: lambda w: w.rearranger,
    Preallocations: lambda w: Preallocations(),
    Sequence: lambda w: Sequence(),
    Switch: lambda w: Switch(w.scalar),
    QuarterMetadata: lambda w: QuarterMetadata(),
    poplar.VertexRef: lambda w: w.vertex,
    poplar.FieldRef: lambda w: w.field,
    Engine: lambda w: w.engine,
    poplar.ModuleRuntime: lambda w: poplar.ModuleRuntime(w.module),
    poplar.Module: lambda w: w.module,
    poplar.Device: lambda w: w.device,
    poplar.DeviceManager: lambda w: poplar.DeviceManager(),
    poplar.Target: lambda w: w.device.getTarget(),
    IPUModel: lambda w: IPUModel(),
    poplar.OptionFlags: lambda w: poplar.OptionFlags(),
}

#: Methods for our compiler and library, beyond Poplar: their arguments are our own.
OURS = {"LibraryGroup", "Switch.branch_of", "Target.with_tiles", "Target.of_replica", "Executable.take_folder"}


def functions() -> Iterator[tuple[str, Callable[[World], Any], Any]]:
    """(name, how to get it, the function that is annotated) of everything that is called below."""
    for module in (poplar, program):
        for name in module.__all__:
            made = getattr(module, name)
            if inspect.isfunction(made) and inspect.unwrap(made).__module__.startswith(
                ("simulator.graph", "simulator.building", "simulator.base.types", "simulator.engine")
            ):
                yield name, lambda w, made=made: made, made
            elif inspect.isclass(made) and issubclass(made, Program) and made is not Program and name not in OURS:
                yield name, lambda w, made=made: made, made.__init__
            elif made in VALUE_CLASSES:
                yield name, lambda w, made=made: made, made.__new__ if issubclass(made, tuple) else made.__init__
    for cls, instance in OBJECTS.items():
        for name, member in inspect.getmembers(cls):
            annotated = getattr(member, "__wrapped__", member)
            if name.startswith("_") or not inspect.isfunction(annotated) or f"{cls.__name__}.{name}" in OURS:
                continue
            yield f"{cls.__name__}.{name}", lambda w, i=instance, name=name: getattr(i(w), name), annotated


#: Values that programs write down; `VertexPerfEstimate` and `SourceLocation` are checked by the calls that take them.
VALUE_CLASSES = (Interval, PrintTensorFmt, FloatingPointBehaviour, Preallocations)
VALUE_CLASSES += (poplar.DebugContext, poplar.DebugNameAndId, Engine, IPUModel, poplar.ModuleRuntime)
VALUE_CLASSES += (poplar.OptionFlags, poplar.RuntimeOptions)
CALLS = {name: (get, form) for name, get, form in functions()}


@cache
def forms(name: str) -> list[inspect.Signature]:
    _, annotated = CALLS[name]
    annotated = inspect.unwrap(annotated)
    return [inspect.signature(form) for form in get_overloads(annotated) or [annotated]]


def right(name: str, parameter: inspect.Parameter) -> tuple[Callable[[World], Any], set[str] | frozenset[str]]:
    return BY_NAME.get(f"{name}.{parameter.name}") or RIGHT[str(parameter.annotation)]


def attempts(name: str, w: World) -> Iterator[tuple[str, list[Any], dict[str, Any], bool]]:
    """(what is wrong, arguments, named arguments, whether the call may take them) for every parameter of every
    overload."""
    for form in forms(name):
        parameters = [p for p in form.parameters.values() if p.name not in ("self", "cls")]
        for wrong in parameters:
            _, kinds = right(name, wrong)
            for kind in VALUES.keys() - kinds:
                arguments: list[Any] = []
                names: dict[str, Any] = {}
                for p in parameters:
                    value = (VALUES[kind] if p is wrong else right(name, p)[0])(w)
                    if p.kind is p.KEYWORD_ONLY or (p.kind is p.VAR_KEYWORD and p is not wrong):
                        names.update({p.name: value} if p.kind is p.KEYWORD_ONLY else {})
                    elif p.kind is not p.VAR_KEYWORD:
                        arguments.append(value)
                if not any(suits(name, other, arguments, names, kind, w) for other in forms(name)):
                    may = kind in TAKEN_BY_SOME.get(str(wrong.annotation), ())
                    yield f"{name}{form}: {wrong.name} = {kind}", arguments, names, may


def suits(name: str, form: inspect.Signature, arguments: list[Any], names: dict[str, Any], kind: str, w: World) -> bool:
    """Whether an overload takes the arguments, one of which is of a kind that another overload does not take."""
    unbound = [None] if next(iter(form.parameters), "") in ("self", "cls", "_cls") else []
    try:
        bound = form.bind(*unbound, *arguments, **names)
    except TypeError:
        return False
    wrong = VALUES[kind](w)
    for p, value in list(bound.arguments.items())[len(unbound) :]:
        make, kinds = right(name, form.parameters[p])
        for each in value if form.parameters[p].kind is inspect.Parameter.VAR_POSITIONAL else [value]:
            known = [make(w), *(VALUES[one](w) for one in kinds)]
            if not any(type(each) is type(one) for one in known) or (type(each) is type(wrong) and kind not in kinds):
                return False
    return True


@pytest.mark.parametrize("name", CALLS)
def test_a_wrong_argument_is_one_sentence(name: str) -> None:
    w = World()
    before = state_of(w.graph)
    faults = []
    for what, arguments, names, may in attempts(name, w):
        try:
            CALLS[name][0](w)(*arguments, **names)
        except poplar_error as error:
            if "\n" in str(error) or not str(error):
                faults.append(f"{what}: {error!r}")
        except Exception as error:
            faults.append(f"{what}: {type(error).__name__}: {error}")
        else:
            faults += [] if may else [f"{what}: accepted"]
            w = World()
            before = state_of(w.graph)
        if state_of(w.graph) != before:
            faults.append(f"{what}: the graph has changed")
            w = World()
            before = state_of(w.graph)
    assert faults == []


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda w: w.graph.connect(w.vertex, w.vector),
            graph_connection_error,
            "connect has no overload for (VertexRef",
        ),
        (lambda w: w.graph.connect(w.field, 3.5), graph_connection_error, "needs a tensor of rank 1, got shape []."),
        (lambda w: w.graph.addVertex(w.set, 3), type_error, "vertexType must be a string or a VertexType, not 3."),
        (lambda w: w.graph.serialize(io.StringIO(), [3], SerializationFormat.JSON), poplar_error, "[3]"),
        (lambda w: Interval(1.5, 2), type_error, "Interval: begin and end must be whole numbers, not 1.5 and 2."),
        (
            lambda w: w.graph.getSortedContiguousRegions(w.tensor, [3]),
            type_error,
            "regions must be a list of (a whole number, a whole number), not [3].",
        ),
        (
            lambda w: w.tensor.reshape("x"),
            type_error,
            "Tensor.reshape: shape must be a list of whole numbers, not 'x'.",
        ),
        (lambda w: w.tensor.slice(0.5, 2), type_error, "Tensor.slice: begin must be a whole number, not 0.5."),
        (lambda w: w.tensor["x"], poplar_error, "'x' is no index of a tensor"),
        (lambda w: concat(3), type_error, "concat: "),
        (lambda w: w.graph.addComputeSet(name="x"), type_error, "it takes (debugContext='')."),
    ],
)
def test_the_sentence_names_the_parameter_and_what_it_takes(
    call: Callable[[World], object], error: type[poplar_error], message: str
) -> None:
    with pytest.raises(error) as caught:
        call(World())
    assert message in str(caught.value)
    assert str(caught.value).endswith(".")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda w: w.tensor.slices(np.array(3)), "array(3)"),
        (lambda w: w.tensor.expand(iter(["x"])), "'x' is not a place"),
        (lambda w: w.graph.reorderToSimplify(w.tensor.flatten(), iter([3])), "3"),
        (lambda w: w.graph.outputComputeGraph(io.StringIO(), iter([3])), "3 is not a program"),
        (lambda w: w.graph.outputVertexGraph(io.StringIO(), iter([3])), "3 is not a program"),
        (lambda w: w.graph.getSortedContiguousRegions(w.tensor, iter([3])), "3 is not an interval"),
        (lambda w: w.graph.cloneN(w.tensor, 2**40), "copies of"),
        (lambda w: w.tensor.broadcast(2**40, 0), "are more than 4294967295"),
        (lambda w: w.tensor.upsample(2**40, 0), "are more than 4294967295"),
        (lambda w: w.tensor.reshape(np.zeros((2, 2))), "not array([[0., 0.], [0., 0.]])."),
        (lambda w: w.graph.setInitialValue(w.tensor, 1 + 2j), "(1+2j) is a complex number"),
        (lambda w: w.graph.addConstant(poplar.FLOAT, [2], [1j, 2]), "complex number"),
        (lambda w: w.graph.setInitialValue(w.tensor, [[1, 2], [3]]), "lists of different lengths"),
        (lambda w: w.graph.addConstantHalf(poplar.HALF, [2], [[1, 2], [3]]), "lists of different lengths"),
        (lambda w: w.graph.addConstant(poplar.FLOAT, [4], [1, 2, 3, "x"]), "'x' is not a value of type float"),
        (lambda w: w.graph.setTileMapping(w.tensor, np.zeros((3, 3))), "is neither a tile number"),
        (lambda w: w.graph.addVariable(poplar.FLOAT, np.zeros((2, 2))), "is not a shape"),
        (lambda w: popops.reduce(w.graph, w.tensor, np.array(0), popops.Operation.ADD, Sequence()), "array(0)"),
    ],
)
def test_iterators_arrays_and_lists_of_another_kind_are_one_sentence(
    call: Callable[[World], object], message: str
) -> None:
    with pytest.raises(poplar_error) as caught:
        call(World())
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_values_that_print_over_several_lines_stand_on_one() -> None:
    with pytest.raises(poplar_error, match=r"^array\(\[\[1\., 1\.\], \[1\., 1\.\]\]\) is not a tile"):
        World().graph.convertTileToTopLevelGraphTile(np.ones((2, 2)))  # type: ignore[arg-type]


def test_the_graph_of_programs_takes_an_iterator() -> None:
    w = World()
    listed, iterated = io.StringIO(), io.StringIO()
    w.graph.outputComputeGraph(listed, [Sequence()])
    w.graph.outputComputeGraph(iterated, iter([Sequence()]))
    assert listed.getvalue() == iterated.getvalue()


def test_a_mistake_of_our_own_is_not_put_on_the_arguments(monkeypatch: pytest.MonkeyPatch) -> None:
    w = World()
    monkeypatch.delattr(w.graph.store, "compute_set_names")
    with pytest.raises(AttributeError, match="compute_set_names"):
        w.graph.addComputeSet("right")


def test_a_field_is_not_iterated_over() -> None:
    w = World()
    for handle in (w.vertex, w.field):
        with pytest.raises(TypeError):
            list(handle)
