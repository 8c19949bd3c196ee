#ifndef poplin_PlanningCache_hpp
#define poplin_PlanningCache_hpp

#include <poplar/Handle.hpp>

namespace poplin {

/// Plans of products and convolutions, kept for the next ones of their shapes.
class PlanningCache : public poplar::bridge::Handle {
public:
  using poplar::bridge::Handle::Handle;
  PlanningCache();
};

namespace matmul {
using PlanningCache = poplin::PlanningCache;
}

} // namespace poplin

#endif
