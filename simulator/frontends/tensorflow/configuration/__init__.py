"""How a TensorFlow program configures the IPU system."""
