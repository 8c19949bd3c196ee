"""poplin: matrix products."""

from simulator.poplibs.poplin.matmul import createMatMulGroupedInputLHS as createMatMulGroupedInputLHS
from simulator.poplibs.poplin.matmul import createMatMulGroupedInputRHS as createMatMulGroupedInputRHS
from simulator.poplibs.poplin.matmul import createMatMulInputLHS as createMatMulInputLHS
from simulator.poplibs.poplin.matmul import createMatMulInputRHS as createMatMulInputRHS
from simulator.poplibs.poplin.matmul import matMul as matMul
from simulator.poplibs.poplin.matmul import matMulGrouped as matMulGrouped
from simulator.poplibs.poplin.matmul import matMulGroupedReportPlan as matMulGroupedReportPlan
from simulator.poplibs.poplin.matmul import matMulReportPlan as matMulReportPlan
from simulator.poplibs.poplin.matmul import plan_of as plan_of
