from simulator.frontends.tensorflow.graph_mode import ipu_scope, ipu_shard
from simulator.frontends.tensorflow.host_scope import outside_compilation_scope
from simulator.frontends.tensorflow.refused_names import (
    frontend_attribute,
    ipu_jit_scope,
    partials_type,
    stochastic_rounding,
)
