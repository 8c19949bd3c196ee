"""Bytes that the compiler adds to a program: code, stacks, counters, descriptors.

The IPU Model keeps no code and no stack unless it compiles for the IPU (`compileIPUCode`); published reports of the
model show 0 there, and vertex state, field data, descriptors, headers, counters and control ids all the same.
"""

from __future__ import annotations

from simulator.machine.code_bytes import INSTRUCTION_BYTES
from simulator.machine.cycles.rounding import WORKERS as WORKERS

#: Control code of the root switch on every tile. Fitted to 700 bytes per tile for a program of four compute sets
#: (published-numbers 6.2); how they divide among the nodes is not public.
CONTROL_CODE_ROOT = 488
#: Control code of a compute set on a tile, for each vertex type that it runs there: setzi address of the vertices,
#: call; a tile without vertices only synchronises. The same published program's 851,272 bytes are 700 on each of 1,216
#: tiles and 72 more, and it has three vertices in compute sets of their own beside one vertex on every tile: 24 bytes
#: each. The program counts cycles, so these are six instructions: the call and the counter.
CONTROL_CODE_PER_EXECUTE = 2 * INSTRUCTION_BYTES
#: A cycle counter: get before, get after, sub, st32.
CONTROL_CODE_PER_COUNTER = 4 * INSTRUCTION_BYTES
#: Control code of a compute set on a tile whose vertex state may lie above the lower 256 KiB, which Mk1 does not have:
#: the `or` that completes the address.
CONTROL_CODE_HIGH_STATE = INSTRUCTION_BYTES
LOW_STATE_BYTES = 256 * 1024
#: setzi address, call: of exchange code, of a part of a stream copy, of a function.
CONTROL_CODE_PER_CALL = 2 * INSTRUCTION_BYTES
CONTROL_CODE_PER_EXCHANGE = CONTROL_CODE_PER_CALL
CONTROL_CODE_PER_STREAM_PART = CONTROL_CODE_PER_CALL
CONTROL_CODE_PER_SYNC = INSTRUCTION_BYTES
#: setzi count; st32 it at the head of the loop, for bodies use all registers; ld32, add -1, brnz.
CONTROL_CODE_PER_REPEAT = 5 * INSTRUCTION_BYTES
#: Programs that choose: ld32 value and put it where branches compare it.
CONTROL_CODE_PER_CHOICE = 2 * INSTRUCTION_BYTES
#: For each branch but the last: cmpeq, brz to the next one, bri to the end.
CONTROL_CODE_PER_BRANCH = 3 * INSTRUCTION_BYTES
#: Answering a sync with a predicate: ld32, put, sync.
CONTROL_CODE_PER_CONSENSUS = 3 * INSTRUCTION_BYTES
#: Reading the answer of the sync and jumping by it: get, brnz.
CONTROL_CODE_PER_WHILE = 2 * INSTRUCTION_BYTES
#: setzi number, trap.
CONTROL_CODE_PER_ABORT = 2 * INSTRUCTION_BYTES

#: Bytes of code of a vertex type that `simulator.machine.vertex_code` does not know and that has no source here, such
#: as a codelet in Python typed at a prompt. A guess, and reported as one.
VERTEX_CODE_GUESS = 256

#: Stacks of a tile: six workers', the supervisor's and 48 bytes of scratch per worker (published-numbers 6.2).
STACK_BYTES = 3168
WORKER_SCRATCH = 48

#: The split between workers and supervisor is fitted.
WORKER_STACK = 400
SUPERVISOR_STACK = STACK_BYTES - WORKERS * (WORKER_STACK + WORKER_SCRATCH)

#: Bytes of a pointer in a vertex's state, by layout: exact (poplar-model 1.4). A span is a pointer and a size.
POINTER_BYTES = {"span": 8, "short_span": 4, "one_ptr": 4}
#: A compressed pointer, by architecture: 16 bits on Mk1; public PopLibs codelets fall back to one pointer on later
#: chips, where the compressed layouts are not available.
COMPRESSED_POINTER = {"Ipu1": 2, "Ipu2": 4, "Ipu21": 4}
#: A list of single edges, and a row of a VectorList: one word of 20 bits of offset and 12 of length (public PopLibs
#: codelets: DELTAN_OFFSET_BITS), exact.
POINTER_PER_EDGE = 4
VECTOR_LIST_ROW = 4
#: A vertex's state begins and ends at a multiple of this: the smallest store that workers do not share (poplar-model
#: 1.1).
STATE_GRANULARITY = 4

#: Counters: 4 bytes per compute set and tile that has vertices in it (exact, published-numbers 6.2); when exchanges
#: with the outside are instrumented, one for each part of a stream copy: Begin, Mid, End.
COUNTER_BYTES = 4
EXTERNAL_COUNTER_BYTES = 3 * COUNTER_BYTES

#: Branch record, on one tile of the device: a word for each Repeat and for the switch between programs. A guess:
#: neither its layout nor its cycles are public, and no cycles are added.
BRANCH_RECORD_BYTES = 4

#: Switch variable and sync id, on the control tile.
CONTROL_ID_BYTES = 8

#: A local copy on a tile: for each run a vertex of three words (two pointers and a size, poplar-model 1.4), and 4 bytes
#: of descriptor where there are several. The descriptor is fitted. A vertex for each run: a published halo exchange has
#: 13,964 ShortMemcpy and Memcpy64Bit for as many runs (`simulator.machine.local_copy`). Runs that are vertices need no
#: descriptor of their own; the chain's 3.1 kB (published-numbers 6.1) are a few hundred words for some 7,000 copy
#: vertices.
COPY_VERTEX_STATE = 2 * POINTER_BYTES["one_ptr"] + 4
COPY_DESCRIPTOR = 4


#: Source of the bytes of each category, for cost terms: class, rule, published figure.
SOURCE = {
    "vertexInstanceState": "exact: fields by layout (poplar-model 1.4; published-numbers 6.2: 12 B and 16 B a vertex)",
    "vertexFieldData": "exact: a pointer for each inner vector or single edge of a list (poplar-model 1.4)",
    "vectorListDescriptor": "exact: a word a row (poplar-model 1.4; layout DELTAN of public codelets)",
    "localCopyState": "fitted: three words for each run of a copy on a tile",
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
