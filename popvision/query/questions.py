"""Prepared questions: SQL over the views that answers what a report is opened for."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Question:
    """`title` names what the rows are."""

    title: str
    sql: str


QUESTIONS = (
    Question(
        "Fullest tiles",
        "select tile, including_gaps_bytes, excluding_gaps_bytes, always_live_bytes, not_always_live_bytes\n"
        "from tiles\norder by including_gaps_bytes desc, tile\nlimit 20",
    ),
    Question(
        "Memory by category",
        "select category, sum(total_bytes) as total_bytes\n"
        "from category_totals\ngroup by category\norder by total_bytes desc",
    ),
    Question(
        "Largest variables",
        "select variable, name, total_bytes, always_live, debug_id\nfrom graph_variables\n"
        "order by total_bytes desc\nlimit 50",
    ),
    Question(
        "Live memory over the program",
        "select liveness_index, live_bytes, not_always_live_bytes, program, type, name\nfrom liveness_curve\n"
        "order by liveness_index",
    ),
    Question(
        "Longest execution steps",
        "select step, ipu, type, name, step_cycles, tile_balance, program\nfrom execution_steps\n"
        "order by step_cycles desc\nlimit 50",
    ),
    Question(
        "Cycles by type of program",
        "select type, sum(self_cycles) as cycles, sum(executions) as executions\nfrom program_cycles\n"
        "group by type\norder by cycles desc",
    ),
    Question(
        "Programs that take most cycles",
        "select program, type, name, sum(self_cycles) as cycles, sum(executions) as executions\nfrom program_cycles\n"
        "group by program, type, name\norder by cycles desc\nlimit 50",
    ),
    Question(
        "Cycles of each tile in the longest step",
        "select tile, cycles, begin_cycle\nfrom cycles_by_tile\n"
        "where step = (select step from execution_steps order by step_cycles desc limit 1)\norder by tile",
    ),
    Question(
        "Vertices by cycles",
        "select compute_set, compute_set_name, vertex_type, instances, tiles, thread_cycles, provenance\n"
        "from vertices\n"
        "order by thread_cycles desc\nlimit 50",
    ),
    Question(
        "Exchanges that move most",
        "select program, type, name, received_bytes, receivers, senders, estimated_cycles\nfrom exchanges\n"
        "order by received_bytes desc\nlimit 50",
    ),
    Question(
        "Operations by cycles",
        "select name, context, total_cycles, received_bytes, peak_live_bytes, flops\nfrom operations\n"
        "order by total_cycles desc\nlimit 50",
    ),
    Question(
        "Phases",
        "select ipu, phase, tile_cycles\nfrom phase_cycles\norder by ipu, tile_cycles desc",
    ),
)
