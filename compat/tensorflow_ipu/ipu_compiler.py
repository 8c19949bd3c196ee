from simulator.frontends.tensorflow.graph_mode import compile
