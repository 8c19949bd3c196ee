"""popsparse::static_: products with a sparse operand whose pattern is known when the program is compiled."""

from simulator.poplibs.popsparse.static_.matmul_params import MatMulParams as MatMulParams
from simulator.poplibs.popsparse.static_.matmul_params import PlanningCache as PlanningCache
from simulator.poplibs.popsparse.static_.matmul_params import SparseTensor as SparseTensor
from simulator.poplibs.popsparse.static_.partitioner import Partitioner as Partitioner
from simulator.poplibs.popsparse.static_.partitioner import SparsityDataImpl as SparsityDataImpl
from simulator.poplibs.popsparse.static_.products import createDenseSparseMatMulLHS as createDenseSparseMatMulLHS
from simulator.poplibs.popsparse.static_.products import createDenseSparseMatMulRHS as createDenseSparseMatMulRHS
from simulator.poplibs.popsparse.static_.products import createSparseDenseMatMulLHS as createSparseDenseMatMulLHS
from simulator.poplibs.popsparse.static_.products import createSparseDenseMatMulRHS as createSparseDenseMatMulRHS
from simulator.poplibs.popsparse.static_.products import denseSparseMatMul as denseSparseMatMul
from simulator.poplibs.popsparse.static_.products import sparseDenseMatMul as sparseDenseMatMul
