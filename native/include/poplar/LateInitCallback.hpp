#ifndef poplar_LateInitCallback_hpp
#define poplar_LateInitCallback_hpp
#include <poplar/Graph.hpp>
#endif
