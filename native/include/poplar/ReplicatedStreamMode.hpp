#ifndef poplar_ReplicatedStreamMode_hpp
#define poplar_ReplicatedStreamMode_hpp
#include <poplar/Enumerations.hpp>
#endif
