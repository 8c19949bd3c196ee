#ifndef popnn_codelets_hpp
#define popnn_codelets_hpp

#include <poplar/Graph.hpp>

namespace popnn {
void addCodelets(poplar::Graph &graph);
}

#endif
