"""Views of the report, its tiles, memory and liveness."""

from __future__ import annotations

from popvision.analysis.memory.tile_ranking import TILES
from popvision.query.view import view
from popvision.questions import liveness, memory

_FACT = "(SELECT value FROM meta WHERE key = 'target')"

MEMORY = (
    view(
        "report_facts",
        "Facts that the report records, a row per fact.",
        "meta",
        """
        name | key | | name of the fact
        value | value | | its value as JSON text
        """,
    ),
    view(
        "machine",
        "The target, one row.",
        f"(SELECT {_FACT} AS facts)",
        """
        type | facts ->> '$.type' | | "Ipu", "IpuModel" or "Cpu"
        architecture | facts ->> '$.architecture' | | "Ipu1", "Ipu2" or "Ipu21"
        num_ipus | facts ->> '$.num_ipus' | | IPUs of all replicas
        tiles_per_ipu | facts ->> '$.tiles_per_ipu' | | tiles of one IPU
        num_replicas | facts ->> '$.num_replicas' | | replicas
        bytes_per_tile | facts ->> '$.bytes_per_tile' | bytes | memory of one tile
        clock_hz | facts ->> '$.clock_hz' | Hz | clock of the tiles
        """,
    ),
    view(
        "tiles",
        "Memory of each tile of all IPUs.",
        "(SELECT *, rank() OVER (ORDER BY total DESC) AS place FROM memory_by_tile ORDER BY tile)",
        """
        rank | place
        tile | tile
        ipu | tile / tiles_per_ipu()
        physical_tile | physical_tile(tile)
        capacity_bytes | bytes_per_tile()
        including_gaps_bytes | total
        excluding_gaps_bytes | excluding_gaps
        gaps_bytes | total - excluding_gaps
        always_live_bytes | always_live
        not_always_live_bytes | not_always_live
        peak_live_bytes | always_live + not_always_live
        overflowed_bytes | overflowed
        excess_bytes | max(total - bytes_per_tile(), 0)
        """,
        of=TILES,
    ),
    view(
        "tile_categories",
        "Bytes of each tile by category, region and overlap; they add up to excluding_gaps_bytes.",
        """
        memory_arrays m JOIN var_categories c ON c.id = m.category JOIN var_regions r ON r.id = m.region,
        json_each(array_json(m.bytes_array)) v""",
        """
        tile | m.ipu * tiles_per_ipu() + v.key | | tile
        ipu | m.ipu | | its IPU
        category | c.name | | memory category, for example vertexCode
        region | r.name | | nonInterleaved, interleaved or overflowed
        overlapped | m.overlapped | | 1 = another allocation uses these addresses too
        category_bytes | v.value | bytes | bytes of the category on the tile
        """,
    ),
    view(
        "category_totals",
        "Bytes by category, region and overlap over all tiles.",
        """
        (SELECT category, region, overlapped, sum(array_sum(bytes_array)) AS size, max(array_max(bytes_array)) AS most
        FROM memory_arrays GROUP BY 1, 2, 3) t
        JOIN var_categories c ON c.id = t.category JOIN var_regions r ON r.id = t.region""",
        """
        category | c.name
        region | r.name
        overlapped | t.overlapped
        total_bytes | t.size
        largest_tile_bytes | t.most
        """,
        of=memory.MEMORY_TOTALS,
    ),
    view(
        "tile_variables",
        "Contents of each tile by category and name; stored as rows, so that sums over all tiles are quick.",
        """
        vars_info v JOIN var_categories c ON c.id = v.category JOIN vars_string_table s ON s.id = v.name""",
        """
        tile | v.tile | | tile
        ipu | v.tile / tiles_per_ipu() | | its IPU
        category | c.name
        name | s.string
        size_bytes | v.size_bytes
        """,
        of=memory.TILE_VARIABLES,
    ),
    view(
        "graph_variables",
        "Variables before lowering, pseudo-variables such as vertexCode included.",
        "json_each(graph_variable_rows()) j",
        """
        variable | j.key
        name | j.value ->> 0
        total_bytes | j.value ->> 1
        always_live | j.value ->> 2
        eq_class | j.value ->> 3
        debug_id | j.value ->> 4
        part_of | j.value ->> 5 | | variable that it is a part of: its own number, but for further parts
        """,
        of=memory.VARIABLES,
    ),
    view(
        "lowered_variables",
        "Allocations of each tile, by address.",
        """
        lowered_by_tile t, json_each(lowered_rows(t.tile)) j
        LEFT JOIN vars_string_table s ON s.id = j.value ->> 6
        LEFT JOIN var_categories c ON c.id = j.value ->> 2 LEFT JOIN var_regions r ON r.id = j.value ->> 3""",
        """
        id | t.first_id + j.key
        tile | t.tile | | tile
        name | s.string
        variable | j.value ->> 4
        category | c.name
        region | r.name
        address_bytes | j.value ->> 1
        size_bytes | j.value ->> 0
        eq_class | j.value ->> 5
        """,
        of=memory.LOWERED_VARIABLES,
        fast="tile = N (a tile takes about 50 ms; all tiles of a large report take minutes: use tile_variables)",
    ),
    view(
        "live_ranges",
        "Ranges of liveness indices at which each equivalence class is live.",
        "json_each(live_range_rows()) j",
        """
        eq_class | j.value ->> 0
        begin_index | j.value ->> 1
        end_index | j.value ->> 2
        """,
        of=liveness.LIVE_RANGES,
    ),
    view(
        "live_variables",
        "Variables live at each liveness index, without always-live variables.",
        """
        liveness l, json_each(live_variable_rows(l.liveness_index)) j""",
        """
        liveness_index | l.liveness_index | | position in the static order of the program
        variable | j.value ->> 0 | | row of graph_variables
        name | j.value ->> 1 | | its name
        size_bytes | (j.value ->> 2) / num_replicas() | bytes | over all tiles of one replica
        """,
        fast="liveness_index = N",
    ),
    view(
        "liveness_curve",
        "Live bytes of one replica at each liveness index.",
        """
        liveness l LEFT JOIN programs p ON p.id = l.program LEFT JOIN program_types k ON k.id = p.type""",
        """
        liveness_index | l.liveness_index
        program | l.program
        type | k.name
        name | p.name
        not_always_live_bytes | l.bytes
        live_bytes | l.bytes + always_live_bytes()
        """,
        of=liveness.LIVENESS,
    ),
    view(
        "ipu_liveness",
        "Not-always-live bytes of each IPU at each liveness index.",
        "liveness_by_ipu i, json_each(array_json(i.bytes_array)) v",
        """
        ipu | i.ipu | | IPU
        liveness_index | v.key
        not_always_live_bytes | v.value
        """,
        of=liveness.LIVENESS,
    ),
)
