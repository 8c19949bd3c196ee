// Products of a sparse operand, whose pattern is known when the program is compiled, with a dense one.
#ifndef popsparse_MatMul_hpp
#define popsparse_MatMul_hpp

#include <poplar/Graph.hpp>
#include <poplar/Program.hpp>
#include <popsparse/MatMulParams.hpp>
#include <popsparse/PlanningCache.hpp>
#include <popsparse/SparseStorageFormats.hpp>
#include <popsparse/SparseTensor.hpp>

#define POPSPARSE_REST                                                                                                 \
  const poplar::DebugContext &debugContext = {}, const poplar::OptionFlags &options = {}, PlanningCache *cache = nullptr
#define POPSPARSE_OPERANDS(T)                                                                                          \
  SparseTensor createSparseDenseMatMulLHS(poplar::Graph &graph, const poplar::Type &inputType,                         \
                                          const MatMulParams &params, const CSRMatrix<T> &csrLHS, POPSPARSE_REST);     \
  SparseTensor createDenseSparseMatMulRHS(poplar::Graph &graph, const poplar::Type &inputType,                         \
                                          const MatMulParams &params, const CSRMatrix<T> &csrRHS, POPSPARSE_REST);     \
  poplar::Tensor createSparseDenseMatMulRHS(poplar::Graph &graph, const poplar::Type &inputType,                       \
                                            const MatMulParams &params, const CSRMatrix<T> &csrLHS, POPSPARSE_REST);   \
  poplar::Tensor createDenseSparseMatMulLHS(poplar::Graph &graph, const poplar::Type &inputType,                       \
                                            const MatMulParams &params, const CSRMatrix<T> &csrRHS, POPSPARSE_REST)

namespace popsparse {
namespace static_ {

/// The operands of sparse [1][m][k] * dense [1][k][n] and of dense [1][n][k] * sparse [1][k][m].
POPSPARSE_OPERANDS(float);
POPSPARSE_OPERANDS(double);

/// The products, [1][m][n] and [1][n][m].
poplar::Tensor sparseDenseMatMul(poplar::Graph &graph, const SparseTensor &lhs, const poplar::Tensor &rhs,
                                 poplar::program::Sequence &prog, bool transposeLHS = false, bool transposeRHS = false,
                                 POPSPARSE_REST);
poplar::Tensor denseSparseMatMul(poplar::Graph &graph, const poplar::Tensor &lhs, const SparseTensor &rhs,
                                 poplar::program::Sequence &prog, bool transposeLHS = false, bool transposeRHS = false,
                                 POPSPARSE_REST);

} // namespace static_
} // namespace popsparse

#undef POPSPARSE_REST
#undef POPSPARSE_OPERANDS

#endif
