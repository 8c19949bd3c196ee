#ifndef poplin_codelets_hpp
#define poplin_codelets_hpp

#include <poplar/Graph.hpp>

namespace poplin {
void addCodelets(poplar::Graph &graph);
}

#endif
