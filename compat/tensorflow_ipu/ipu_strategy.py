from simulator.frontends.tensorflow.strategy import IPUStrategy, IPUStrategyV1
