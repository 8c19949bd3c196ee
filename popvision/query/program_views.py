"""Views of the compiled program: programs, compute sets, vertices and exchanges."""

from __future__ import annotations

from popvision.query.view import view
from popvision.questions import exchange, programs, vertices

PROGRAMS = (
    view(
        "program_list",
        "A row per lowered program.",
        """
        programs p JOIN program_types k ON k.id = p.type""",
        """
        program | p.id
        type | k.name
        name | p.name
        owner | p.owner
        compute_set | p.compute_set
        repeat_count | p.repeat_count | | trips of a Repeat, 0 for other types
        debug_id | p.debug_id
        """,
        of=programs.PROGRAMS,
    ),
    view(
        "program_edges",
        "Parents and children in the program tree; a program may have several parents.",
        """
        program_children c JOIN programs p ON p.id = c.child JOIN program_types k ON k.id = p.type""",
        """
        parent | c.program | | parent program
        position | c.pos | | position among the children of the parent
        child | c.child | | child program
        type | k.name | | type of the child
        name | p.name | | name of the child
        """,
    ),
    view(
        "program_tiles",
        "Figures of each program on each tile; NULL = zero or unknown on every tile.",
        """
        program_by_ipu b,
        json_each(array_rows(b.cycles_array, b.rx_array, b.tx_array, b.exchange_code_array, b.control_code_array)) j
        """,
        """
        program | b.program | | program
        ipu | b.ipu
        tile | b.ipu * tiles_per_ipu() + j.key
        estimated_cycles | j.value ->> 0
        received_bytes | j.value ->> 1
        sent_bytes | j.value ->> 2
        exchange_code_bytes | j.value ->> 3
        control_code_bytes | j.value ->> 4
        """,
        of=programs.PROGRAM_TILES,
        fast="program = N",
    ),
    view(
        "compute_set_list",
        "A row per compute set.",
        """
        compute_sets s LEFT JOIN (SELECT compute_set, sum(array_sum(count_array)) AS n,
        sum(array_sum(cycles_array)) AS c FROM compute_set_vertices GROUP BY 1) v USING (compute_set)""",
        """
        compute_set | s.compute_set
        name | s.name
        vertices | coalesce(v.n, 0)
        thread_cycles | coalesce(v.c, 0) | cycles | sum of the estimates of all vertices, each in its own thread
        flops | nullif(s.flops, -1)
        debug_id | s.debug_id
        """,
        of=vertices.COMPUTE_SETS,
    ),
    view(
        "vertices",
        "A row per compute set, vertex type and IPU.",
        """
        compute_set_vertices v JOIN compute_sets s USING (compute_set) JOIN vertex_types t ON t.id = v.vertex_type""",
        """
        compute_set | v.compute_set
        compute_set_name | s.name
        vertex_type | t.name
        kind | t.kind
        ipu | v.ipu
        instances | array_sum(v.count_array)
        tiles | array_nonzero(v.count_array)
        thread_cycles | array_sum(v.cycles_array)
        state_bytes | t.state_bytes
        flops | nullif(v.flops, -1)
        provenance | v.provenance
        """,
        of=vertices.VERTICES,
    ),
    view(
        "vertices_by_tile",
        "Vertices of each compute set on each tile.",
        """
        compute_set_vertices v JOIN vertex_types t ON t.id = v.vertex_type,
        json_each(array_rows(v.count_array, v.cycles_array)) j""",
        """
        compute_set | v.compute_set | | compute set
        vertex_type | t.name | | name of the vertex type
        tile | v.ipu * tiles_per_ipu() + j.key | | tile
        instances | j.value ->> 0 | | vertices on the tile
        thread_cycles | j.value ->> 1 | cycles | sum of their estimates
        """,
        fast="compute_set = N",
    ),
    view(
        "exchanges",
        "A row per program that moves data and IPU: figures of one execution.",
        """
        program_by_ipu b JOIN programs p ON p.id = b.program JOIN program_types k ON k.id = p.type
        WHERE b.rx_array >= 0 OR b.tx_array >= 0""",
        """
        program | b.program
        type | k.name
        name | p.name
        ipu | b.ipu | | IPU
        received_bytes | coalesce(array_sum(b.rx_array), 0)
        sent_bytes | coalesce(array_sum(b.tx_array), 0)
        receivers | coalesce(array_nonzero(b.rx_array), 0)
        senders | coalesce(array_nonzero(b.tx_array), 0)
        estimated_cycles | array_max(b.cycles_array) | cycles | of the longest tile
        code_bytes | coalesce(array_sum(b.exchange_code_array), 0)
        """,
        of=exchange.EXCHANGES,
    ),
    view(
        "exchange_messages",
        "Messages of one execution of an exchange program.",
        """
        messages m, json_each(array_rows(m.src_array, m.dst_array, m.bytes_array)) j""",
        """
        program | m.program | | program
        ipu | m.ipu | | IPU that sends
        source_tile | j.value ->> 0
        target_tile | j.value ->> 1
        message_bytes | j.value ->> 2
        """,
        of=exchange.MESSAGES,
        fast="program = N",
    ),
    view(
        "cost_term_list",
        "Terms of the figures of programs and compute sets (popvision explain).",
        "cost_terms",
        """
        object | object | | "program:12", "computeSet:3" ...
        term | term | | terms with "+ " are added, with "- " subtracted; others are facts
        value | value | | cycles or bytes of a term; of a fact as its text says
        source | source | | provenance and formula
        """,
    ),
    view(
        "operation_members",
        "Programs of each operation.",
        "json_each(operation_programs()) j JOIN programs p ON p.id = j.value ->> 0",
        """
        context | j.value ->> 1 | | id of the operation's debug context
        program | p.id | | program
        name | p.name | | its name
        """,
    ),
)
