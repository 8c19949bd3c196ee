// Linear equations with triangular coefficients.
#ifndef poplin_TriangularSolve_hpp
#define poplin_TriangularSolve_hpp

#include <utility>
#include <vector>

#include <poplar/Graph.hpp>
#include <poplin/MatMul.hpp>

#define POPLIN_OPERAND                                                                                                 \
  poplar::Graph &graph, const poplar::Type &inputType, const poplar::Type &outputType,                                 \
      const std::vector<std::size_t> &aShape, const std::vector<std::size_t> &bShape, bool leftSide,                   \
      const poplar::DebugContext &debugContext, const poplar::OptionFlags &options = {},                               \
      PlanningCache *cache = nullptr

namespace poplin {

/// A and B of A X = B (`leftSide`) or X A = B.
poplar::Tensor createTriangularSolveInputLHS(POPLIN_OPERAND);
poplar::Tensor createTriangularSolveInputRHS(POPLIN_OPERAND);
/// A with zeros outside its triangle, and ones on a unit diagonal.
poplar::Tensor triangularMask(poplar::Graph &graph, const poplar::Tensor &a, bool lower, bool unitDiagonal,
                              poplar::program::Sequence &prog, const poplar::DebugContext &debugContext = {});
/// X.
poplar::Tensor triangularSolve(poplar::Graph &graph, const poplar::Tensor &a, const poplar::Tensor &b, bool leftSide,
                               bool lower, bool unitDiagonal, poplar::program::Sequence &prog,
                               const poplar::DebugContext &debugContext = {}, const poplar::OptionFlags &options = {},
                               PlanningCache *cache = nullptr);
/// The products that a solve uses, for preplanMatMuls.
std::vector<std::pair<MatMulParams, poplar::OptionFlags>>
getTriangularSolveMatMulPrePlanParameters(const poplar::Type &inputType, const poplar::Type &outputType,
                                          const std::vector<std::size_t> &aShape,
                                          const std::vector<std::size_t> &bShape, bool leftSide, bool lower,
                                          const poplar::OptionFlags &options);

} // namespace poplin

#undef POPLIN_OPERAND

#endif
