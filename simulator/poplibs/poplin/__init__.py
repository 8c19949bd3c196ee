"""poplin: matrix products and convolutions."""

from simulator.poplibs.poplin.conv_api import addBias as addBias
from simulator.poplibs.poplin.conv_api import calculateWeightDeltas as calculateWeightDeltas
from simulator.poplibs.poplin.conv_api import convolution as convolution
from simulator.poplibs.poplin.conv_api import convolution_plan as convolution_plan
from simulator.poplibs.poplin.conv_api import convolutionBiasUpdate as convolutionBiasUpdate
from simulator.poplibs.poplin.conv_api import convolutionWeightUpdate as convolutionWeightUpdate
from simulator.poplibs.poplin.conv_api import createBiases as createBiases
from simulator.poplibs.poplin.conv_api import createInput as createInput
from simulator.poplibs.poplin.conv_api import createWeights as createWeights
from simulator.poplibs.poplin.conv_api import reportPlanInfo as reportPlanInfo
from simulator.poplibs.poplin.conv_api import weightsTransposeChansFlipXY as weightsTransposeChansFlipXY
from simulator.poplibs.poplin.convolution_params import ConvParams as ConvParams
from simulator.poplibs.poplin.convolution_params import InputTransform as InputTransform
from simulator.poplibs.poplin.convolution_params import OutputTransform as OutputTransform
from simulator.poplibs.poplin.convolution_params import getGradientParams as getGradientParams
from simulator.poplibs.poplin.matmul import createMatMulGroupedInputLHS as createMatMulGroupedInputLHS
from simulator.poplibs.poplin.matmul import createMatMulGroupedInputRHS as createMatMulGroupedInputRHS
from simulator.poplibs.poplin.matmul import createMatMulInputLHS as createMatMulInputLHS
from simulator.poplibs.poplin.matmul import createMatMulInputRHS as createMatMulInputRHS
from simulator.poplibs.poplin.matmul import matMul as matMul
from simulator.poplibs.poplin.matmul import matMulGrouped as matMulGrouped
from simulator.poplibs.poplin.matmul import matMulGroupedReportPlan as matMulGroupedReportPlan
from simulator.poplibs.poplin.matmul import matMulReportPlan as matMulReportPlan
from simulator.poplibs.poplin.matmul import plan_of as plan_of
