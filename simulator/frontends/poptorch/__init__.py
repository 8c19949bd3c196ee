"""PopTorch's API on the simulated IPU. `compat/poptorch` gives it PopTorch's name.

Needs the extra [torch]; without PyTorch the import fails with one sentence.
"""

try:
    import torch  # noqa: F401
except ModuleNotFoundError as error:
    raise ImportError(
        "PopTorch programs need PyTorch: pip install 'popvision[torch]' --extra-index-url "
        "https://download.pytorch.org/whl/cpu"
    ) from error

from simulator.frontends.poptorch import enums, optim, profiling
from simulator.frontends.poptorch.blocks import (
    BeginBlock,
    Block,
    BlockFunction,
    NameScope,
    isRunningOnIpu,
    removeBlocks,
)
from simulator.frontends.poptorch.compiled_model import registerPostCompileHook, registerPreCompileHook
from simulator.frontends.poptorch.data.argument_parsers import ICustomArgParser, registerCustomArgParser
from simulator.frontends.poptorch.data.data_accessor import AsynchronousDataAccessor
from simulator.frontends.poptorch.data.data_loader import DataLoader
from simulator.frontends.poptorch.enums import (
    AutoStage,
    CommGroupType,
    ConnectionType,
    DataLoaderMode,
    HalfFloatCastingBehavior,
    Liveness,
    MatMulSerializationMode,
    MeanReductionStrategy,
    MultiConvPlanType,
    OutputMode,
    OverlapMode,
    ReductionType,
    SharingStrategy,
    SyncPattern,
    VariableRetrievalMode,
)
from simulator.frontends.poptorch.errors import ConfigFileError, Error, RecoverableError, UnrecoverableError
from simulator.frontends.poptorch.executor import PoplarExecutor
from simulator.frontends.poptorch.hardware import ipuHardwareIsAvailable, ipuHardwareVersion
from simulator.frontends.poptorch.logging import logger, setLogLevel
from simulator.frontends.poptorch.models import inferenceModel, load, trainingModel
from simulator.frontends.poptorch.operators import (
    cond,
    for_loop,
    identity_loss,
    ipu_print_tensor,
    nop,
    recomputationCheckpoint,
    serializedMatMul,
    set_available_memory,
    set_overlap_for_input,
    set_overlap_for_output,
)
from simulator.frontends.poptorch.options import Options
from simulator.frontends.poptorch.refused import REFUSED
from simulator.frontends.poptorch.strategies import (
    ParallelPhasedExecution,
    Phase,
    PipelinedExecution,
    SerialPhasedExecution,
    ShardedExecution,
    Stage,
)
from simulator.frontends.poptorch.tensor_locations import TensorLocationSettings

custom_op = REFUSED["custom_op"]
MultiConv = REFUSED["MultiConv"]
CPU = REFUSED["CPU"]
ctc_beam_search_decoder = REFUSED["ctc_beam_search_decoder"]
dynamic_slice = REFUSED["dynamic_slice"]
dynamic_update = REFUSED["dynamic_update"]
fps = REFUSED["fps"]
nearest = REFUSED["nearest"]
Attribute = REFUSED["Attribute"]
autocasting = REFUSED["autocasting"]
importPoptorchMetadataFromFile = REFUSED["importPoptorchMetadataFromFile"]

__all__ = [
    "CPU",
    "AsynchronousDataAccessor",
    "Attribute",
    "AutoStage",
    "BeginBlock",
    "Block",
    "BlockFunction",
    "CommGroupType",
    "ConfigFileError",
    "ConnectionType",
    "DataLoader",
    "DataLoaderMode",
    "Error",
    "HalfFloatCastingBehavior",
    "ICustomArgParser",
    "Liveness",
    "MatMulSerializationMode",
    "MeanReductionStrategy",
    "MultiConv",
    "MultiConvPlanType",
    "NameScope",
    "Options",
    "OutputMode",
    "OverlapMode",
    "ParallelPhasedExecution",
    "Phase",
    "PipelinedExecution",
    "PoplarExecutor",
    "RecoverableError",
    "ReductionType",
    "SerialPhasedExecution",
    "ShardedExecution",
    "SharingStrategy",
    "Stage",
    "SyncPattern",
    "TensorLocationSettings",
    "UnrecoverableError",
    "VariableRetrievalMode",
    "autocasting",
    "cond",
    "ctc_beam_search_decoder",
    "custom_op",
    "dynamic_slice",
    "dynamic_update",
    "enums",
    "for_loop",
    "fps",
    "identity_loss",
    "importPoptorchMetadataFromFile",
    "inferenceModel",
    "ipuHardwareIsAvailable",
    "ipuHardwareVersion",
    "ipu_print_tensor",
    "isRunningOnIpu",
    "load",
    "logger",
    "nearest",
    "nop",
    "optim",
    "profiling",
    "recomputationCheckpoint",
    "registerCustomArgParser",
    "registerPostCompileHook",
    "registerPreCompileHook",
    "removeBlocks",
    "serializedMatMul",
    "setLogLevel",
    "set_available_memory",
    "set_overlap_for_input",
    "set_overlap_for_output",
    "trainingModel",
]
