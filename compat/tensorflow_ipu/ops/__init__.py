"""Operators of `tensorflow.python.ipu`; names only."""
