#ifndef popops_CircBuf_hpp
#define popops_CircBuf_hpp

#include <vector>

#include <poplar/Graph.hpp>
#include <poplar/Program.hpp>

namespace popops {

/// The last `size` tensors of a shape.
class CircBuf : public poplar::bridge::Handle {
public:
  using poplar::bridge::Handle::Handle;
  CircBuf(poplar::Graph &graph, const poplar::Type &dataType, unsigned size, const std::vector<std::size_t> &shape,
          const poplar::DebugContext &debugContext = {});

  /// The entry that was added `i` additions before the newest.
  poplar::Tensor prev(unsigned i, poplar::program::Sequence &seq, const poplar::DebugContext &debugContext = {});
  /// Add a tensor in the place of the oldest.
  void add(poplar::Tensor t, poplar::program::Sequence &seq, const poplar::DebugContext &debugContext = {});
  poplar::Tensor getIndex() const;
  unsigned size() const;
};

} // namespace popops

#endif
