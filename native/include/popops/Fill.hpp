#ifndef popops_Fill_hpp
#define popops_Fill_hpp

#include <poplar/Graph.hpp>

namespace popops {

/// Write one value into every element.
template <class FillValueType>
void fill(poplar::Graph &graph, const poplar::Tensor &t, poplar::program::Sequence &prog, FillValueType fillValue,
          const poplar::DebugContext &debugContext = {}) {
  fill<double>(graph, t, prog, static_cast<double>(fillValue), debugContext);
}
template <>
void fill<double>(poplar::Graph &graph, const poplar::Tensor &t, poplar::program::Sequence &prog, double fillValue,
                  const poplar::DebugContext &debugContext); // src/poplibs.cpp

} // namespace popops

#endif
