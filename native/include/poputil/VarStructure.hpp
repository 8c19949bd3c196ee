#ifndef poputil_VarStructure_hpp
#define poputil_VarStructure_hpp

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include <poplar/Graph.hpp>
#include <poputil/exceptions.hpp>

namespace poputil {

/// How many consecutive elements of the innermost dimension stand together in a variable and on a tile.
unsigned detectInnermostGrouping(const poplar::Graph &graph, const poplar::Tensor &t);

/// A dimension, and how many of its elements stand together.
using GroupingInfo = std::pair<unsigned, unsigned>;

/// The dimensions that stand in groups, the innermost group first; a dimension may come several times.
std::vector<std::pair<unsigned, unsigned>> detectDimGroupings(const poplar::Graph &graph, const poplar::Tensor &t);

/// A tensor without a mapping, each of whose partitions is one run of elements.
poplar::Tensor createPartitionableTensor(poplar::Graph &graph, const poplar::Type &type,
                                         const std::vector<std::size_t> &shape,
                                         const std::vector<std::size_t> &nPartitions,
                                         const poplar::DebugContext &debugContext = {});

/// Call `f(indices, slice)` for each partition, the last dimension fastest.
inline void iterateTensorPartitions(
    const poplar::Tensor &t, const std::vector<std::size_t> &nPartitions,
    const std::function<void(const std::vector<std::size_t> &i, const poplar::Tensor &s)> &f) {
  const std::vector<std::size_t> shape = t.shape();
  std::size_t count = 1;
  for (std::size_t parts : nPartitions)
    count *= parts;
  if (shape.size() != nPartitions.size() || count == 0)
    throw poplibs_error("nPartitions does not have a positive number for each of " + std::to_string(shape.size()) +
                        " dimensions.");
  for (std::size_t number = 0; number < count; ++number) {
    std::vector<std::size_t> indices(shape.size()), begins(shape.size()), ends(shape.size());
    std::size_t left = number;
    for (std::size_t axis = shape.size(); axis-- > 0;) {
      indices[axis] = left % nPartitions[axis];
      left /= nPartitions[axis];
      const std::size_t part = (shape[axis] + nPartitions[axis] - 1) / nPartitions[axis];
      begins[axis] = std::min(indices[axis] * part, shape[axis]);
      ends[axis] = std::min((indices[axis] + 1) * part, shape[axis]);
    }
    f(indices, t.slice(begins, ends));
  }
}

} // namespace poputil

#endif
