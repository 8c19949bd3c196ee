#ifndef poplar_VertexIntrospector_hpp
#define poplar_VertexIntrospector_hpp
#include <poplar/Graph.hpp>
#endif
