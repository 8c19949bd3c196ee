#ifndef popops_Fill_hpp
#define popops_Fill_hpp

#include <poplar/Graph.hpp>

namespace popops {

void fill(poplar::Graph &graph, const poplar::Tensor &t, poplar::program::Sequence &prog, const void *fillValue,
          const poplar::TypeTraits &traits, const poplar::DebugContext &debugContext); // src/poplibs.cpp

/// Write one value into every element.
template <class FillValueType>
void fill(poplar::Graph &graph, const poplar::Tensor &t, poplar::program::Sequence &prog, FillValueType fillValue,
          const poplar::DebugContext &debugContext = {}) {
  static_assert(poplar::TypeTraits::isSimpleType<FillValueType>(), "fill takes a number");
  fill(graph, t, prog, &fillValue, poplar::TypeTraits::make<FillValueType>(), debugContext);
}

} // namespace popops

#endif
