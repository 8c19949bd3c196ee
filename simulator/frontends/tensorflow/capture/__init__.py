"""Graphs of TensorFlow as captured programs."""
