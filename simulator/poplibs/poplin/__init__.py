"""poplin: matrix products, convolutions and normalisation by channel."""

from simulator.poplibs.host_trace import trace_calls
from simulator.poplibs.library_calls import addCodelets as addCodelets
from simulator.poplibs.poplin import matmul as matmul
from simulator.poplibs.poplin import multiconv as multiconv
from simulator.poplibs.poplin.convolutions.convolution import addBias as addBias
from simulator.poplibs.poplin.convolutions.convolution import calculateWeightDeltas as calculateWeightDeltas
from simulator.poplibs.poplin.convolutions.convolution import convolution as convolution
from simulator.poplibs.poplin.convolutions.convolution import convolutionBiasUpdate as convolutionBiasUpdate
from simulator.poplibs.poplin.convolutions.convolution import convolutionWeightUpdate as convolutionWeightUpdate
from simulator.poplibs.poplin.convolutions.convolution import createBiases as createBiases
from simulator.poplibs.poplin.convolutions.convolution import createInput as createInput
from simulator.poplibs.poplin.convolutions.convolution import createWeights as createWeights
from simulator.poplibs.poplin.convolutions.convolution import (
    fullyConnectedWeightTranspose as fullyConnectedWeightTranspose,
)
from simulator.poplibs.poplin.convolutions.convolution import weightsTransposeChansFlipXY as weightsTransposeChansFlipXY
from simulator.poplibs.poplin.convolutions.params import ConvParams as ConvParams
from simulator.poplibs.poplin.convolutions.params import InputTransform as InputTransform
from simulator.poplibs.poplin.convolutions.params import OutputTransform as OutputTransform
from simulator.poplibs.poplin.convolutions.params import getGradientParams as getGradientParams
from simulator.poplibs.poplin.convolutions.plan_lookup import PlanCosts as PlanCosts
from simulator.poplibs.poplin.convolutions.plan_lookup import convolution_plan as convolution_plan
from simulator.poplibs.poplin.convolutions.plan_lookup import getBwdFlops as getBwdFlops
from simulator.poplibs.poplin.convolutions.plan_lookup import getBwdPerfectCycleCount as getBwdPerfectCycleCount
from simulator.poplibs.poplin.convolutions.plan_lookup import getFwdFlops as getFwdFlops
from simulator.poplibs.poplin.convolutions.plan_lookup import getFwdPerfectCycleCount as getFwdPerfectCycleCount
from simulator.poplibs.poplin.convolutions.plan_lookup import getWuFlops as getWuFlops
from simulator.poplibs.poplin.convolutions.plan_lookup import getWuPerfectCycleCount as getWuPerfectCycleCount
from simulator.poplibs.poplin.convolutions.plan_lookup import reportPlanEstimatedCosts as reportPlanEstimatedCosts
from simulator.poplibs.poplin.convolutions.plan_lookup import reportPlanInfo as reportPlanInfo
from simulator.poplibs.poplin.convolutions.plan_lookup import reportWeightUpdatePlanInfo as reportWeightUpdatePlanInfo
from simulator.poplibs.poplin.norms import createNormBeta as createNormBeta
from simulator.poplibs.poplin.norms import createNormGamma as createNormGamma
from simulator.poplibs.poplin.norms import createNormParams as createNormParams
from simulator.poplibs.poplin.norms import normalise as normalise
from simulator.poplibs.poplin.norms import normGradients as normGradients
from simulator.poplibs.poplin.norms import normParamGradients as normParamGradients
from simulator.poplibs.poplin.norms import normStatistics as normStatistics
from simulator.poplibs.poplin.norms import normStatisticsGradients as normStatisticsGradients
from simulator.poplibs.poplin.norms import normWhiten as normWhiten
from simulator.poplibs.poplin.planning.cache import PlanningCache as PlanningCache
from simulator.poplibs.poplin.preplan import ConvPlanParams as ConvPlanParams
from simulator.poplibs.poplin.preplan import MatMulParams as MatMulParams
from simulator.poplibs.poplin.preplan import MatMulPlanParams as MatMulPlanParams
from simulator.poplibs.poplin.preplan import preplan as preplan
from simulator.poplibs.poplin.preplan import preplanConvolutions as preplanConvolutions
from simulator.poplibs.poplin.preplan import preplanMatMuls as preplanMatMuls
from simulator.poplibs.poplin.products.matmul import matMul as matMul
from simulator.poplibs.poplin.products.matmul import matMulAcc as matMulAcc
from simulator.poplibs.poplin.products.matmul import matMulGrouped as matMulGrouped
from simulator.poplibs.poplin.products.matmul import matMulGroupedAcc as matMulGroupedAcc
from simulator.poplibs.poplin.products.matmul import matMulGroupedReportPlan as matMulGroupedReportPlan
from simulator.poplibs.poplin.products.matmul import matMulGroupedWithOutput as matMulGroupedWithOutput
from simulator.poplibs.poplin.products.matmul import matMulReportPlan as matMulReportPlan
from simulator.poplibs.poplin.products.matmul import matMulWithOutput as matMulWithOutput
from simulator.poplibs.poplin.products.operands import createMatMulGroupedInputLHS as createMatMulGroupedInputLHS
from simulator.poplibs.poplin.products.operands import createMatMulGroupedInputRHS as createMatMulGroupedInputRHS
from simulator.poplibs.poplin.products.operands import createMatMulGroupedOutput as createMatMulGroupedOutput
from simulator.poplibs.poplin.products.operands import createMatMulInputLHS as createMatMulInputLHS
from simulator.poplibs.poplin.products.operands import createMatMulInputRHS as createMatMulInputRHS
from simulator.poplibs.poplin.products.operands import createMatMulOutput as createMatMulOutput
from simulator.poplibs.poplin.products.operands import (
    preArrangeMatMulGroupedInputRHS as preArrangeMatMulGroupedInputRHS,
)
from simulator.poplibs.poplin.products.operands import preArrangeMatMulInputRHS as preArrangeMatMulInputRHS
from simulator.poplibs.poplin.products.operands import transposeGroupedMatrix as transposeGroupedMatrix
from simulator.poplibs.poplin.products.plan_lookup import plan_of as plan_of
from simulator.poplibs.poplin.solvers.cholesky import cholesky as cholesky
from simulator.poplibs.poplin.solvers.cholesky import choleskyInPlace as choleskyInPlace
from simulator.poplibs.poplin.solvers.cholesky import createCholeskyInput as createCholeskyInput
from simulator.poplibs.poplin.solvers.cholesky import (
    getCholeskyMatMulPrePlanParameters as getCholeskyMatMulPrePlanParameters,
)
from simulator.poplibs.poplin.solvers.triangular_solve import (
    createTriangularSolveInputLHS as createTriangularSolveInputLHS,
)
from simulator.poplibs.poplin.solvers.triangular_solve import (
    createTriangularSolveInputRHS as createTriangularSolveInputRHS,
)
from simulator.poplibs.poplin.solvers.triangular_solve import (
    getTriangularSolveMatMulPrePlanParameters as getTriangularSolveMatMulPrePlanParameters,
)
from simulator.poplibs.poplin.solvers.triangular_solve import triangularMask as triangularMask
from simulator.poplibs.poplin.solvers.triangular_solve import triangularSolve as triangularSolve

trace_calls("poplin", globals())
