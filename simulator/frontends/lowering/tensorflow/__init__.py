"""Rules of TensorFlow's operators that mean something else than PyTorch's. The module of each family registers its own
on import."""

from __future__ import annotations

from simulator.frontends.lowering.tensorflow import constants as constants
from simulator.frontends.lowering.tensorflow import convolutions as convolutions
from simulator.frontends.lowering.tensorflow import elementwise as elementwise
from simulator.frontends.lowering.tensorflow import host_transfers as host_transfers
from simulator.frontends.lowering.tensorflow import indexing as indexing
from simulator.frontends.lowering.tensorflow import neural as neural
from simulator.frontends.lowering.tensorflow import optimizers as optimizers
from simulator.frontends.lowering.tensorflow import products as products
from simulator.frontends.lowering.tensorflow import randomness as randomness
from simulator.frontends.lowering.tensorflow import recurrent as recurrent
from simulator.frontends.lowering.tensorflow import tensor_lists as tensor_lists
from simulator.frontends.lowering.tensorflow import user_operations as user_operations
