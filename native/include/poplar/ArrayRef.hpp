#ifndef poplar_ArrayRef_hpp
#define poplar_ArrayRef_hpp

#include <gccs/ArrayRef.hpp>

namespace poplar {
using gccs::ArrayRef;
}

#endif
