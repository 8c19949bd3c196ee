#ifndef poplar_RemoteBuffer_hpp
#define poplar_RemoteBuffer_hpp
#include <poplar/GraphElements.hpp>
#endif
