#ifndef poplin_MatMul_hpp
#define poplin_MatMul_hpp

#include <iosfwd>
#include <set>
#include <tuple>
#include <vector>

#include <poplar/Graph.hpp>
#include <poplin/PlanningCache.hpp>

#define POPLIN_REST                                                                                                    \
  const poplar::DebugContext &debugContext = {}, const poplar::OptionFlags &options = {},                              \
                             PlanningCache *cache = nullptr
#define POPLIN_SHAPES const std::vector<std::size_t> &aShape, const std::vector<std::size_t> &bShape

namespace poplin {

/// A x B, planned over tiles: a new tensor, the given one, or C += k * A x B.
poplar::Tensor matMul(poplar::Graph &graph, const poplar::Tensor &A, const poplar::Tensor &B,
                      poplar::program::Sequence &prog, const poplar::Type &outputType, POPLIN_REST);
poplar::Tensor matMul(poplar::Graph &graph, const poplar::Tensor &A, const poplar::Tensor &B,
                      poplar::program::Sequence &prog, POPLIN_REST);
void matMulWithOutput(poplar::Graph &graph, const poplar::Tensor &A, const poplar::Tensor &B, poplar::Tensor &out,
                      poplar::program::Sequence &prog, POPLIN_REST);
void matMulAcc(poplar::Graph &graph, const poplar::Tensor &C, float k, const poplar::Tensor &A,
               const poplar::Tensor &B, poplar::program::Sequence &prog, POPLIN_REST);
void matMulAcc(poplar::Graph &graph, const poplar::Tensor &C, const poplar::Tensor &k, const poplar::Tensor &A,
               const poplar::Tensor &B, poplar::program::Sequence &prog, POPLIN_REST);
poplar::Tensor matMulGrouped(poplar::Graph &graph, const poplar::Tensor &A, const poplar::Tensor &B,
                             poplar::program::Sequence &prog, const poplar::Type &outputType, POPLIN_REST);
void matMulGroupedWithOutput(poplar::Graph &graph, const poplar::Tensor &A, const poplar::Tensor &B,
                             poplar::Tensor &out, poplar::program::Sequence &prog, POPLIN_REST);
void matMulGroupedAcc(poplar::Graph &graph, const poplar::Tensor &C, float k, const poplar::Tensor &A,
                      const poplar::Tensor &B, poplar::program::Sequence &prog, POPLIN_REST);

void matMulGroupedAcc(poplar::Graph &graph, const poplar::Tensor &C, const poplar::Tensor &k, const poplar::Tensor &A,
                      const poplar::Tensor &B, poplar::program::Sequence &prog, POPLIN_REST);

/// Print the plan of a product.
void matMulReportPlan(std::ostream &out, const poplar::Graph &graph, const poplar::Type &inputType,
                      const poplar::Type &outputType, POPLIN_SHAPES, const poplar::OptionFlags &options = {},
                      PlanningCache *cache = nullptr);
void matMulGroupedReportPlan(std::ostream &out, const poplar::Graph &graph, const poplar::Type &inputType,
                             const poplar::Type &outputType, POPLIN_SHAPES, const poplar::OptionFlags &options = {},
                             PlanningCache *cache = nullptr);

/// Operands with the layout that a product of these shapes wants.
poplar::Tensor createMatMulInputLHS(poplar::Graph &graph, const poplar::Type &inputType,
                                    const poplar::Type &outputType, POPLIN_SHAPES, POPLIN_REST);
poplar::Tensor createMatMulInputLHS(poplar::Graph &graph, const poplar::Type &dataType, POPLIN_SHAPES, POPLIN_REST);
poplar::Tensor createMatMulInputRHS(poplar::Graph &graph, const poplar::Type &inputType,
                                    const poplar::Type &outputType, POPLIN_SHAPES, POPLIN_REST);
poplar::Tensor createMatMulInputRHS(poplar::Graph &graph, const poplar::Type &dataType, POPLIN_SHAPES, POPLIN_REST);
poplar::Tensor createMatMulOutput(poplar::Graph &graph, const poplar::Type &inputType, const poplar::Type &outputType,
                                  POPLIN_SHAPES, POPLIN_REST);
poplar::Tensor createMatMulGroupedInputLHS(poplar::Graph &graph, const poplar::Type &inputType,
                                           const poplar::Type &outputType, POPLIN_SHAPES, POPLIN_REST);
poplar::Tensor createMatMulGroupedInputRHS(poplar::Graph &graph, const poplar::Type &inputType,
                                           const poplar::Type &outputType, POPLIN_SHAPES, POPLIN_REST);
poplar::Tensor createMatMulGroupedOutput(poplar::Graph &graph, const poplar::Type &inputType,
                                         const poplar::Type &outputType, POPLIN_SHAPES, POPLIN_REST);
/// A right operand, rearranged once for many products with the option inputRHSIsPreArranged and left operands of a shape.
poplar::Tensor preArrangeMatMulInputRHS(poplar::Graph &graph, const std::vector<std::size_t> &aShape,
                                        const poplar::Tensor &B, poplar::program::Sequence &prog,
                                        const poplar::Type &outputType, POPLIN_REST);
poplar::Tensor preArrangeMatMulInputRHS(poplar::Graph &graph, const std::vector<std::size_t> &aShape,
                                        const poplar::Tensor &B, poplar::program::Sequence &prog, POPLIN_REST);
poplar::Tensor preArrangeMatMulGroupedInputRHS(poplar::Graph &graph, const std::vector<std::size_t> &aShape,
                                               const poplar::Tensor &B, poplar::program::Sequence &prog,
                                               const poplar::Type &outputType, POPLIN_REST);
poplar::Tensor transposeGroupedMatrix(const poplar::Tensor &A);

/// A product for preplan: [m, k] x [k, n], or [g, m, k] x [g, k, n].
struct MatMulParams {
  poplar::Type inputType;
  poplar::Type outputType;
  std::vector<std::size_t> aShape;
  std::vector<std::size_t> bShape;
};
bool operator<(const MatMulParams &a, const MatMulParams &b);

/// A target, a product and its options, for preplan.
using MatMulPlanParams = std::tuple<const poplar::Target *, const MatMulParams, const poplar::OptionFlags *>;
/// Plan products ahead, into a cache.
void preplanMatMuls(const std::set<MatMulPlanParams> &matmuls, matmul::PlanningCache &cache);

} // namespace poplin

#undef POPLIN_REST
#undef POPLIN_SHAPES

#endif
