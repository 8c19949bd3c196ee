"""Bytes that the compiler adds to a program: code, stacks, counters, descriptors.

The IPU Model keeps no code and no stack unless it compiles for the IPU (`compileIPUCode`); published reports of the
model show 0 there, and vertex state, field data, descriptors, headers, counters and control ids all the same.
"""

from __future__ import annotations

from simulator.machine.cycles.rounding import WORKERS as WORKERS

#: Control code of the root switch on every tile. Fitted to 700 bytes per tile for a program of four compute sets
#: (published-numbers 6.2); how they divide among the nodes is not public.
CONTROL_CODE_ROOT = 488
#: Control code of a compute set on a tile, for each vertex type that it runs there; a tile without vertices only
#: synchronises. The same program's 851,272 bytes are 700 on each of 1,216 tiles and 72 more, and it has three vertices
#: in compute sets of their own beside one vertex on every tile: 24 bytes each, six instructions.
CONTROL_CODE_PER_EXECUTE = 24
#: Control code that a compute set on a tile saves when vertex state has low addresses: one instruction. A guess.
CONTROL_CODE_LOW_STATE = 4
CONTROL_CODE_PER_EXCHANGE = 8
CONTROL_CODE_PER_STREAM_PART = 8
CONTROL_CODE_PER_SYNC = 4
CONTROL_CODE_PER_REPEAT = 20
CONTROL_CODE_PER_CALL = 8
#: Control code of programs that choose: loading the value, for each branch but the last a comparison and a jump, and a
#: jump to the end; answering a sync with a predicate; jumping by the answer of the sync; trapping. Guesses: two or
#: three instructions each.
CONTROL_CODE_PER_CHOICE = 8
CONTROL_CODE_PER_BRANCH = 12
CONTROL_CODE_PER_CONSENSUS = 12
CONTROL_CODE_PER_WHILE = 8
CONTROL_CODE_PER_ABORT = 8

#: Bytes of a vertex's code where its type does not say. A guess, and reported as one.
VERTEX_CODE_GUESS = 256

#: Published: 3,168 bytes per tile, six worker stacks, the supervisor's and 48 bytes of scratch per worker.
#: The split between workers and supervisor is fitted.
WORKER_STACK = 400
SUPERVISOR_STACK = 480
WORKER_SCRATCH = 48

#: Bytes of a pointer in a vertex's state, by layout: exact (poplar-model 1.4). A span is a pointer and a size.
POINTER_BYTES = {"span": 8, "short_span": 4, "one_ptr": 4}
#: A compressed pointer, by architecture: 16 bits on Mk1; public PopLibs codelets fall back to one pointer on later
#: chips, where the compressed layouts are not available.
COMPRESSED_POINTER = {"Ipu1": 2, "Ipu2": 4, "Ipu21": 4}
#: A list of single edges, and a row of a VectorList (the latter fitted: poplar-model 1.4 marks it as not verified).
POINTER_PER_EDGE = 4
VECTOR_LIST_ROW = 4
#: A vertex's state begins and ends at a multiple of this: the smallest store that workers do not share (poplar-model
#: 1.1).
STATE_GRANULARITY = 4

#: Counters: 4 bytes per compute set and tile that has vertices in it (exact, published-numbers 6.2); 12 bytes per tile
#: when exchanges with the outside are instrumented (fitted to published-numbers 6.1).
COUNTER_BYTES = 4
EXTERNAL_COUNTER_BYTES = 12

#: Branch record, on one tile of the device: a word for each Repeat and for the switch between programs. A guess:
#: neither its layout nor its cycles are public, and no cycles are added.
BRANCH_RECORD_BYTES = 4

#: Switch variable and sync id, on the control tile.
CONTROL_ID_BYTES = 8

#: A local copy on a tile: for each run a vertex of 12 bytes (source, destination, size), and 4 bytes of descriptor
#: where there are several. Fitted. A vertex for each run: a published halo exchange has 13,964 ShortMemcpy and
#: Memcpy64Bit for as many runs (`simulator.machine.local_copy`). Runs that are vertices need no descriptor of their
#: own; the chain's 3.1 kB (published-numbers 6.1) are a few hundred words for some 7,000 copy vertices.
COPY_VERTEX_STATE = 12
COPY_DESCRIPTOR = 4


#: Source of the bytes of each category, for cost terms: class, rule, published figure.
SOURCE = {
    "vertexInstanceState": "exact: fields by layout (poplar-model 1.4; published-numbers 6.2: 12 B and 16 B a vertex)",
    "vertexFieldData": "exact: a pointer for each inner vector or single edge of a list (poplar-model 1.4)",
    "vectorListDescriptor": "fitted: 4 B a row (poplar-model 1.4)",
    "vertexCode": "guess: 256 B for a type that does not say (published-numbers 6.2: 140 to 274 B)",
    "localCopyState": "fitted: 12 B for each run of a copy on a tile",
    "copyDescriptor": "fitted: 4 B for each copy of several runs on a tile",
    "controlCode": "fitted: 700 B a tile for four compute sets, 24 B for each on a tile (published-numbers 6.2)",
    "internalExchangeCode": "fitted: 140 B for four runs on three tiles (published-numbers 3)",
    "globalExchangeCode": "fitted: as exchange code within an IPU",
    "hostExchangeCode": "fitted: 200 B a tile, 30 B a stream, 12 B a packet (published-numbers 6.2)",
    "hostExchangePacketHeader": "fitted: 8 B a tile, 4 B a packet (published-numbers 6.1, 6.2)",
    "globalExchangePacketHeader": "fitted: a header for each packet",
    "controlId": "exact: switch variable and sync id (published-numbers 6.1: 8 B)",
    "stack": "exact in sum: 3,168 B a tile (published-numbers 6.2), 48 B of scratch for each of six workers; the split "
    "is fitted",
    "counters": "exact: 4 B for each counter (published-numbers 6.2: compute sets times tiles with vertices in them)",
    "externalCounters": "fitted: 12 B a tile (published-numbers 6.1)",
    "branchRecord": "guess: 4 B for each loop and switch",
}


def stack_bytes(worker: int | None = None, supervisor: int | None = None) -> int:
    """Bytes of stack on a tile; arguments replace the computed sizes (debug.workerStackSizeInBytes ...)."""
    w = WORKER_STACK if worker is None else worker
    s = SUPERVISOR_STACK if supervisor is None else supervisor
    return WORKERS * (w + WORKER_SCRATCH) + s
