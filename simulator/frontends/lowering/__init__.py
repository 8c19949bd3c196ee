"""Lowering: captured operators become PopLibs calls. The module of each family registers its rules on import."""

from __future__ import annotations

from simulator.frontends.lowering import activations as activations
from simulator.frontends.lowering import attention as attention
from simulator.frontends.lowering import control_flow as control_flow
from simulator.frontends.lowering import convolutions as convolutions
from simulator.frontends.lowering import embedding as embedding
from simulator.frontends.lowering import losses as losses
from simulator.frontends.lowering import markers as markers
from simulator.frontends.lowering import norms as norms
from simulator.frontends.lowering import pooling as pooling
from simulator.frontends.lowering import products as products
from simulator.frontends.lowering import randomness as randomness
from simulator.frontends.lowering import recurrent as recurrent
from simulator.frontends.lowering import softmax as softmax
from simulator.frontends.lowering import tensorflow as tensorflow
from simulator.frontends.lowering.elementwise import arithmetic as arithmetic
from simulator.frontends.lowering.elementwise import comparisons as comparisons
from simulator.frontends.lowering.elementwise import creation as creation
from simulator.frontends.lowering.elementwise import functions as functions
from simulator.frontends.lowering.reducing import reductions as reductions
from simulator.frontends.lowering.reducing import scans as scans
from simulator.frontends.lowering.reducing import statistics as statistics
from simulator.frontends.lowering.shaping import indexing as indexing
from simulator.frontends.lowering.shaping import padding as padding
from simulator.frontends.lowering.shaping import resizing as resizing
from simulator.frontends.lowering.shaping import scatter_reduce as scatter_reduce
from simulator.frontends.lowering.shaping import slices as slices
from simulator.frontends.lowering.shaping import sorting as sorting
from simulator.frontends.lowering.shaping import views as views
