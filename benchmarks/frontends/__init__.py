"""Speed of PyTorch and TensorFlow programs on the simulated IPU beside the same programs on the stock framework."""
