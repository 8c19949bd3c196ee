"""The table of lowered programs: one row per node of the tree, in pre-order, with the work of each."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field

import numpy as np

from popvision.formats.profile import model
from simulator.arrays import BoolArray, Int64Array
from simulator.compiler.ir.accesses import Accesses, Elements, Moves
from simulator.compiler.ir.exchanges import Exchange, Exchanges
from simulator.compiler.ir.transfers import Transfer

CONTROL, FUNCTION = "control", "function"


@dataclass(frozen=True)
class Buffer:
    """A compiler's buffer, live while the rows that list it run."""

    name: str
    category: str
    bytes: Int64Array  #: per tile of the device
    debug_id: int = -1  #: record of the compute set that needs it


@dataclass(frozen=True)
class Packets:
    """The compute set `copy` that fills packet `buffers` before an exchange between IPUs; -1 = no such exchange."""

    copy: int
    buffers: tuple[int, ...]


@dataclass
class SentWords:
    """Words of a small tensor that other tiles receive. `exchange` is empty where no tile needs them."""

    label: str
    elements: Elements
    exchange: Exchanges
    moves: Moves
    packets: Packets
    buffers: tuple[int, ...]  #: on the receiving tiles, in the order of `rows`
    rows: Transfer
    item_bytes: int  #: of an element; it takes a word in the exchange
    code_counted: bool = False

    def first_use(self) -> bool:
        """True for the first program that sends them, which counts the exchange code."""
        first, self.code_counted = not self.code_counted, True
        return first


@dataclass(frozen=True)
class Part:
    """One of several host copies that a program is lowered to: elements [begin, end) of a stream, or one direction of
    a host function call."""

    number: int
    of: int
    begin: int
    end: int


@dataclass
class Work:
    """The work of a row. The cycles of OnTileExecute rows are those of their compute set."""

    cycles: Int64Array | None = None  #: per tile of the device; None = takes no time
    exchange: Exchange | None = None  #: traffic of DoExchange and GlobalExchange
    code: bool = True  #: count the exchange code in this row; false for further uses of the same exchange
    rx: Int64Array | None = None  #: bytes received per tile by host copies
    tx: Int64Array | None = None  #: bytes sent per tile by host copies
    host_code: Int64Array | None = None  #: bytes of host exchange code per tile
    accesses: Accesses | None = None
    undefined: Elements | None = None  #: elements that WriteUndef makes undefined
    buffers: tuple[int, ...] = ()  #: rows of ExchangePlans.buffers
    words: SentWords | None = None  #: that an If or Switch reads
    counter_cycles: int = 0  #: of `cycles`, on each tile that takes part, for reading cycle counters
    part: Part | None = None  #: of a StreamCopyMid; None = all of its program
    host_wait: int = 0  #: cycles of a StreamCopyBegin after its barrier
    host_called: bool = False  #: at a StreamCopyBegin without a stream: code of the host runs (a print, a function)
    stream: str = ""  #: handle of the stream of a StreamCopyBegin or End
    stream_bytes: int = 0  #: of the transfer of a StreamCopyBegin or End with a stream
    waiting: BoolArray | None = None  #: tiles that take part in a Sync or StreamCopyBegin, None = all
    sync_group: str = ""  #: of an external barrier: "GS1" (the IPUs of a replica) or "GS2" (all)
    replica_map: tuple[int, ...] = ()  #: receiving replica of each replica in a GlobalExchange, () = itself


@dataclass
class ProgramTable:
    """Columns by row. `children`, `parent` (-1 for a root) and `function_roots` hold rows."""

    type: list[str] = field(default_factory=list)
    name: list[str] = field(default_factory=list)
    owner: list[str] = field(default_factory=list)
    compute_set: list[int] = field(default_factory=list)
    repeat_count: list[int] = field(default_factory=list)
    debug_id: list[int] = field(default_factory=list)
    sync_type: list[str] = field(default_factory=list)
    children: list[list[int]] = field(default_factory=list)
    parent: list[int] = field(default_factory=list)
    work: list[Work] = field(default_factory=list)
    function: list[int] = field(default_factory=list)  #: function a Call calls, -1 elsewhere
    function_roots: dict[int, int] = field(default_factory=dict)  #: row of each called function's body

    def __len__(self) -> int:
        return len(self.type)

    def add(
        self,
        parent: int | None,
        type_: str,
        name: str = "",
        *,
        work: Work | None = None,
        compute_set: int = -1,
        repeat_count: int = 0,
        debug_id: int = -1,
        sync_type: str = "",
        function: int = -1,
        owner: str = CONTROL,
    ) -> int:
        """Append a node below `parent` (None: a root of the list `owner`) and return its row."""
        row = len(self.type)
        self.type.append(type_)
        self.name.append(name)
        self.owner.append(owner if parent is None else self.owner[parent])
        self.compute_set.append(compute_set)
        self.repeat_count.append(repeat_count)
        self.debug_id.append(debug_id)
        self.sync_type.append(sync_type)
        self.children.append([])
        self.parent.append(-1 if parent is None else parent)
        self.work.append(work or Work())
        self.function.append(function)
        if parent is not None:
            self.children[parent].append(row)
        return row

    def row_before_end(self, parent: int) -> int:
        """The row that ran last wherever a child appended to `parent` would begin, -1 where that is not certain or
        nothing ran: Sequences are looked through on both sides, loops, choices and functions are not, and WriteUndef
        does nothing."""
        row = parent
        before = len(self.children[row])
        while True:
            before -= 1
            if before < 0:
                above = self.parent[row]
                if self.type[row] != "Sequence" or above < 0 or self.type[above] != "Sequence":
                    return -1
                before, row = bisect_left(self.children[above], row), above  # in order of rows
                continue
            child = self.children[row][before]
            if self.type[child] == "Sequence":
                row, before = child, len(self.children[child])
            elif self.type[child] != "WriteUndef":
                return child

    def as_model(self) -> model.Programs:
        """The columns that reports hold."""
        counts = [len(c) for c in self.children]
        return model.Programs(
            type=self.type,
            name=self.name,
            owner=self.owner,
            compute_set=np.array(self.compute_set, np.int32),
            repeat_count=np.array(self.repeat_count, np.int64),
            debug_id=np.array(self.debug_id, np.int64),
            sync_type=self.sync_type,
            child_offsets=np.concatenate([[0], np.cumsum(counts, dtype=np.int64)]).astype(np.int64),
            children=np.array([c for row in self.children for c in row], np.int64),
            callee=np.array([self.function_roots[f] if f >= 0 else -1 for f in self.function], np.int64),
        )
