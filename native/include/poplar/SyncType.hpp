#ifndef poplar_SyncType_hpp
#define poplar_SyncType_hpp
#include <poplar/Enumerations.hpp>
#endif
