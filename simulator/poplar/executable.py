"""Executable and compileGraph."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from simulator.compiler.compile import compile_graph
from simulator.compiler.executable import Executable as Compiled
from simulator.compiler.settings import CompileSettings
from simulator.poplar.debug_context import Context, as_context
from simulator.poplar.engine_options import EngineOptions, resolve
from simulator.poplar.errors import control_program_error, graph_memory_allocation_error, invalid_option, poplar_error
from simulator.poplar.graph import Graph
from simulator.poplar.option_table import RUNTIME_TABLE
from simulator.poplar.program import Program
from simulator.poplar.progress import progress_thread
from simulator.poplar.target import Target, TargetType
from simulator.runtime.report_folder import ReportFolder

__all__ = ["Executable", "compileGraph"]

ProgressFunc = Callable[[int, int], None]


class Executable:
    """A compiled graph. Later edits of the graph do not reach it; several engines may be made from it."""

    def __init__(self, compiled: Compiled, options: EngineOptions, name: str, target: Target) -> None:
        self._compiled = compiled
        self._target = target
        self._options = options
        self._name = name

    def getTarget(self) -> Target:
        """The target it was compiled for, with the IPUs of all replicas."""
        return self._target

    def __repr__(self) -> str:
        return f"Executable({self._compiled.num_programs} programs)"


def compileGraph(
    graph: Graph,
    progs: Iterable[Program] | Program,
    opt: Mapping[str, Any] | bool | None = None,
    progressCallBack: ProgressFunc | Mapping[str, Any] | None = None,
    debugContext: Any = "",
    *rest: Any,
) -> Executable:
    """Compile a graph and programs: `compileGraph(graph, progs, opt, progress, debugContext)`, or with a flag
    `checkOptionFlags` in front of `opt`, which refuses options that only matter at run time.

    Raises `invalid_option`; `link_error` (`graph_memory_allocation_error`) when simulated hardware has too little
    memory, after the profile is saved where options ask for it; and the errors of incomplete graphs."""
    if len(rest) > isinstance(opt, bool):
        raise TypeError(f"compileGraph does not take {rest[-1]!r}: there is one argument too many after the options.")
    check = isinstance(opt, bool) and opt
    if isinstance(opt, bool):
        opt, progressCallBack, debugContext = progressCallBack, debugContext or None, rest[0] if rest else ""  # type: ignore[assignment]
    flags: Mapping[str, Any] = opt or {}  # type: ignore[assignment]
    if check:
        for name in flags:
            if name in RUNTIME_TABLE:
                raise invalid_option(f"Option '{name}' only matters at run time; give it to Engine or RuntimeOptions.")
    programs = [progs] if isinstance(progs, Program) else list(progs)
    return _compile(graph, programs, flags, progressCallBack, as_context(debugContext).getPathName())  # type: ignore[arg-type]


def compile_for_engine(
    graph: Graph, progs: Any, options: Mapping[str, Any] | None, progress: ProgressFunc | None, context: Context
) -> Executable:
    """What the Engine constructor does first."""
    programs = [progs] if isinstance(progs, Program) else list(progs)
    return _compile(graph, programs, options or {}, progress, as_context(context).getPathName())


def _compile(
    graph: Graph, programs: list[Program], flags: Mapping[str, Any], progress: ProgressFunc | None, name: str
) -> Executable:
    for program in programs:
        if not isinstance(program, Program):
            raise control_program_error(f"{program!r} is not a program; give a list of programs to run.")
    graph = graph.getTopLevelGraph()
    target = graph.getTarget()
    options = resolve(flags, os.environ, target)
    with progress_thread(progress) as report:
        compiled = compile_graph(graph.store, target, programs, _settings(options, target.getTargetType()), report)
    executable = Executable(compiled, options, name, graph._device_target)
    if compiled.out_of_memory and target.getTargetType() is TargetType.IPU and not _tolerated(options):
        _refuse(executable)
    return executable


def _settings(options: EngineOptions, kind: TargetType) -> CompileSettings:
    return CompileSettings(
        memory=kind is not TargetType.CPU,
        lowered_variables=(
            options.output_lowered_vars
            or options.save_archive is not None
            or options.address_accurate
            or options.verify
        ),
        address_accurate=options.address_accurate,
        verify=options.verify,
        step_by_step=options.trace or options.runtime_verify,
        serialized_graph=options.output_serialized_graph,
        compute_level=options.compute_instrumentation_level if options.instrument_compute else "",
        external_exchange=options.instrument_external_exchange,
        control_flow=options.instrument_control_flow,
        branch_record_tile=options.branch_record_tile,
        profiling_tile=options.profiling_tile,
        worker_stack=options.worker_stack_bytes,
        supervisor_stack=options.supervisor_stack_bytes,
        flops=options.include_flop_estimates,
        exchange_goal=options.exchange_goal,
        multi_access_copies=options.multi_access_copies,
        limit_vertex_state=options.limit_vertex_state,
        sync_replicas_independently=options.sync_replicas_independently,
    )


def _tolerated(options: EngineOptions) -> bool:
    """Only an explicit debug.allowOutOfMemory lets a program that does not fit pass; the one implied by a graph
    profile is there to save the profile before the error."""
    return options.given.get("debug.allowOutOfMemory") == "true"


def _refuse(executable: Executable) -> None:
    compiled, options = executable._compiled, executable._options
    message = compiled.out_of_memory
    if not options.output_graph_profile:
        raise graph_memory_allocation_error(f"{message} Set autoReport.outputGraphProfile to see where.")
    folder = ReportFolder(options, executable._name)
    try:
        folder.write_compilation(compiled)
    except poplar_error as error:
        raise graph_memory_allocation_error(f"{message} The profile was not saved: {error}") from None
    folder.close()
    path = str(folder.profile_path)
    raise graph_memory_allocation_error(f"{message} Profile saved to: {path}", path)
