"""popnn: non-linearities, their gradients, pooling and losses."""

from simulator.poplibs.popnn import pooling as pooling
from simulator.poplibs.popnn.loss import LossType as LossType
from simulator.poplibs.popnn.loss import calcLoss as calcLoss
from simulator.poplibs.popnn.nonlinearity import NonLinearityType as NonLinearityType
from simulator.poplibs.popnn.nonlinearity import nonLinearity as nonLinearity
from simulator.poplibs.popnn.nonlinearity import nonLinearityInPlace as nonLinearityInPlace
from simulator.poplibs.popnn.nonlinearity import nonLinearityInputGradient as nonLinearityInputGradient
