#ifndef popops_codelets_hpp
#define popops_codelets_hpp

#include <poplar/Graph.hpp>

namespace popops {
void addCodelets(poplar::Graph &graph);
}

#endif
