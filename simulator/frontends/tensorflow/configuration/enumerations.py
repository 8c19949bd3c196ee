"""Enumerations of IPUConfig."""

from __future__ import annotations

from enum import Enum


class DeviceConnectionType(Enum):
    """When the device is attached; the values are those of the session's ConnectionType."""

    ALWAYS = 0  #: when the system is configured
    ON_DEMAND = 1  #: before the first run
    NEVER = 2  #: never: programs are only compiled
    PRE_COMPILE = 3  #: never: programs are compiled into the cache, and runs give zeros


class SelectionOrder(Enum):
    """The order in which shards are mapped to the IPUs of a device."""

    AUTO = "auto"
    ZIGZAG = "zigzag"
    SNAKE = "snake"
    HOOF = "hoof"


class ExecutionProfileType(Enum):
    """What is recorded of runs: nothing, cycles of the device, of each IPU, or of each tile."""

    NO_PROFILE = "no_profile"
    DEVICE_PROFILE = "device_profile"
    IPU_PROFILE = "ipu_profile"
    TILE_PROFILE = "tile_profile"


class MergeRemoteBuffersBehaviour(Enum):
    """When compatible remote buffers are merged."""

    NO_MERGING = "no_merging"
    MERGE = "merge"
    IF_BENEFICIAL = "if_beneficial"


class SchedulingAlgorithm(Enum):
    """How TensorFlow's compiler orders operations."""

    CHOOSE_BEST = "choose_best"
    CLUSTERING = "clustering"
    POST_ORDER = "post_order"
    LOOK_AHEAD = "look_ahead"
    SHORTEST_PATH = "shortest_path"


class StochasticRoundingBehaviour(Enum):
    """Rounding to float16: to the nearest, at random, or at random where all replicas get the same values."""

    OFF = "off"
    ON = "on"
    REPLICA_IDENTICAL_ONLY = "replica_identical_only"

    @staticmethod
    def from_bool(value: bool) -> StochasticRoundingBehaviour:
        return StochasticRoundingBehaviour.ON if value else StochasticRoundingBehaviour.OFF


class SyntheticDataCategory(Enum):
    """Kinds of transfers that synthetic data may take the place of."""

    Seed = 0
    Infeed = 1
    Outfeed = 2
    HostEmbedding = 3
    Parameters = 4
