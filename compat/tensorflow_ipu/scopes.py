from simulator.frontends.tensorflow.graph_mode import ipu_scope
