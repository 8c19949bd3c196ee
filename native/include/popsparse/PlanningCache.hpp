#ifndef popsparse_PlanningCache_hpp
#define popsparse_PlanningCache_hpp

#include <poplar/Handle.hpp>

namespace popsparse {
namespace static_ {

/// Plans of products, kept for the next ones of their pattern.
class PlanningCache : public poplar::bridge::Handle {
public:
  using poplar::bridge::Handle::Handle;
  PlanningCache();
};

} // namespace static_
} // namespace popsparse

#endif
