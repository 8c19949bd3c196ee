#ifndef poputil_Util_hpp
#define poputil_Util_hpp

#include <vector>

#include <poplar/Graph.hpp>

namespace poputil {

std::vector<poplar::Interval> mergeAdjacentRegions(const std::vector<poplar::Interval> &regions);
std::vector<std::vector<poplar::Interval>>
splitRegions(const std::vector<poplar::Interval> &regions, unsigned grainSize, unsigned maxPartitions,
             unsigned minElementsPerPartition = 0, unsigned maxElementsPerPartition = 0xffffffff,
             unsigned maxElementsPerRegion = 0xffffffff);
std::vector<std::vector<poplar::Interval>>
splitRegionsBetweenWorkers(const poplar::Target &target, const std::vector<poplar::Interval> &regions,
                           unsigned grainSize, unsigned minElementsPerPartition = 0,
                           unsigned maxElementsPerPartition = 0xffffffff, unsigned maxElementsPerRegion = 0xffffffff);
std::vector<std::size_t> unflattenIndex(const std::vector<std::size_t> &shape, std::size_t index);
std::size_t flattenIndex(const std::vector<std::size_t> &shape, const std::vector<std::size_t> &indices);
std::size_t intervalSequenceNumElements(const std::vector<std::vector<poplar::Interval>> &seq);
std::vector<int> balancedPartition(int rangeUpperBound, int splitCount);
bool checkAccuracyWhenCast(const poplar::Target &target, double input, poplar::Type inputType, poplar::Type outputType,
                           double tolerance);
poplar::Tensor duplicate(poplar::Graph &graph, const poplar::Tensor &in, poplar::program::Sequence &p,
                         const poplar::DebugContext &debugContext = {},
                         poplar::TensorCloneMethod method = poplar::TensorCloneMethod::PRESERVE_ORDER_UNLESS_ALIASES);
poplar::Tensor cloneN(poplar::Graph &graph, const poplar::Tensor &t, unsigned N,
                      const poplar::DebugContext &debugContext = {},
                      poplar::TensorCloneMethod method = poplar::TensorCloneMethod::PRESERVE_ORDER_UNLESS_ALIASES);

} // namespace poputil

#endif
