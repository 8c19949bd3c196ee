from simulator.frontends.tensorflow.config import DeviceConnectionType, IPUConfig
