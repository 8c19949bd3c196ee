#ifndef poplar_TensorRearranger_hpp
#define poplar_TensorRearranger_hpp
#include <poplar/Graph.hpp>
#endif
