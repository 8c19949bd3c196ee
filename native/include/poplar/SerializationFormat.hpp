#ifndef poplar_SerializationFormat_hpp
#define poplar_SerializationFormat_hpp
#include <poplar/Enumerations.hpp>
#endif
