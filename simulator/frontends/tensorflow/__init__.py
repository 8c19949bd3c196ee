"""TensorFlow programs on the simulated IPU."""
