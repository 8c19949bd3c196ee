"""Converters of TensorFlow's operators by family. The module of each registers its own on import."""

from __future__ import annotations

from simulator.frontends.tensorflow.capture.converters import control_flow as control_flow
from simulator.frontends.tensorflow.capture.converters import elementwise as elementwise
from simulator.frontends.tensorflow.capture.converters import host_calls as host_calls
from simulator.frontends.tensorflow.capture.converters import neural as neural
from simulator.frontends.tensorflow.capture.converters import products as products
from simulator.frontends.tensorflow.capture.converters import randomness as randomness
from simulator.frontends.tensorflow.capture.converters import reductions as reductions
from simulator.frontends.tensorflow.capture.converters import shaping as shaping
from simulator.frontends.tensorflow.capture.converters import tensor_lists as tensor_lists
from simulator.frontends.tensorflow.capture.converters import variables as variables
