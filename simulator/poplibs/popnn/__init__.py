"""popnn: non-linearities, their gradients, pooling, normalisation and losses."""

from simulator.poplibs.popnn import pooling as pooling
from simulator.poplibs.popnn.loss import LossType as LossType
from simulator.poplibs.popnn.loss import calcLoss as calcLoss
from simulator.poplibs.popnn.named_nonlinearities import gelu as gelu
from simulator.poplibs.popnn.named_nonlinearities import geluInPlace as geluInPlace
from simulator.poplibs.popnn.named_nonlinearities import relu as relu
from simulator.poplibs.popnn.named_nonlinearities import reluInPlace as reluInPlace
from simulator.poplibs.popnn.named_nonlinearities import scaledSoftmaxStable as scaledSoftmaxStable
from simulator.poplibs.popnn.named_nonlinearities import scaledSoftmaxStableInPlace as scaledSoftmaxStableInPlace
from simulator.poplibs.popnn.named_nonlinearities import sigmoid as sigmoid
from simulator.poplibs.popnn.named_nonlinearities import sigmoidInPlace as sigmoidInPlace
from simulator.poplibs.popnn.named_nonlinearities import softmax as softmax
from simulator.poplibs.popnn.named_nonlinearities import softmaxInPlace as softmaxInPlace
from simulator.poplibs.popnn.named_nonlinearities import softmaxStable as softmaxStable
from simulator.poplibs.popnn.named_nonlinearities import softmaxStableInPlace as softmaxStableInPlace
from simulator.poplibs.popnn.named_nonlinearities import swish as swish
from simulator.poplibs.popnn.named_nonlinearities import swishInPlace as swishInPlace
from simulator.poplibs.popnn.named_nonlinearities import tanh as tanh
from simulator.poplibs.popnn.named_nonlinearities import tanhInPlace as tanhInPlace
from simulator.poplibs.popnn.nonlinearity import NonLinearityType as NonLinearityType
from simulator.poplibs.popnn.nonlinearity import nonLinearity as nonLinearity
from simulator.poplibs.popnn.nonlinearity import nonLinearityInPlace as nonLinearityInPlace
from simulator.poplibs.popnn.nonlinearity import nonLinearityInputGradient as nonLinearityInputGradient
from simulator.poplibs.popnn.softmax_steps import logSoftmax as logSoftmax
from simulator.poplibs.popnn.softmax_steps import logSoftmaxInPlace as logSoftmaxInPlace
