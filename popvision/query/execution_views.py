"""Views of recorded execution: runs, steps, cycles of tiles."""

from __future__ import annotations

from popvision.query.view import view
from popvision.questions import execution

_STEP = "steps s JOIN programs p ON p.id = s.program JOIN program_types k ON k.id = p.type"


def _known(figure: str, type_: str = "k.name") -> str:
    """The figure where single tiles of this type of program (or phase) are known, else NULL."""
    return f"iif(knows_tiles({type_}), {figure}, NULL)"


EXECUTION = (
    view(
        "execution_runs",
        "A row per recorded run.",
        "runs",
        """
        run | id
        name | name
        program_index | program_index
        first_step | first_step | | its first execution step
        steps | n_steps
        run_cycles | cycles
        device_us | cycles / clock_hz() * 1e6
        host_start_us | host_start_us
        host_us | host_end_us - host_start_us
        truncated | truncated
        """,
        of=execution.RUNS,
    ),
    view(
        "execution_steps",
        "A row per execution step and IPU, in the order they ran. NULL stands for what single tiles did in compute and "
        "syncs on hardware that counted on one tile per IPU or device (debug.computeInstrumentationLevel).",
        f"{_STEP} JOIN steps_by_ipu i ON i.step_id = s.id",
        f"""
        step | s.id
        ipu | i.ipu | | IPU
        run | s.run
        program | s.program
        type | k.name
        phase | phase_of(k.name)
        name | p.name
        compute_set | s.compute_set
        step_cycles | i.cycles
        begin_cycle | {_known("i.cycles_base + i.all_cycles_from_min")} | cycles | first begin over its tiles
        end_cycle | i.cycles_base + i.all_cycles_to_max | cycles | last end over its tiles
        active_tiles | i.active_tiles
        tile_cycles | {_known("i.tile_cycles")}
        longest_tile_cycles | {_known("i.max_cycles")}
        data_in_bytes | i.data_in
        data_out_bytes | i.data_out
        tile_balance | {_known("i.tile_balance")}
        active_tile_balance | {_known("i.active_tile_balance")}
        cycles_array | {_known("i.cycles_array")} | | array id for array_value(cycles_array, tile on the IPU)
        """,
        of=execution.STEPS_ON_IPU,
    ),
    view(
        "program_cycles",
        "Steps, cycles and bytes of each program on each IPU, over all recorded runs.",
        """
        (SELECT s.program, i.ipu, count(*) AS n, sum(i.cycles) AS c, sum(i.tile_cycles) AS t, sum(i.data_in) AS a,
        sum(i.data_out) AS b FROM steps s JOIN steps_by_ipu i ON i.step_id = s.id GROUP BY 1, 2) g
        JOIN programs p ON p.id = g.program JOIN program_types k ON k.id = p.type""",
        f"""
        program | g.program | | program
        ipu | g.ipu | | IPU
        type | k.name | | its type
        name | p.name | | its debug name
        executions | g.n | | execution steps of its own
        self_cycles | g.c | cycles | sum of the lengths of its own steps
        tile_cycles | {_known("g.t")} | cycles | its own steps summed over tiles; NULL as in execution_steps
        data_in_bytes | g.a | bytes | received
        data_out_bytes | g.b | bytes | sent
        """,
    ),
    view(
        "phase_cycles",
        "Tile cycles by phase and IPU, over all recorded runs; the tail of a run on each tile counts as sync. NULL "
        "as in execution_steps.",
        """
        (SELECT i.ipu, phase_of(k.name) AS phase, sum(i.tile_cycles) AS c FROM steps s
        JOIN steps_by_ipu i ON i.step_id = s.id JOIN programs p ON p.id = s.program
        JOIN program_types k ON k.id = p.type GROUP BY 1, 2
        UNION ALL SELECT ipu, 'sync', sum(array_sum(tail_array)) FROM run_tail GROUP BY 1)
        WHERE phase IS NOT NULL GROUP BY ipu, phase""",
        f"""
        ipu | ipu | | IPU
        phase | phase
        tile_cycles | {_known("sum(c)", "phase")}
        """,
        of=execution.PHASE_COLUMNS,
    ),
    view(
        "cycles_by_tile",
        "Begin and cycles of each tile in each execution step; 0 cycles = the tile takes no part. Steps of which "
        "single tiles are unknown (NULL in execution_steps) have no rows.",
        f"""
        {_STEP} JOIN steps_by_ipu i ON i.step_id = s.id AND knows_tiles(k.name),
        json_each(array_rows(i.start_array, i.cycles_array)) j""",
        """
        step | i.step_id | | execution step
        ipu | i.ipu | | IPU
        tile | i.ipu * tiles_per_ipu() + j.key | | tile
        begin_cycle | i.cycles_base + (j.value ->> 0) | cycles | since the first recorded run began
        cycles | j.value ->> 1 | cycles | duration
        """,
        fast="step between A and B (one tile of many steps: array_value on execution_steps.cycles_array)",
    ),
    view(
        "block_list",
        "Blocks that lightweight profiling recorded on its tiles.",
        """
        blocks b, json_each(array_rows(b.program_array, b.kind_array, b.start_array, b.end_array)) j
        LEFT JOIN programs p ON p.id = j.value ->> 0""",
        """
        run | b.run
        tile | b.tile | | tile
        program | j.value ->> 0
        name | p.name
        kind | block_kind(j.value ->> 1)
        begin_cycle | j.value ->> 2
        end_cycle | j.value ->> 3
        """,
        of=execution.BLOCKS,
        fast="tile = N",
    ),
)
