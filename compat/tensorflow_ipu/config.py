from simulator.frontends.tensorflow.configuration.enumerations import (
    DeviceConnectionType,
    ExecutionProfileType,
    MergeRemoteBuffersBehaviour,
    SchedulingAlgorithm,
    SelectionOrder,
    StochasticRoundingBehaviour,
)
from simulator.frontends.tensorflow.configuration.ipu_config import (
    IPUConfig,
    configure_ipu_system,
    get_ipu_config,
    reset_ipu_configuration,
)
from simulator.frontends.tensorflow.configuration.options import AttributeMetadata
from simulator.frontends.tensorflow.flags import running_on_ipu_model
