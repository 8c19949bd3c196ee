#ifndef poplar_VariableRef_hpp
#define poplar_VariableRef_hpp
#include <poplar/Tensor.hpp>
#endif
