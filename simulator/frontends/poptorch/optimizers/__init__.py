"""Optimizers of a training model: what lowering reads of one, and its states on the device and in a checkpoint."""
