#ifndef poplar_VertexEdgeInfo_hpp
#define poplar_VertexEdgeInfo_hpp

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace poplar {

/// The vectors that the edge fields of a vertex are connected to, without addresses.
struct VertexEdgeInfo {
  struct StorageInfo {
    std::size_t numElements;
    std::size_t numBytes;
  };
  std::map<std::string, std::vector<StorageInfo>> storage;
};

/// Gives a field its value once the graph is complete.
template <class T> using LateInitCallback = std::function<T(const VertexEdgeInfo &)>;

} // namespace poplar

#endif
