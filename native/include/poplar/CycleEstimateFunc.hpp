#ifndef poplar_CycleEstimateFunc_hpp
#define poplar_CycleEstimateFunc_hpp
#include <poplar/Graph.hpp>
#endif
