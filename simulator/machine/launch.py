"""Launch overhead of vertices on hardware, in tile cycles beyond their estimates; the IPU Model adds none.

Source: published-numbers 5.1 and 5.2, hardware minus estimator, as measured; cost terms call them fitted, since no rule
is published. Worker vertices that a compute set shares out were not measured: they start and join six workers as
a MultiVertex does (51 for the call and about 31 for the workers, poplar-model 5.2).
A vertex type can give a figure of its own (`BlockCosts.launch`); AMP 1x1 does (`cycles.convolution.amp_launch`).
"""

from __future__ import annotations

#: each supervisor vertex: + 51 for AMP 1x1 and for ScaledAdd of 64 floats, + 53 for ScaledAdd of 128, 256 and 512
SUPERVISOR, SCALED_ADD = 51, 53
#: each MultiVertex: BinaryOp1D of 10 and of 1,024 floats
MULTI = 82
#: once per tile and compute set that has worker vertices
WORKERS = MULTI

CYCLES = {"supervisor": SUPERVISOR, "multi": MULTI, "worker": WORKERS}
SOURCE = {
    "supervisor": "fitted: hardware minus estimator of AMP 1x1 and ScaledAdd, 51 to 53 (published-numbers 5)",
    "multi": "fitted: hardware minus estimator of BinaryOp1D (published-numbers 5.2)",
    "worker": "guess: starting and joining six workers as a MultiVertex does (published-numbers 5.2)",
}
OWN_SOURCE = "fitted: hardware minus estimator of this vertex type (published-numbers 5.1)"
