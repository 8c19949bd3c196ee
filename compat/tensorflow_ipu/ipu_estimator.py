from simulator.frontends.tensorflow.refused_names import IPUEstimator, IPUEstimatorSpec
