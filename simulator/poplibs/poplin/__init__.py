"""poplin: matrix products."""

from simulator.poplibs.poplin.matmul import matMul as matMul
from simulator.poplibs.poplin.matmul import matMulReportPlan as matMulReportPlan
from simulator.poplibs.poplin.matmul import plan_of as plan_of
