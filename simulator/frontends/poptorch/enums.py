"""PopTorch's enumerations with PopTorch's numbers."""

from __future__ import annotations

import enum


class OutputMode(enum.IntEnum):
    """Which iterations of a run return their outputs."""

    Final = 0  #: the last one
    EveryN = 1  #: every n-th
    All = 2  #: each
    Sum = 3  #: their sum
    Default = 4  #: All for inference, Final for training


class ConnectionType(enum.IntEnum):
    """When a model attaches its device."""

    Always = 0  #: when it is compiled
    OnDemand = 1  #: before its first run, waiting until a device is free
    Never = 2  #: it compiles only


class DataLoaderMode(enum.IntEnum):
    """How a DataLoader reads its data set."""

    Sync = 0  #: when a batch is wanted
    Async = 1  #: ahead, in another process
    AsyncRebatched = 2  #: ahead, workers load smaller batches that are put together afterwards


class SharingStrategy(enum.IntEnum):
    """How a data set reaches the process of an AsynchronousDataAccessor."""

    SharedMemory = 0  #: pickled into a new process
    FileSystem = 1  #: pickled into a file
    Fork = 2
    ForkServer = 3


class SyncPattern(enum.IntEnum):
    """Which IPUs wait for each other."""

    Full = 0
    SinglePipeline = 1
    ReplicaAndLadder = 2


class ReductionType(enum.IntEnum):
    """How gradients of micro-batches and replicas become one."""

    Sum = 0
    Mean = 1
    NoReduction = 2


class MeanReductionStrategy(enum.IntEnum):
    """When the mean of gradients is divided."""

    Running = 0  #: at each micro-batch
    Post = 1  #: once, after all
    PostAndLoss = 2  #: by the replicas before the backward pass, by the micro-batches after it


class HalfFloatCastingBehavior(enum.IntEnum):
    """Type of an operator that reads float16 and float32."""

    FloatDowncastToHalf = 0
    HalfUpcastToFloat = 1
    Default = 2  #: as PyTorch: HalfUpcastToFloat


class MatMulSerializationMode(enum.Enum):
    """Dimension along which a product is taken in parts."""

    InputChannels = "input_channels"
    ReducingDim = "reducing_dim"
    OutputChannels = "output_channels"
    Disabled = "none"


class Liveness(enum.IntEnum):
    """Where tensors are between the phases of phased execution."""

    AlwaysLive = 0
    OffChipAfterFwd = 1
    OffChipAfterFwdNoOverlap = 2
    OffChipAfterEachPhase = 3


class OverlapMode(enum.Enum):
    """How far host transfers run ahead of the computation."""

    NoOverlap = "no_overlap"
    OverlapAccumulationLoop = "overlap_accumulation_loop"
    OverlapDeviceIterationLoop = "overlap_device_iteration_loop"


class AutoStage(enum.IntEnum):
    """Stage of a block that no strategy names."""

    SameAsIpu = 0  #: the number of its IPU
    AutoIncrement = 1  #: the next number


class MultiConvPlanType(enum.IntEnum):
    """Execution of a multi-convolution."""

    Parallel = 0
    Serial = 1


class CommGroupType(enum.IntEnum):
    """Which replicas form a group."""

    All = 0
    Consecutive = 1
    Orthogonal = 2
    NoGrouping = 3


class VariableRetrievalMode(enum.IntEnum):
    """Which replicas give the value of a variable that differs between groups."""

    OnePerGroup = 0
    AllReplicas = 2
