#ifndef poplar_VertexRef_hpp
#define poplar_VertexRef_hpp
#include <poplar/GraphElements.hpp>
#endif
