"""Run the compiler's passes in order and assemble the report."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from popvision import pvti
from simulator.arrays import Int64Array
from simulator.base.options.compile import CompileSettings
from simulator.compiler.blocks.recording import block_recording
from simulator.compiler.blocks.selection import block_settings
from simulator.compiler.checks.completeness import check_graph, check_programs
from simulator.compiler.checks.conflicts import check_conflicts
from simulator.compiler.checks.constraints import check_constraints
from simulator.compiler.checks.divergence import check_divergence
from simulator.compiler.checks.external_exchange import check_external_exchange
from simulator.compiler.compiled_graph import Arrangements, CompiledGraph, GraphSource, LoweredPrograms
from simulator.compiler.cost.counted_sets import CountedSet
from simulator.compiler.cost.estimate import estimate_all
from simulator.compiler.cost.instrumentation import (
    add_compute_counters,
    add_external_counters,
    branch_record,
    needs_sync,
    recorded_rows,
)
from simulator.compiler.exchange.plan import optimise_exchanges
from simulator.compiler.ir.element_map import ElementMap, element_map
from simulator.compiler.ir.program_table import ProgramTable
from simulator.compiler.ir.program_visits import executed_sets
from simulator.compiler.ir.static_order import static_order
from simulator.compiler.lowering.exchange_plans import ExchangePlans
from simulator.compiler.lowering.external_variables import place_external_variables
from simulator.compiler.lowering.host_messages import add_host_messages
from simulator.compiler.lowering.init_callbacks import call_init_callbacks
from simulator.compiler.lowering.lower import Lowering
from simulator.compiler.machine import Machine, machine_of
from simulator.compiler.memory import overhead_memory
from simulator.compiler.memory.allocation_parts import parts_of
from simulator.compiler.memory.columns import MemoryReport, memory_report
from simulator.compiler.memory.inventory import CATEGORY_NUMBER, Inventory
from simulator.compiler.memory.layout_constraints import copied_pairs, interleaved_variables, layout_constraints
from simulator.compiler.memory.liveness import live_classes
from simulator.compiler.memory.overhead_memory import control_code
from simulator.compiler.memory.overlays import Overlays, fill_function_copies
from simulator.compiler.replicas import over_replicas
from simulator.compiler.report import PassResults, compilation_of
from simulator.compiler.unwritten import check_unwritten
from simulator.compiler.verify import verify_exchanges, verify_layout
from simulator.machine.targets import FETCH_AHEAD

if TYPE_CHECKING:
    from simulator.base.target import Target
    from simulator.graph.program import Program
    from simulator.graph.store import GraphStore


Progress = Callable[[int, int], None]
T = TypeVar("T")

#: Phases that `progress` counts: lowerGlobally, estimate, layOut, report, and the end.
PHASES = 5
_channel = pvti.channel("Poplar Compiler")


def compile_graph(
    store: GraphStore,
    target: Target,
    programs: Sequence[Program],
    settings: CompileSettings | None = None,
    progress: Progress | None = None,
) -> CompiledGraph:
    """Compile programs over a graph. `progress(done, maximum)` is called after each phase, on this thread.

    Raises invalid_tile_mapping where a used element or a vertex has no tile, and poplar_error for programs that cannot
    be compiled. Exceeded memory is not an error here; see `CompiledGraph.out_of_memory`."""
    with pvti.Tracepoint(_channel, "poplar::core::compileGraph"):
        return _Compiler(store, target, programs, settings or CompileSettings(), progress).run()


class _Compiler:
    def __init__(
        self,
        store: GraphStore,
        target: Target,
        programs: Sequence[Program],
        settings: CompileSettings,
        progress: Progress | None,
    ) -> None:
        check_graph(store)
        check_programs(store, programs)
        check_divergence(store, programs)
        check_conflicts(store)
        check_constraints(store)
        check_external_exchange(store, target.getTilesPerIPU(), target.getNumTilesPerXBContext())
        self.store = store.copy()
        call_init_callbacks(self.store)
        tiles, memory = target.getNumTiles(), target.getBytesPerTile()
        self.addresses = place_external_variables(self.store, settings.preallocations, tiles, memory)
        self.machine = machine_of(target, store.replicas, write_combining=settings.write_combining)
        self.programs = [program.as_part() for program in programs]
        if settings.verify:
            check_unwritten(self.store, self.programs)
        self.settings = settings
        self.progress = progress
        self.done = 0
        self.source = GraphSource(self.store, tuple(self.programs))
        self.store, self.messages = add_host_messages(self.store, self.programs, _element_map(self.store), self.machine)

    def run(self) -> CompiledGraph:
        element_tiles = _element_map(self.store)
        keep_arrangements = self.settings.address_accurate or self.settings.verify
        plans = ExchangePlans(self.store, element_tiles, self.machine, keep_arrangements=keep_arrangements)
        lowering = self._lower(plans)
        table = lowering.table
        control = control_code(
            table,
            self.machine,
            self.store.blocks,
            plans.local_copies,
            len(self.store.compute_set_names),
            self.settings,
        )
        overlays = fill_function_copies(
            lowering.function_copies, table, control, self.store.settled_blocks, lowering.packets, self.machine
        )
        estimates = self._phase(
            "estimate", lambda: estimate_all(self.store, plans, self.machine, self.settings, _channel)
        )
        estimates = add_compute_counters(estimates, plans.local_copies, self.settings.compute_level, self.machine)
        memory = None
        if self.settings.memory:
            memory = self._phase(
                "layOut", lambda: self._lay_out_memory(plans, lowering, element_tiles, control, overlays)
            )
        if self.settings.verify:
            verify_exchanges(self.store, plans, element_tiles)
            if memory is not None:
                verify_layout(memory.lowered, memory.eq_classes)
        cycles = [
            estimates[compute_set].cycles if compute_set >= 0 else work.cycles
            for compute_set, work in zip(table.compute_set, table.work, strict=True)
        ]
        results = PassResults(
            self.store,
            len(self.source.store.variables.base),
            plans,
            table,
            cycles,
            control,
            estimates,
            memory,
            self.settings,
            self.machine,
        )
        compilation = self._phase("report", lambda: over_replicas(compilation_of(results), self.machine, table))
        run = executed_sets([*self.programs, *self.store.functions])
        counted = {row: one.counted for row, one in enumerate(estimates) if one.counted is not None and row in run}
        lowered = self._lowered_programs(lowering, cycles, counted)
        debug_infos = self.store.debug_infos
        self._report_progress(PHASES)
        return CompiledGraph(
            compilation,
            self.machine,
            lowered,
            len(self.programs),
            debug_infos,
            self.source,
            _out_of_memory(memory, self.machine, table, self.settings.exchange_optimisation),
            self._arrangements(plans, lowering, memory),
        )

    def _lower(self, plans: ExchangePlans) -> Lowering:
        """Lower all programs, and optimise their exchanges."""
        lowering = Lowering(
            self.store,
            plans,
            self.machine,
            self.messages,
            sync_after_compute=needs_sync(self.settings.compute_level, self.machine),
            host_group="GS1" if self.settings.sync_replicas_independently else "GS2",
            blocks=block_settings(self.settings),
            branch_record=branch_record(self.settings, self.machine),
        )
        self._phase("lowerGlobally", lambda: lowering.lower(self.programs, selected=not self.settings.module))
        optimise_exchanges(lowering.table, self.settings.exchange_optimisation)
        add_external_counters(lowering.table, self.settings, self.machine)
        return lowering

    def _lowered_programs(
        self, lowering: Lowering, cycles: list[Int64Array | None], counted: Mapping[int, CountedSet]
    ) -> LoweredPrograms:
        """What the runtime walks over. `cycles` = cycles per tile of every program."""
        blocks = block_settings(self.settings)
        recording = None
        if blocks is not None:
            recording = block_recording(lowering.table, cycles, blocks, lowering.block_buffers, self.machine)
        return LoweredPrograms(
            lowering.table,
            cycles,
            lowering.branches,
            lowering.function_roots,
            self.settings.control_flow,
            spans=lowering.spans,
            blocks=recording,
            counted=counted,
            recorded=recorded_rows(lowering.table, lowering.branch_record_set, self.settings, self.machine),
        )

    def _arrangements(
        self, plans: ExchangePlans, lowering: Lowering, memory: MemoryReport | None
    ) -> Arrangements | None:
        """What the address-accurate mode needs of the passes; None where it is off."""
        if not self.settings.address_accurate:
            return None
        parts = memory.part_of if memory else []
        return Arrangements(self.store, plans, self.messages, lowering.programs_by_debug_id(), parts)

    def _lay_out_memory(
        self,
        plans: ExchangePlans,
        lowering: Lowering,
        element_tiles: ElementMap,
        control: Sequence[Int64Array | None],
        overlays: Overlays,
    ) -> MemoryReport:
        store, machine, table = self.store, self.machine, lowering.table
        order = static_order(table, lowering.branches, lowering.function_roots)
        variables = store.variables
        constant = np.array([value is not None for value in variables.constant], np.bool_)
        always = (
            constant
            | np.array(variables.host_visible, np.bool_)
            | np.array([bool(i) for i in variables.initial], np.bool_)
        )
        live = live_classes(table, order, plans.numels, always, len(plans.buffers), overlays)
        inventory = Inventory()
        has_interleaved = machine.region_split < machine.usable_bytes
        interleaved = interleaved_variables(store.blocks, element_tiles, len(variables.numel), has_interleaved)
        category = np.where(constant, CATEGORY_NUMBER["constant"], CATEGORY_NUMBER["variable"])
        category[len(self.source.store.variables.base) :] = CATEGORY_NUMBER["hostMessage"]
        inventory.add_variables(variables.name, variables.debug_id, category, interleaved, element_tiles, live)
        inventory.add_buffers(plans.buffers, live)
        overhead_memory.add_overlays(inventory, overlays, live.of_overlay)
        overhead_memory.add_vertices(inventory, store.blocks, machine, overlays.compute_sets())
        overhead_memory.add_local_copies(inventory, plans.local_copies, machine)
        overhead_memory.add_programs(inventory, table, control, lowering.packets, machine, overlays)
        overhead_memory.add_packet_headers(inventory, lowering.global_packets)
        overhead_memory.add_stacks(inventory, self.settings, machine)
        own_sets = len(store.compute_set_names)
        overhead_memory.add_counters(inventory, self.settings, store.blocks, own_sets, plans.local_copies, machine)
        overhead_memory.add_branch_record(inventory, self.settings, table, machine)
        overhead_memory.add_block_buffers(inventory, self.settings, lowering.block_buffers, machine)
        multi_access = self.settings.multi_access_copies
        copies = copied_pairs(table, len(store.compute_set_names), store.bases()) if multi_access else []
        constraints = layout_constraints(
            store.blocks, element_tiles, copies, len(variables.numel), len(inventory.classes)
        )
        constraints = replace(constraints, fixed=self.addresses)
        return memory_report(inventory, live, parts_of(live, element_tiles), order, machine, constraints, self.settings)

    def _phase(self, name: str, work: Callable[[], T]) -> T:
        with pvti.Tracepoint(_channel, f"poplar::core::{name}"):
            result = work()
        self._report_progress(self.done + 1)
        return result

    def _report_progress(self, done: int) -> None:
        self.done = done
        if self.progress is not None:
            self.progress(done, PHASES)


def _most_exchange_code(table: ProgramTable, machine: Machine) -> int:
    """Bytes of code of exchanges within an IPU on the tile that has most."""
    code = np.zeros(machine.tiles, np.int64)
    for work in table.work:
        if work.exchange is not None and work.code:
            code += work.exchange.code
    return int(code.max())


def _element_map(store: GraphStore) -> ElementMap:
    v = store.variables
    ends, tiles = store.mapping_table()
    sizes = np.array([t.size for t in v.type], np.int64)
    return element_map(np.array(v.base, np.int64), np.array(v.numel, np.int64), sizes, ends, tiles)


def _out_of_memory(memory: MemoryReport | None, machine: Machine, table: ProgramTable, exchange_goal: str) -> str:
    """What exceeds memory, and which option helps; "" when all fits."""
    if memory is None:
        return ""
    if memory.high_code:
        exchange = _most_exchange_code(table, machine) if exchange_goal == "cycles" else 0
        help_ = (
            f" Exchanges take up to {exchange} bytes of it; opt.internalExchangeOptimisationTarget makes them smaller "
            '("balanced", "memory").'
        )
        return (
            f"Out of memory: code can only run in the first {machine.region_split - FETCH_AHEAD} bytes of a tile, and "
            f"{memory.high_code} of {machine.tiles} tiles have more.{help_ if exchange else ''}"
        )
    if memory.high_state:
        return (
            f"Out of memory: opt.limitVertexStateToLower256K puts vertex state in the first {machine.region_split} "
            f"bytes of a tile, with code and stack, and {memory.high_state} of {machine.tiles} tiles have no room for "
            "it; set the option to false."
        )
    used = memory.tile_memory.including_gaps
    over = np.flatnonzero(used > machine.usable_bytes)
    if len(over) == 0:
        return ""
    worst = int(used.argmax())
    return (
        f"Out of memory: Cannot fit all variable data onto one or more tiles: {len(over)} of {machine.tiles} tiles "
        f"need more than {machine.usable_bytes} bytes, tile {worst} needs {int(used[worst])}."
    )
