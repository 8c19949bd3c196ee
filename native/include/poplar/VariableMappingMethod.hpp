#ifndef poplar_VariableMappingMethod_hpp
#define poplar_VariableMappingMethod_hpp
#include <poplar/Enumerations.hpp>
#endif
