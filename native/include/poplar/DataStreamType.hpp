#ifndef poplar_DataStreamType_hpp
#define poplar_DataStreamType_hpp
#include <poplar/Enumerations.hpp>
#endif
