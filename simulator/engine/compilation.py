"""compileGraph and compileModule: compile a graph and its programs for an engine, or one program for another runtime.

Compilation copies the columns of the graph that it changes, so a graph stays as it is, and Poplar's second form for
graphs that are given away (`std::move` in C++) is not needed. Streams and remote buffers are checked against the limits
of the host's memory.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, overload

from popvision import pvti
from simulator.base.errors import (
    control_program_error,
    graph_memory_allocation_error,
    graph_program_compilation_error,
    invalid_option,
    poplar_error,
    stream_memory_allocation_error,
)
from simulator.base.log import Level, log
from simulator.base.options.table import RUNTIME_TABLE
from simulator.base.overloads import Overloads, Parameter, instance_of, other_than
from simulator.base.target import TargetType
from simulator.base.wrong_arguments import refuses_wrong_arguments
from simulator.building.graph import Graph
from simulator.compiler.compile import PHASES, compile_graph
from simulator.compiler.compiled_graph import CompiledGraph
from simulator.compiler.ir.program_visits import all_programs
from simulator.compiler.lowering.host_messages import elements_of_transfer
from simulator.engine.dumps import dump_lowered_variables, save_vertex_graph
from simulator.engine.executable import Executable
from simulator.engine.module import Module
from simulator.engine.options import resolve
from simulator.engine.prepared_device import out_of_memory_error
from simulator.engine.progress import progress_thread, say
from simulator.graph.debug_context import Context, as_context
from simulator.graph.objects import DataStream, RemoteBuffer
from simulator.graph.preallocations import Preallocations
from simulator.graph.program import Copy, PrintTensor, Program
from simulator.graph.store import GraphStore
from simulator.machine.host_exchange import REMOTE_ROW_ALIGNMENT
from simulator.runtime.values.numeric_plan import NumericPlan

# Limits of the host's memory. Sources: "The maximum buffer size for each stream is 128 MBytes" (Poplar's page on
# DataStream; published errors speak of binary megabytes), the same seen of one transfer of a remote buffer, and 16 GiB
# for all remote buffers of a system without target.extendedMemory. Rows of remote buffers count with their padding
# (`machine.host_exchange`).

#: Bytes of one transfer.
TRANSFER_BYTES = 128 << 20

#: Bytes of all remote buffers of a system.
REMOTE_BYTES = 16 << 30


def check_host_memory(store: GraphStore, programs: Iterable[Program], *, extended: bool) -> None:
    """Raise stream_memory_allocation_error for streams and remote buffers beyond the limits; `extended`:
    target.extendedMemory."""
    size = store.replicas * sum(buffer.repeats * _row_bytes(buffer) for buffer in store.remote_buffers)
    if size > REMOTE_BYTES and not extended:
        raise stream_memory_allocation_error(
            f"The remote buffers need {size} bytes, more than {REMOTE_BYTES} (16 GiB); set target.extendedMemory to "
            "true, or use smaller ones."
        )
    for program in all_programs([*programs, *store.functions]):
        if isinstance(program, Copy):
            for end in (program.source, program.destination):
                if isinstance(end, DataStream) and end.store is store:
                    _check_stream(store, end)
                elif isinstance(end, RemoteBuffer):
                    _check_rows(end, program)


def _check_stream(store: GraphStore, stream: DataStream) -> None:
    size = elements_of_transfer(stream, store.streams) * stream.elementType().size
    if size > TRANSFER_BYTES:
        raise stream_memory_allocation_error(
            f"Stream '{stream.name}' needs a buffer of {size} bytes, more than {TRANSFER_BYTES} (128 MiB); set its "
            "option splitLimit to what fits, or leave it out."
        )


def _row_bytes(buffer: RemoteBuffer) -> int:
    """Bytes of a row with its padding."""
    return -(-buffer.count * buffer.type.size // REMOTE_ROW_ALIGNMENT) * REMOTE_ROW_ALIGNMENT


def _check_rows(buffer: RemoteBuffer, copy: Copy) -> None:
    rows = 1 if copy.offset is None else copy.offset.numElements()
    size = rows * _row_bytes(buffer)
    if size > TRANSFER_BYTES:
        raise stream_memory_allocation_error(
            f"A copy of remote buffer '{buffer.name}' moves {size} bytes at a time ({rows} rows), more than "
            f"{TRANSFER_BYTES} (128 MiB); make several copies of fewer or shorter rows."
        )


_channel = pvti.channel("Poplar Compiler")

ProgressFunc = Callable[[int, int], None]

_OPTIONS = (
    Parameter("opt", other_than(bool, Preallocations), None),
    Parameter("progressCallBack", None, None),
    Parameter("debugContext", None, ""),
)
_PLACES = Parameter("preallocations", instance_of(Preallocations))
_CHECK = Parameter("checkOptionFlags", instance_of(bool))
_GRAPH = (Parameter("graph", None), Parameter("progs", None))
_COMPILE = Overloads(
    "compileGraph",
    poplar_error,
    (
        (*_GRAPH, *_OPTIONS),
        (*_GRAPH, _CHECK, *_OPTIONS),
        (*_GRAPH, _PLACES, *_OPTIONS),
        (*_GRAPH, _PLACES, _CHECK, *_OPTIONS),
    ),
)
_ONE = (Parameter("graph", None), Parameter("prog", None))
_MODULE = Overloads("compileModule", poplar_error, ((*_ONE, *_OPTIONS), (*_ONE, _PLACES, *_OPTIONS)))


@overload
def compileGraph(
    graph: Graph,
    progs: Iterable[Program] | Program,
    opt: Mapping[str, Any] | None = None,
    progressCallBack: ProgressFunc | None = None,
    debugContext: Context = "",
) -> Executable: ...
@overload
def compileGraph(
    graph: Graph,
    progs: Iterable[Program] | Program,
    checkOptionFlags: bool,
    opt: Mapping[str, Any] | None = None,
    progressCallBack: ProgressFunc | None = None,
    debugContext: Context = "",
) -> Executable: ...
@overload
def compileGraph(
    graph: Graph,
    progs: Iterable[Program] | Program,
    preallocations: Preallocations,
    opt: Mapping[str, Any] | None = None,
    progressCallBack: ProgressFunc | None = None,
    debugContext: Context = "",
) -> Executable: ...
@overload
def compileGraph(
    graph: Graph,
    progs: Iterable[Program] | Program,
    preallocations: Preallocations,
    checkOptionFlags: bool,
    opt: Mapping[str, Any] | None = None,
    progressCallBack: ProgressFunc | None = None,
    debugContext: Context = "",
) -> Executable: ...
@refuses_wrong_arguments
def compileGraph(*arguments: Any, **named: Any) -> Executable:
    """Compile a graph and programs, each of which `Engine.run` can run by its index. `checkOptionFlags` refuses options
    that only matter at run time; `preallocations` place external variables; `progressCallBack(done, maximum)`
    is called from one thread of its own. Reports and the archive that options ask for are written here; the first
    engine made from the executable adds its runs to them.

    Raises `invalid_option`; `stream_memory_allocation_error` for streams and remote buffers that the host has no room
    for; `link_error` for external variables without a place, and its kind `graph_memory_allocation_error` when
    simulated hardware has too little memory, after the profile is saved where options ask for it; and the errors of
    incomplete graphs."""
    given = _COMPILE.choose(arguments, named)[1]
    flags = given["opt"] or {}
    if given.get("checkOptionFlags"):
        for name in flags:
            if name in RUNTIME_TABLE:
                raise invalid_option(f"Option '{name}' only matters at run time; give it to Engine or RuntimeOptions.")
    programs = _program_list(given["progs"])
    places = given.get("preallocations") or Preallocations()
    return _compile(given["graph"], programs, flags, given["progressCallBack"], given["debugContext"], places)


@overload
def compileModule(
    graph: Graph,
    prog: Program,
    opt: Mapping[str, Any] | None = None,
    progressCallBack: ProgressFunc | None = None,
    debugContext: Context = "",
) -> Module: ...
@overload
def compileModule(
    graph: Graph,
    prog: Program,
    preallocations: Preallocations,
    opt: Mapping[str, Any] | None = None,
    progressCallBack: ProgressFunc | None = None,
    debugContext: Context = "",
) -> Module: ...
@refuses_wrong_arguments
def compileModule(*arguments: Any, **named: Any) -> Module:
    """Compile a graph and one program to a module: code that another runtime branches to, without control streams. It
    speaks with others through its external variables, which `preallocations` place. `simulator.engine.module` has a
    runtime for it.

    Raises `graph_program_compilation_error` for a graph with data streams, remote buffers, host functions or tensors
    that the host reads or writes, and for programs that print; else as compileGraph does."""
    given = _MODULE.choose(arguments, named)[1]
    program, graph = given["prog"], given["graph"]
    if not isinstance(program, Program):
        raise control_program_error(f"{program!r} is not a program; a module has exactly one.")
    if isinstance(graph, Graph):
        _check_no_streams(graph.store, program)
    places = given.get("preallocations") or Preallocations()
    flags, progress, context = given["opt"] or {}, given["progressCallBack"], given["debugContext"]
    executable = _compile(graph, [program], flags, progress, context, places, module=True)
    executable.close_reports()  # a module's runtime records nothing
    return Module(executable)


def compile_for_engine(
    graph: Graph, progs: Any, options: Mapping[str, Any] | None, progress: ProgressFunc | None, context: Context
) -> Executable:
    """compileGraph for the constructor of `Engine`."""
    return _compile(graph, _program_list(progs), options or {}, progress, context, Preallocations())


def _program_list(programs: Any) -> list[Any]:
    if isinstance(programs, Program):
        return [programs]
    if not isinstance(programs, Iterable):
        raise control_program_error(f"{programs!r} is not a program; give a program or a list of programs to run.")
    return list(programs)


def _compile(
    graph: Any,
    programs: list[Any],
    flags: Mapping[str, Any],
    progress: ProgressFunc | None,
    context: Context,
    places: Preallocations,
    module: bool = False,
) -> Executable:
    try:
        return _compile_checked(graph, programs, flags, progress, context, places, module)
    except MemoryError as error:
        sentence = (
            f"The host has too little memory to compile the graph ({error}); use smaller variables, or fewer values."
        )
        log(Level.ERR, "COMPILER", sentence)
        raise poplar_error(sentence) from None
    except Exception as error:
        log(Level.ERR, "COMPILER", f"{type(error).__name__}: {error}")
        raise


def _compile_checked(
    graph: Any,
    programs: list[Any],
    flags: Mapping[str, Any],
    progress: ProgressFunc | None,
    context: Context,
    places: Preallocations,
    module: bool,
) -> Executable:
    if not isinstance(graph, Graph):
        raise poplar_error(f"{graph!r} is not a graph; give the graph to compile, then its programs.")
    if not isinstance(flags, Mapping):
        raise invalid_option(f"{flags!r} are not options; give a dict of strings.")
    for program in programs:
        if not isinstance(program, Program):
            raise control_program_error(f"{program!r} is not a program; give a list of programs to run.")
    graph = graph.getTopLevelGraph()
    target = graph.getTarget()
    options = resolve(flags, os.environ, target)
    if target.getTargetType() is not TargetType.CPU:
        check_host_memory(graph.store, programs, extended=options.compile.extended_memory)
    settings = replace(options.compile, module=module, preallocations=dict(places.parts))
    say("compiling", always=True)
    log(Level.INFO, "COMPILER", f"compiling {len(programs)} programs for {target.getNumTiles()} tiles")
    with progress_thread(progress) as report:
        compiled = compile_graph(graph.store, target, programs, settings, _compiler_progress(report))
        plan = _plan_values(compiled, settings.step_by_step)
        if report is not None:
            report(PHASES + 1, PHASES + 1)
    if options.report.vertex_graph is not None:  # of a graph that compiles: an incomplete one has no drawing
        save_vertex_graph(options.report.vertex_graph, graph, programs)
    if options.report.lowered_dump is not None:
        dump_lowered_variables(options.report.lowered_dump, compiled.compilation)
    say("writing the report of the compilation", always=True)
    log(
        Level.INFO,
        "COMPILER",
        f"compiled {compiled.compilation.num_vertices} vertices to {len(compiled.lowered.table)} programs",
    )
    executable = Executable(compiled, plan, options, as_context(context).getPathName(), graph.state.device_target)
    does_not_fit = bool(compiled.out_of_memory) and target.getTargetType() is TargetType.IPU
    try:
        executable.write_reports()
    except poplar_error as error:
        if does_not_fit:
            message = f"{compiled.out_of_memory} The profile was not saved: {error}"
            raise graph_memory_allocation_error(message) from None
        raise
    if does_not_fit and not options.compile.allow_out_of_memory:
        executable.close_reports()
        raise out_of_memory_error(compiled.out_of_memory, executable.graph_profile_path)
    return executable


def _compiler_progress(report: ProgressFunc | None) -> ProgressFunc:
    """The compiler's share of the progress: every phase but the plan of values, which comes last."""

    def reached(done: int, _: int) -> None:
        say(f"compiling, {done} of {PHASES + 1} phases done", always=True)
        log(Level.DEBUG, "COMPILER", f"{done} of {PHASES + 1} phases done")
        if report is not None:
            report(done, PHASES + 1)

    return reached


def _plan_values(compiled: CompiledGraph, step_by_step: bool) -> NumericPlan:
    """What the programs compute, as kernels over the arena: made once, for all engines of an executable."""
    with pvti.Tracepoint(_channel, "poplar::core::plan"):
        return NumericPlan(
            compiled.source.store, compiled.source.programs, step_by_step, frozenset(compiled.lowered.counted)
        )


def _check_no_streams(store: GraphStore, program: Program) -> None:
    """Raise graph_program_compilation_error for what needs the host, which a module cannot speak with."""
    for kind, names in (
        ("data stream", store.streams.handle),
        ("remote buffer", [buffer.name for buffer in store.remote_buffers]),
        ("host function", [function.name for function in store.host_functions]),
    ):
        if names:
            raise graph_program_compilation_error(
                f"compileModule: the graph has the {kind} '{names[0]}', but a module cannot speak with the host; use "
                "external variables, or compileGraph."
            )
    for part in all_programs([program, *store.functions]):
        if isinstance(part, PrintTensor):
            raise graph_program_compilation_error(
                "compileModule: a PrintTensor program needs a data stream, which a module cannot have; leave it out."
            )
