#ifndef poprand_codelets_hpp
#define poprand_codelets_hpp

#include <poplar/Graph.hpp>

namespace poprand {
void addCodelets(poplar::Graph &graph);
}

#endif
