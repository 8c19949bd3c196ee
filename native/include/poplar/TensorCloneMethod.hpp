#ifndef poplar_TensorCloneMethod_hpp
#define poplar_TensorCloneMethod_hpp
#include <poplar/Enumerations.hpp>
#endif
