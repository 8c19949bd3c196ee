"""What each option does here: it works, is recorded only, or is refused. docs/poptorch.md is written from this."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Effect(Enum):
    WORKS = "works"
    RECORDED = "recorded only"  #: checked and written to the report; the model cannot have its effect
    REFUSED = "refused"  #: a value other than the default raises, in a sentence that names the option


@dataclass(frozen=True)
class Entry:
    """`text`: what it does, or why it does nothing or is refused."""

    effect: Effect
    text: str


_WORKS = {
    "deviceIterations": "steps of one call",
    "replicationFactor": "copies of the model that share a batch; their gradients are all-reduced",
    "inputReplicaGrouping": "replicas of a group get the same inputs",
    "outputMode": "which iterations stream their outputs to the host",
    "anchorTensor": "streams a tensor of the program to the host",
    "setExecutionStrategy": "stages and IPUs of blocks",
    "broadcastBuffers": "whether replicas have the buffers of the first",
    "updatableNamedBuffers": "buffers that copyNamedBuffersToDevice sends",
    "randomSeed": "seeds the device's random numbers and PyTorch's",
    "enableSyntheticData": "leaves out transfers with the host",
    "connectionType": "when the device is attached",
    "useIpuModel": "the IPU Model in place of simulated hardware",
    "useIpuId": "one device and no other",
    "useOfflineIpuTarget": "compiles without a device",
    "autoRoundNumIPUs": "takes the next power of two of IPUs",
    "setAvailableMemoryProportion": "temporary memory of the planners of convolutions and products",
    "modelName": "folder of the report",
    "enableExecutableCaching": "folder of compiled programs",
    "enableProfiling": "sets autoReport.all, autoReport.directory and debug.allowOutOfMemory of the Engine",
    "logCycleCount": "cycles of each run for cycleCount()",
    "showCompilationProgressBar": "bar on standard error",
    "relaxOptimizerAttributesChecks": "level of warnings on unknown attributes of optimizers",
    "disableModuleNamescope": "leaves module paths out of names",
    "sourceLocationExcludes": "files that are not the user's",
    "appendToLocationExcludes": "more files that are not the user's",
    "Training.gradientAccumulation": "micro-batches of one update",
    "Training.accumulationAndReplicationReductionType": "mean or sum of gradients",
    "Precision.enableFloatingPointExceptions": "stops where a NaN or infinity is made",
    "Precision.enableStochasticRounding": "rounding to float16",
    "Precision.setPartialsType": "type in which products and convolutions sum",
    "Precision.halfFloatCasting": "PyTorch's rule; FloatDowncastToHalf needs torch.jit.trace and is refused",
    "Distributed.disable": "one process",
    "Distributed.setEnvVarNames": "share of a data set that a DataLoader reads",
    "Distributed.configureProcessId": "share of a data set that a DataLoader reads",
    "_Popart.setEngineOptions": "options of the Engine",
}

_ON_CHIP = "every tensor of the simulated model lies in tile memory"

_RECORDED = {
    "syncPattern": "the model lets only those IPUs wait that exchange data",
    "enableStableNorm": "norms are computed from differences to the mean always",
    "logDir": "PopTorch's log files tell of its compiler, which is another here",
    "maxRepeatLogs": "no log line is repeated",
    "Jit.traceModel": "modules are captured by torch.export always",
    "Precision.runningStatisticsAlwaysFloat": "running statistics have the type of the module's buffers",
    "Training.setMeanAccumulationAndReplicationReductionStrategy": "the sum of gradients is divided once, after all",
    "Training.setConvolutionDithering": "convolutions take the tiles that their plan names",
    "TensorLocations.numIOTiles": "every tile computes; host transfers do not overlap computation",
    "TensorLocations.setActivationLocation": _ON_CHIP,
    "TensorLocations.setWeightLocation": _ON_CHIP,
    "TensorLocations.setOptimizerLocation": _ON_CHIP,
    "TensorLocations.setAccumulatorLocation": _ON_CHIP,
    "_Popart.set": "options of PopART's compiler, which is another here; engineOptions work",
    "_Popart.setPatterns": "transformations of PopART's compiler, which is another here",
}

_REFUSED = {
    "Training.setAutomaticLossScaling": "give the optimizer a loss_scaling",
    "Precision.autocastEnabled": "types are those of the operands; use .half()",
    "Precision.autocastPolicy": "types are those of the operands; use .half()",
}

#: full name of a setter -> what it does here
OPTIONS: dict[str, Entry] = {
    name: Entry(effect, text)
    for effect, texts in ((Effect.WORKS, _WORKS), (Effect.RECORDED, _RECORDED), (Effect.REFUSED, _REFUSED))
    for name, text in texts.items()
}
