#ifndef poplar_UpsampleMethod_hpp
#define poplar_UpsampleMethod_hpp
#include <poplar/Enumerations.hpp>
#endif
