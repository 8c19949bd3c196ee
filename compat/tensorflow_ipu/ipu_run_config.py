from simulator.frontends.tensorflow.refused_names import IPURunConfig, RunConfig
