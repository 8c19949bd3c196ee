#ifndef popsparse_codelets_hpp
#define popsparse_codelets_hpp

#include <poplar/Graph.hpp>

namespace popsparse {
void addCodelets(poplar::Graph &graph);
}

#endif
