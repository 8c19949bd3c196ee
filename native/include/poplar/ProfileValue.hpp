#ifndef poplar_ProfileValue_hpp
#define poplar_ProfileValue_hpp
#include <poplar/Engine.hpp>

namespace poplar {

/// What getGraphProfile and getExecutionProfile give.
using ProfileValue = pva::Report;

} // namespace poplar

#endif
