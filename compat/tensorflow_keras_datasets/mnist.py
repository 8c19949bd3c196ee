from simulator.frontends.tensorflow.datasets import load_data
