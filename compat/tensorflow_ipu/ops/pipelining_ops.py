from simulator.frontends.tensorflow.pipeline_options import (
    PipelineSchedule,
    PipelineStageOptions,
    RecomputationMode,
)
from simulator.frontends.tensorflow.pipelining import OptimizerFunctionOutput, pipeline
