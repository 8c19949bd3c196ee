"""The columns of a report, from the results of the passes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from popvision.formats.profile import model
from simulator.arrays import Int64Array
from simulator.base.options.compile import CompileSettings
from simulator.compiler.cost.estimate import ComputeEstimate
from simulator.compiler.exchange.terms import program_terms
from simulator.compiler.ir.program_table import ProgramTable, Work
from simulator.compiler.lowering.exchange_plans import ExchangePlans
from simulator.compiler.machine import Machine
from simulator.compiler.memory import overhead_memory
from simulator.compiler.memory.columns import MemoryReport
from simulator.compiler.memory.program_variables import program_variables
from simulator.compiler.memory.vertex_memory import state_bytes
from simulator.graph.store import GraphStore
from simulator.graph.vertices import VertexBlock
from simulator.machine import footprint
from simulator.machine.links import Links

#: Types of programs whose cycles the passes work out.
_TIMED = ("OnTileExecute", "DoExchange", "GlobalExchange", "StreamCopyMid", "StreamCopyEnd")


@dataclass(frozen=True)
class PassResults:
    """Results of the passes."""

    store: GraphStore
    graph_variables: int  #: those of the program; the others of `store` are messages of the host
    plans: ExchangePlans
    table: ProgramTable
    cycles: Sequence[Int64Array | None]  #: per lowered program
    control: Sequence[Int64Array | None]  #: bytes of control code per lowered program
    estimates: Sequence[ComputeEstimate]  #: per compute set
    memory: MemoryReport | None
    settings: CompileSettings
    machine: Machine


def compilation_of(r: PassResults) -> model.Compilation:
    """The report of a compilation, without `meta`."""
    memory = r.memory
    return model.Compilation(
        target=_target(r.machine),
        programs=r.table.as_model(),
        compute_sets=model.ComputeSets(
            r.plans.compute_set_names,
            np.array(r.plans.compute_set_debug_ids, np.int64),
            np.array([e.flops if r.settings.flops else -1 for e in r.estimates], np.int64),
        ),
        vertex_types=_vertex_types(r),
        tile_memory=memory.tile_memory if memory else None,
        num_vertices=r.store.num_vertices,
        num_edges=sum(_edges(b) for b in r.store.blocks),
        num_variables=r.graph_variables,
        program_on_ipu=list(_programs_on_ipus(r)),
        known_figures=_known_figures(r),
        messages=list(_messages(r)),
        sendings=list(_sendings(r)),
        program_variables=list(program_variables(r.table, r.plans.numels, memory)) if memory else (),
        compute_set_vertices=[row for e in r.estimates for row in e.vertices],
        copy_vertices=list(_copy_vertices(r)),
        vertex_lanes=[row for e in r.estimates for row in e.lanes],
        cost_terms=[
            *(term for e in r.estimates for term in e.terms),
            *_exchange_terms(r),
            *_library_terms(r),
            *(memory.terms if memory else ()),
        ],
        category_memory=memory.category_memory if memory else (),
        variables=memory.variables if memory else None,
        eq_classes=memory.eq_classes if memory else None,
        liveness=memory.liveness if memory else None,
        vars_info=memory.vars_info if memory else None,
        lowered=memory.lowered if memory else (),
        lowered_names=memory.lowered_names if memory else [],
    )


def _copy_vertices(r: PassResults) -> Iterator[model.CopyVertices]:
    first = len(r.store.compute_set_names)
    for index, estimate in enumerate(r.estimates[first:], first):
        for copies in estimate.copies:
            for ipu in range(r.machine.num_ipus):
                part = r.machine.tiles_of(ipu)
                if copies.count[part].any():
                    state = footprint.COPY_VERTEX_STATE * int(copies.records[part].sum())
                    yield model.CopyVertices(index, copies.type, ipu, state, copies.count[part], copies.cycles[part])


def _target(m: Machine) -> model.Target:
    return model.Target(
        type=m.type,
        architecture=m.architecture,
        num_ipus=m.num_ipus,
        tiles_per_ipu=m.tiles_per_ipu,
        bytes_per_tile=m.bytes_per_tile,
        clock_hz=m.clock_hz,
        worker_contexts=m.target.getNumWorkerContexts(),
        exchange_bytes_per_cycle=m.exchange_rate,
        link_bytes_per_cycle=Links(m.device_ipus, m.clock_hz).bytes_per_cycle_of_ipu,
        host_bytes_per_cycle=m.host_link.bytes_per_cycle,
        region_split=m.region_split,
        min_sync_delay=m.min_sync_delay,
        relative_sync_delay=m.relative_sync_delay,
        physical_tile=m.physical_tile,
    )


def _vertex_types(r: PassResults) -> model.VertexTypes:
    """Types in order of first use, the order of rows that estimates refer to."""
    first: dict[str, VertexBlock] = {}
    for block in r.store.blocks:
        first.setdefault(block.type.name, block)
    counted = r.machine.counts_code
    code = [overhead_memory.code_of(b.type).bytes if counted else b.type.code_bytes for b in first.values()]
    return model.VertexTypes(
        list(first),
        [b.type.kind for b in first.values()],
        np.array([state_bytes(b.type, r.machine.architecture) for b in first.values()], np.int64),
        np.array(code, np.int64),
    )


def _programs_on_ipus(r: PassResults) -> Iterator[model.ProgramOnIpu]:
    for row, work in enumerate(r.table.work):
        columns = (r.cycles[row], _received(work), _sent(work), _exchange_code(work, r.machine), r.control[row])
        if all(c is None for c in columns):
            continue
        for ipu in range(r.machine.num_ipus):
            part = r.machine.tiles_of(ipu)
            own = [None if c is None or not c[part].any() else c[part] for c in columns]
            if any(c is not None for c in own):
                yield model.ProgramOnIpu(row, ipu, *own)


def _known_figures(r: PassResults) -> dict[str, Int64Array]:
    """Bytes are known of all programs: where the compiler counts none, there are none. Cycles are known of what moves
    data or computes, and of what takes no time; not of waiting, nor of programs that run others."""
    known = [
        type_ in _TIMED or not (type_ in model.PHASE_OF_TYPE or children or type_ == "Call")
        for type_, children in zip(r.table.type, r.table.children, strict=True)
    ]
    everything = np.arange(len(r.table))
    return {**dict.fromkeys(model.PROGRAM_FIGURES, everything), "cycles": np.flatnonzero(known)}


def _received(work: Work) -> Int64Array | None:
    return work.exchange.rx if work.exchange is not None else work.rx


def _sent(work: Work) -> Int64Array | None:
    return work.exchange.tx if work.exchange is not None else work.tx


def _exchange_code(work: Work, machine: Machine) -> Int64Array | None:
    if work.exchange is not None and work.code and machine.counts_code:
        return work.exchange.code
    return work.host_code


def _messages(r: PassResults) -> Iterator[model.Messages]:
    for row, work in enumerate(r.table.work):
        if work.exchange is None:
            continue
        ipu_of_message = r.machine.ipu_of_tile[work.exchange.src]
        for ipu in range(r.machine.num_ipus):
            mine = ipu_of_message == ipu
            if mine.any():
                e = work.exchange
                yield model.Messages(row, ipu, e.src[mine], e.dst[mine], e.size[mine])


def _sendings(r: PassResults) -> Iterator[model.Sendings]:
    for row, work in enumerate(r.table.work):
        if work.exchange is None:
            continue
        s = work.exchange.sendings
        ipu_of_sending = r.machine.ipu_of_tile[s.src]
        for ipu in np.unique(ipu_of_sending).tolist():
            mine = ipu_of_sending == ipu
            yield model.Sendings(row, ipu, s.src[mine], s.receivers[mine], s.size[mine])


def _exchange_terms(r: PassResults) -> Iterator[model.CostTerm]:
    for row, (type_, work) in enumerate(zip(r.table.type, r.table.work, strict=True)):
        yield from program_terms(row, type_, work, r.machine)


def _library_terms(r: PassResults) -> Iterator[model.CostTerm]:
    """Terms that libraries give for their compute sets: a plan and its costs."""
    for index, terms in sorted(r.store.compute_set_terms.items()):
        for term, value, source in terms:
            yield model.CostTerm(f"computeSet:{index}/plan", term, value, source)


def _edges(block: VertexBlock) -> int:
    """Edges of a block: each single element, each vector and each inner vector of a list counts as one, for any number
    of regions."""
    total = 0
    for name, edges in block.edges.items():
        kind = block.type.fields_by_name[name].kind
        if kind in ("scalar", "vector"):
            total += len(block)
        elif kind == "scalars":
            total += int(edges.lengths.sum())
        else:
            total += len(edges.starts) if edges.row_offsets is None else len(edges.row_offsets) - 1
    return total
