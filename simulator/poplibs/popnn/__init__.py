"""popnn: non-linearities, their gradients, pooling, normalisation and losses."""

from simulator.poplibs.host_trace import trace_calls
from simulator.poplibs.library_calls import addCodelets as addCodelets
from simulator.poplibs.popnn import bn as bn
from simulator.poplibs.popnn import gn as gn
from simulator.poplibs.popnn import gru as gru
from simulator.poplibs.popnn import in_ as in_
from simulator.poplibs.popnn import ln as ln
from simulator.poplibs.popnn import lstm as lstm
from simulator.poplibs.popnn import pooling as pooling
from simulator.poplibs.popnn import rnn as rnn
from simulator.poplibs.popnn.extremes import argMax as argMax
from simulator.poplibs.popnn.extremes import argMin as argMin
from simulator.poplibs.popnn.extremes import maxAndArgMax as maxAndArgMax
from simulator.poplibs.popnn.extremes import minAndArgMin as minAndArgMin
from simulator.poplibs.popnn.extremes import topK as topK
from simulator.poplibs.popnn.loss import LossType as LossType
from simulator.poplibs.popnn.loss import calcAccuracy as calcAccuracy
from simulator.poplibs.popnn.loss import calcLoss as calcLoss
from simulator.poplibs.popnn.nonlinearity import NonLinearityType as NonLinearityType
from simulator.poplibs.popnn.nonlinearity import gelu as gelu
from simulator.poplibs.popnn.nonlinearity import geluInPlace as geluInPlace
from simulator.poplibs.popnn.nonlinearity import nonLinearity as nonLinearity
from simulator.poplibs.popnn.nonlinearity import nonLinearityInPlace as nonLinearityInPlace
from simulator.poplibs.popnn.nonlinearity import nonLinearityInputGradient as nonLinearityInputGradient
from simulator.poplibs.popnn.nonlinearity import relu as relu
from simulator.poplibs.popnn.nonlinearity import reluInPlace as reluInPlace
from simulator.poplibs.popnn.nonlinearity import scaledSoftmaxStable as scaledSoftmaxStable
from simulator.poplibs.popnn.nonlinearity import scaledSoftmaxStableInPlace as scaledSoftmaxStableInPlace
from simulator.poplibs.popnn.nonlinearity import sigmoid as sigmoid
from simulator.poplibs.popnn.nonlinearity import sigmoidInPlace as sigmoidInPlace
from simulator.poplibs.popnn.nonlinearity import softmax as softmax
from simulator.poplibs.popnn.nonlinearity import softmaxInPlace as softmaxInPlace
from simulator.poplibs.popnn.nonlinearity import softmaxStable as softmaxStable
from simulator.poplibs.popnn.nonlinearity import softmaxStableInPlace as softmaxStableInPlace
from simulator.poplibs.popnn.nonlinearity import swish as swish
from simulator.poplibs.popnn.nonlinearity import swishInPlace as swishInPlace
from simulator.poplibs.popnn.nonlinearity import tanh as tanh
from simulator.poplibs.popnn.nonlinearity import tanhInPlace as tanhInPlace
from simulator.poplibs.popnn.norms import createNormBeta as createNormBeta
from simulator.poplibs.popnn.norms import createNormGamma as createNormGamma
from simulator.poplibs.popnn.norms import createNormParams as createNormParams
from simulator.poplibs.popnn.norms import getNormBwdFlops as getNormBwdFlops
from simulator.poplibs.popnn.norms import getNormFwdFlops as getNormFwdFlops
from simulator.poplibs.popnn.norms import getNormWuFlops as getNormWuFlops
from simulator.poplibs.popnn.pool_params import PoolingType as PoolingType
from simulator.poplibs.popnn.softmax_steps import logSoftmax as logSoftmax
from simulator.poplibs.popnn.softmax_steps import logSoftmaxInPlace as logSoftmaxInPlace
from simulator.poplibs.popops.one_hot import MASKED_LABEL_CODE as MASKED_LABEL_CODE

# In C++ the members of this enumeration are names of the library too.
SUM_SQUARED_LOSS, CROSS_ENTROPY_LOSS = LossType.SUM_SQUARED_LOSS, LossType.CROSS_ENTROPY_LOSS

trace_calls("popnn", globals())
