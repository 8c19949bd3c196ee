#ifndef poplar_replication_factor_hpp
#define poplar_replication_factor_hpp
#include <poplar/Enumerations.hpp>
#endif
