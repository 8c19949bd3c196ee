"""A lowered program: the graph and programs of one module, with the names of their streams. Plain values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, IntEnum

from simulator.frontends.lowering.cursor import Precision
from simulator.poplar import Graph
from simulator.poplar.program import Program
from simulator.poplibs.gcl import CommGroup


class Outputs(Enum):
    """Which of a run's micro-batches send their outputs to the host."""

    FINAL = "final"  #: the last one
    ALL = "all"  #: each
    EVERY_N = "every_n"  #: the last of every `period`
    SUM = "sum"  #: none: their sum is sent at the end


@dataclass(frozen=True)
class Observed:
    """A tensor that the user watches: sent to the host like an output, under `handle`."""

    handle: str
    tensor: str  #: a weight, "Gradient___" and a weight, or a module's result
    outputs: Outputs = Outputs.FINAL
    period: int = 1


@dataclass(frozen=True)
class Settings:
    """How often the program runs and what it sends. `iterations` are those of one run; each takes `accumulation`
    micro-batches per replica and ends, in training, with an update of the weights."""

    iterations: int = 1
    accumulation: int = 1
    replicas: int = 1
    outputs: Outputs = Outputs.ALL
    period: int = 1
    loss_scaling: float = 1.0
    loss_scaling_varies: bool = False  #: the host sends it with the optimizer's other numbers
    automatic_loss_scaling: bool = False  #: it follows the gradients (loss_scaling)
    accumulator_type: str = ""  #: of gradients that micro-batches add up; "": their weight's
    mean_over_accumulation: bool = True
    mean_over_replicas: bool = True
    precision: Precision = field(default_factory=Precision)
    observed: tuple[Observed, ...] = ()
    synthetic_data: bool = False  #: no stream copies of inputs and outputs
    front_end: str = "poptorch"  #: its name in debug information
    pipelined: bool = False  #: stages work at the same time on successive micro-batches
    #: weight -> the groups of replicas between which it differs
    weight_groups: Mapping[str, CommGroup] = field(default_factory=dict)

    def group_of(self, name: str) -> CommGroup | None:
        """The groups of a weight, or of a state of its optimizer ("Accl1___" and the weight); None: all replicas."""
        return self.weight_groups.get(name.rpartition("___")[2])

    def groups_of(self, name: str) -> list[int] | None:
        """The group of each replica for a weight or state; None where all replicas have the same values."""
        group = self.group_of(name)
        return None if group is None else group.groups(self.replicas)


class Entry(IntEnum):
    """The programs of an executable, in PopART's order as far as they exist here."""

    WEIGHTS_FROM_HOST = 0
    OPTIMIZER_FROM_HOST = 1
    SEED_FROM_HOST = 2
    SEED_TO_HOST = 3
    MAIN = 4
    WEIGHTS_TO_HOST = 5


#: What a program runs when it comes to a device and leaves it, whatever the number of its steps.
ONCE_PER_ATTACHMENT = tuple(int(entry) for entry in Entry if entry is not Entry.MAIN)


@dataclass(frozen=True)
class Stream:
    """One stream of the program. `shape` is that of one transfer of one replica."""

    handle: str
    shape: tuple[int, ...]
    dtype: str


@dataclass(frozen=True)
class StreamPair:
    """The two streams of a tensor that stays on the device. All replicas read the same values; each writes its own."""

    from_host: Stream
    to_host: Stream


@dataclass(frozen=True)
class OutputStream:
    """A stream to the host and the number of transfers that one run makes to it, for each replica."""

    stream: Stream
    transfers: int


@dataclass(frozen=True)
class Interface:
    """What the host must know of a program: streams by the names of the module's tensors."""

    settings: Settings
    inputs: Mapping[str, Stream]
    outputs: tuple[OutputStream, ...]
    observed: Mapping[str, OutputStream]
    weights: Mapping[str, StreamPair]
    states: Mapping[str, StreamPair]  #: of the optimizer
    rates: Mapping[str, Stream]  #: of the optimizer, sent by OPTIMIZER_FROM_HOST
    seed: StreamPair
    first_values: Mapping[str, float]  #: of the states
    tensor_names: tuple[str, ...] = ()  #: what can be observed
    written_inputs: Mapping[str, OutputStream] = field(default_factory=dict)  #: what the program writes to inputs


@dataclass(frozen=True)
class Lowered:
    """What a session compiles and connects."""

    graph: Graph
    programs: tuple[Program, ...]  #: by `Entry`
    interface: Interface
