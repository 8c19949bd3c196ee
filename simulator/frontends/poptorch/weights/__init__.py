"""Weights of a model: on the host, on the device, and by groups of replicas."""
