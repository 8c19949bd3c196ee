"""Why each constant without a published source remains, and which figures follow from others (sensitivity.md)."""

from __future__ import annotations

#: constant, as the page titles it -> why nothing published replaces it
REMAINING: dict[str, str] = {
    "exchange.START_CYCLES": "one published exchange (70 cycles) gives the sum of launch and pipeline; the pipeline is "
    "published, so this is what is left",
    "exchange.CYCLES_PER_ISLAND": "published are the ways across the chip, not along a column; a broadcast of one word "
    "(123 cycles, 8 of reading error) allows 0.8 to 1.5",
    "exchange.CODE_PER_TILE": "140 bytes of one published exchange, less three instructions a fragment and one a run",
    "sync.GLOBAL_SYNC_CYCLES": "published for the newest single-chip target only; older ones have no figure",
    "targets.Chip.min_ipu_sync_delay": "published syncs take 100 to 133 cycles; which part is the shortest trip is not",
    "host_exchange.MODEL_BEGIN": "only the sum of the three parts is published (114 and 128 cycles)",
    "host_exchange.MODEL_MID": "only the sum of the three parts is published",
    "host_exchange.MODEL_END": "only the sum of the three parts is published",
    "host_exchange.HARDWARE.begin_data": "77,000 to 88,000 cycles in one published trace: a property of that host",
    "host_exchange.HARDWARE.mid": "1,491 to 1,771 cycles for one word in the same trace",
    "host_exchange.HARDWARE.end_data": "79,500 to 84,000 cycles in the same trace: a property of that host",
    "external_exchange.EAST_SIDE": "which side of the chip an edge is: a name, no amount",
    "host_exchange.FURTHER_PACKET_BYTES": "what packets of PCI Express carry beside data is public, not whether the "
    "published rate includes it",
    "host_exchange.FURTHER_PACKET_CYCLES": "the figure is published, not what it belongs to",
    "host_exchange.REMOTE_ROW_ALIGNMENT": "the documentation says that rows are padded, not to what",
    "host_exchange.HEADER_PER_TILE": "two published totals (8.3 and 8.6 B a tile) fix the sum, not its parts",
    "host_exchange.HEADER_PER_PACKET": "as HEADER_PER_TILE",
    "host_exchange.CODE_PER_TILE": "one published total (290 B a tile) for two inputs and an output",
    "host_exchange.CODE_PER_STREAM": "as CODE_PER_TILE",
    "local_copy.CYCLES_PER_RUN": "strided copies of one published program; the codelets are not public",
    "cycles.convolution.LAUNCH": "the mean of a published 36 to 39; the causes of the range are not known",
    "footprint.CONTROL_CODE_ROOT": "what is left of 700 published bytes after counting the program's instructions",
    "footprint.VERTEX_CODE_GUESS": "code of types without a source; published: 140 to 274 B",
    "footprint.WORKER_STACK": "the published 3,168 B are a sum; this is how it divides, the sum does not change",
    "footprint.BRANCH_RECORD_BYTES": "the layout of the record is not public",
    "footprint.COPY_DESCRIPTOR": "3.1 kB of descriptors in one published program, with an unknown number of copies",
    "compiler.lowering.landing.CYCLES_PER_CODE_BYTE": "a preference of the compiler between speed and code; "
    "two published programs allow 1.19 to 1.33",
    "compiler.lowering.arrange_copies.SELF_SENT_BYTES": "a limit of the compiler: a program allows 544 to 768",
    "compiler.lowering.arrange_copies.SELF_SENT_SLACK": "a limit of the compiler, seen in no published program",
}

#: (figure, value, what it follows from)
DERIVED: list[tuple[str, str, str]] = [
    ("exchange.CODE_PER_RUN_SENT", "4 B", "one send instruction moves a run (published-numbers 1)"),
    ("exchange_code.LOOP_BYTES", "24 B", "six instructions, listed beside it"),
    ("exchange_code.ENTRY_BYTES", "4 B", "a word for each fragment"),
    ("exchange_code: cycles of a fragment", "3", "three instructions (published-numbers 3)"),
    ("host_exchange.MODEL.begin_data, end_data", "90, 10", "as of a control copy: an ideal host is not waited for"),
    ("host_exchange.HARDWARE.begin_control, end_control", "155, 87", "published as they are (published-numbers 3)"),
    ("host_exchange.CODE_PER_PACKET", "12 B", "three instructions, as for a fragment from another tile"),
    ("host_exchange.LOOP_CODE, LOOP_CYCLES", "8 B, 12", "two instructions, each in an issue slot of six cycles"),
    (
        "external_exchange: immediate, puts",
        "20 bits, 1",
        "`setzi` of the public LLVM back end; a put for each register",
    ),
    ("local_copy.START_CYCLES", "60", "the published 72 of the shortest copy, less one run"),
    ("local_copy.FILL_START_CYCLES", "28", "PopLibs' Fill of bytes: 28 + bytes / 4 (published-numbers 7.3)"),
    ("links.LAUNCH_CYCLES", "300", "half of a sync between IPUs, which crosses the links twice"),
    ("links.LINKS_ALONG", "2", "public documentation of C600 cards: a cable between two cards carries two links"),
    ("links.PACKET_HEADER_BYTES", "8 B", "as a header of a packet to the host"),
    ("launch.SUPERVISOR, SCALED_ADD, MULTI", "51, 53, 82", "measured, published as they are (published-numbers 5)"),
    ("launch.WORKERS", "82", "as of a MultiVertex, which starts and joins the same six workers"),
    (
        "cycles.convolution: launch with equal rows",
        "51",
        "as launch.SUPERVISOR; the published column has the same figure",
    ),
    (
        "footprint.CONTROL_CODE_PER_EXECUTE, PER_COUNTER",
        "8 B, 16 B",
        "72 published bytes of three counted vertices (published-numbers 6.2)",
    ),
    ("footprint.CONTROL_CODE_PER_CALL, PER_EXCHANGE, PER_STREAM_PART", "8 B", "load an address, call"),
    ("footprint.CONTROL_CODE_PER_SYNC, HIGH_STATE", "4 B", "one instruction"),
    ("footprint.CONTROL_CODE_PER_REPEAT", "20 B", "five instructions, listed beside it"),
    ("footprint.CONTROL_CODE_PER_CHOICE, WHILE, ABORT", "8 B", "two instructions each, listed beside them"),
    ("footprint.CONTROL_CODE_PER_BRANCH, CONSENSUS", "12 B", "three instructions each, listed beside them"),
    ("vertex_code.COUNTED, FRAME, LOOPS_OF_ADDITION", "4 B each", "instructions counted in public PopLibs assembly"),
    (
        "vertex_code.ESTIMATED",
        "4 B each",
        "constants of published estimators, an instruction each (published-numbers 7)",
    ),
    (
        "instructions.INSTRUCTIONS: a half stored",
        "3",
        "load, put into the word, store: the three slots of its cycles (published-numbers 2: triad in half)",
    ),
    ("vertex_code.PER_CYCLE", "2", "an instruction in each of the two counted loops"),
    ("footprint.SUPERVISOR_STACK", "480 B", "3,168 published bytes, less six workers' stacks and scratch"),
    ("footprint.VECTOR_LIST_ROW", "4 B", "20 bits of offset and 12 of length in public PopLibs codelets"),
    ("footprint.EXTERNAL_COUNTER_BYTES", "12 B", "a counter of 4 B for Begin, Mid and End of a stream copy"),
    ("footprint.COPY_VERTEX_STATE", "12 B", "two pointers and a size, by the published layout of vertex state"),
    ("codelets.counted_costs.GUESS_START", "20", "the start of published estimators (published-numbers 7.1)"),
    ("codelets.counted_costs.GUESS_PER_ELEMENT", "2", "6.3 slots for three elements of a triad (published-numbers 2)"),
    (
        "codelets.count_run.ENTRY, PER_EDGE",
        "5, 2",
        "published estimators: entry and exit, a load for each word of state",
    ),
]
