#ifndef poplar_ComputeSet_hpp
#define poplar_ComputeSet_hpp
#include <poplar/GraphElements.hpp>
#endif
