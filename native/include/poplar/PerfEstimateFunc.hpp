#ifndef poplar_PerfEstimateFunc_hpp
#define poplar_PerfEstimateFunc_hpp
#include <poplar/Graph.hpp>
#endif
