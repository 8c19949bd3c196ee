#ifndef popops_ScaledAdd_hpp
#define popops_ScaledAdd_hpp

#include <poplar/Graph.hpp>

#define POPOPS_REST                                                                                                    \
  poplar::program::Sequence &prog, const poplar::DebugContext &debugContext = {},                                      \
      const poplar::OptionFlags &options = {}

#define POPOPS_FORM                                                                                                    \
  poplar::program::Sequence &prog, const ScaledAddSpecialisation speciality,                                           \
      const poplar::DebugContext &debugContext = {}, const poplar::OptionFlags &options = {}

namespace popops {

/// A = scaleA * A + scaleB * B, or A = A - scaleA * A + scaleB * B.
enum class ScaledAddSpecialisation { DEFAULT, X_MINUS_AX_PLUS_BY };

/// A += scaleB * B; A = scaleA * A + scaleB * B.
void scaledAddTo(poplar::Graph &graph, poplar::Tensor A, poplar::Tensor B, float scaleB, POPOPS_REST);
void scaledAddTo(poplar::Graph &graph, poplar::Tensor A, poplar::Tensor B, poplar::Tensor scaleB, POPOPS_REST);
void scaledAddTo(poplar::Graph &graph, poplar::Tensor A, float scaleA, poplar::Tensor B, float scaleB, POPOPS_REST);
void scaledAddTo(poplar::Graph &graph, poplar::Tensor A, poplar::Tensor scaleA, poplar::Tensor B,
                 poplar::Tensor scaleB, POPOPS_REST);
void scaledAddTo(poplar::Graph &graph, poplar::Tensor A, float scaleA, poplar::Tensor B, float scaleB, POPOPS_FORM);
void scaledAddTo(poplar::Graph &graph, poplar::Tensor A, poplar::Tensor scaleA, poplar::Tensor B,
                 poplar::Tensor scaleB, POPOPS_FORM);
/// A -= scaleB * B; A = scaleA * A - scaleB * B.
void scaledSubtractFrom(poplar::Graph &graph, poplar::Tensor A, poplar::Tensor B, float scaleB, POPOPS_REST);
void scaledSubtractFrom(poplar::Graph &graph, poplar::Tensor A, poplar::Tensor B, poplar::Tensor scaleB, POPOPS_REST);
void scaledSubtractFrom(poplar::Graph &graph, poplar::Tensor A, float scaleA, poplar::Tensor B, float scaleB,
                        POPOPS_REST);
void scaledSubtractFrom(poplar::Graph &graph, poplar::Tensor A, poplar::Tensor scaleA, poplar::Tensor B,
                        poplar::Tensor scaleB, POPOPS_REST);

} // namespace popops

#undef POPOPS_REST
#undef POPOPS_FORM

#endif
