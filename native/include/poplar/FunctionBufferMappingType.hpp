#ifndef poplar_FunctionBufferMappingType_hpp
#define poplar_FunctionBufferMappingType_hpp
#include <poplar/Enumerations.hpp>
#endif
