// The triangular factor of symmetric positive definite matrices.
#ifndef poplin_Cholesky_hpp
#define poplin_Cholesky_hpp

#include <utility>
#include <vector>

#include <poplar/Graph.hpp>
#include <poplin/MatMul.hpp>

namespace poplin {

/// The products that a decomposition uses, for preplanMatMuls.
std::vector<std::pair<MatMulParams, poplar::OptionFlags>>
getCholeskyMatMulPrePlanParameters(const poplar::Type &type, const std::vector<std::size_t> &shape, bool lower,
                                   const poplar::OptionFlags &options);
/// Matrices [..., n, n] laid out for the decomposition.
poplar::Tensor createCholeskyInput(poplar::Graph &graph, const poplar::Type &type,
                                   const std::vector<std::size_t> &shape, bool lower,
                                   const poplar::DebugContext &debugContext, const poplar::OptionFlags &options = {},
                                   PlanningCache *cache = nullptr);
/// The factor, below the diagonal (`lower`) or above it, as a new tensor or in place.
poplar::Tensor cholesky(poplar::Graph &graph, const poplar::Tensor &a, bool lower, poplar::program::Sequence &prog,
                        const poplar::DebugContext &debugContext = {}, const poplar::OptionFlags &options = {},
                        PlanningCache *cache = nullptr);
void choleskyInPlace(poplar::Graph &graph, const poplar::Tensor &a, bool lower, poplar::program::Sequence &prog,
                     const poplar::DebugContext &debugContext = {}, const poplar::OptionFlags &options = {},
                     PlanningCache *cache = nullptr);

} // namespace poplin

#endif
