#ifndef poplar_RuntimeOptions_hpp
#define poplar_RuntimeOptions_hpp
#include <poplar/Engine.hpp>
#endif
