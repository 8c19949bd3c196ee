from simulator.frontends.tensorflow.optimizers import (
    CrossReplicaGradientAccumulationOptimizer,
    CrossReplicaGradientAccumulationOptimizerV2,
    CrossReplicaOptimizer,
    GradientAccumulationOptimizer,
    GradientAccumulationOptimizerV2,
    GradientAccumulationReductionMethod,
    IpuOptimizer,
    MapGradientOptimizer,
    ShardedOptimizer,
)
