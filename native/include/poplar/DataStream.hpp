#ifndef poplar_DataStream_hpp
#define poplar_DataStream_hpp
#include <poplar/GraphElements.hpp>
#endif
