#ifndef popops_CollectiveTypes_hpp
#define popops_CollectiveTypes_hpp

#include <gcl/CollectiveTypes.hpp>

namespace popops {

using CollectiveOperator = gcl::CollectiveOperator;

} // namespace popops

#endif
