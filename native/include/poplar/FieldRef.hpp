#ifndef poplar_FieldRef_hpp
#define poplar_FieldRef_hpp
#include <poplar/GraphElements.hpp>
#endif
